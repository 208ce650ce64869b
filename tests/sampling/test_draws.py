"""What holds for every sampler: valid occurrences, right patterns, one result for one seed, clear refusals."""

import os
import signal
import threading
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grade import GraphSet, PatternTable
from grade.errors import InputError
from grade.graphs import SubgraphSample
from grade.progress import Stopped
from grade.sampling import Draw, Request, ars, sample, samplers
from grade.sampling.rand_esu import effective_r, paper_probabilities
from grade.sources import load
from tests.graph_sets import graph_sets
from tests.sampling.small_sets import every_occurrence, mixed_set, random_set, tally


def same(one: SubgraphSample, other: SubgraphSample) -> bool:
    return (
        np.array_equal(one.occurrences, other.occurrences)
        and np.array_equal(one.weights, other.weights)
        and np.array_equal(one.pattern_ids, other.pattern_ids)
        and np.array_equal(one.patterns.keys, other.patterns.keys)
    )


def test_the_four_methods_of_the_paper_are_known_and_one_for_rare_patterns() -> None:
    assert list(samplers) == ["ars", "nrs", "rand-esu", "rand-fase", "stratified"]


@pytest.mark.parametrize("method", samplers)
@given(graphs=graph_sets(max_nodes=7), k=st.integers(2, 6), seed=st.integers(0, 2**64 - 1))
def test_draws_are_occurrences_with_their_patterns(method: str, graphs: GraphSet, k: int, seed: int) -> None:
    """Cycles, loops, opposite edges, several edge types and parts: any set that has such a subgraph."""
    if graphs.largest < k or not (known := every_occurrence(graphs, k)):
        with pytest.raises(InputError):
            sample(graphs, k, method, count=5, seed=seed, threads=1)
        return
    drawn = sample(graphs, k, method, count=30, seed=seed, threads=1)
    assert len(drawn) == 30
    tally(drawn.occurrences, known)
    assert (drawn.weights > 0).all()
    for nodes, row in zip(drawn.occurrences.tolist(), drawn.pattern_ids.tolist(), strict=True):
        assert induced(graphs, nodes) == drawn.patterns[row]
    assert sorted(set(drawn.pattern_ids.tolist())) == list(range(len(drawn.patterns)))
    assert len(np.unique(drawn.patterns.keys)) == len(drawn.patterns)


def induced(graphs: GraphSet, nodes: list[int]) -> Any:
    """The pattern of the subgraph that some nodes induce, read off the set's arrays."""
    edges = np.zeros((1, len(nodes), len(nodes)), np.uint8)
    for i, node in enumerate(nodes):
        begin = graphs.out_offsets[node]
        for at, target in enumerate(graphs.successors(node).tolist()):
            if target in nodes:
                edges[0, i, nodes.index(target)] = graphs.out_types[begin + at]
    return PatternTable.canonical(graphs.node_types[nodes][None], edges)[0]


@pytest.mark.parametrize("method", ["nrs", "rand-esu", "rand-fase"])
@pytest.mark.parametrize("k", [4, 9, 15, 16])
def test_large_subgraphs_of_real_models_are_connected(method: str, k: int) -> None:
    graphs = load("zoo-mini")
    drawn = sample(graphs, k, method, count=200, seed=3)
    edges = {graph: networkx.Graph(graphs.edge_list(graph).tolist()) for graph in range(len(graphs))}
    for nodes in drawn.occurrences.astype(np.int64):
        owner = graphs.graph_of(int(nodes[0]))
        local = (nodes - graphs.node_offsets[owner]).tolist()
        assert len(set(local)) == k
        assert networkx.is_connected(edges[owner].subgraph(local))


@pytest.mark.parametrize("method", samplers)
@pytest.mark.parametrize("weighting", ["occurrences", "graphs"])
def test_a_seed_gives_one_sample_whatever_the_threads(method: str, weighting: str) -> None:
    if (method, weighting) == ("stratified", "graphs"):
        pytest.skip("stratified takes no weighting")
    graphs = random_set(graphs=20)
    one, two = (
        sample(graphs, 5, method, count=3000, seed=7, threads=threads, weighting=weighting)
        for threads in (1, 2)
    )
    assert same(one, two)
    assert one.drawn.keys() == two.drawn.keys()
    assert not same(one, sample(graphs, 5, method, count=3000, seed=8, threads=1, weighting=weighting))


@pytest.mark.parametrize("method", ["nrs", "rand-esu", "rand-fase"])
def test_a_seed_gives_one_sample_on_large_graphs_too(method: str) -> None:
    graphs = load("zoo-mini")
    one, two = (sample(graphs, 12, method, count=5000, seed=1, threads=threads) for threads in (1, 2))
    assert same(one, two)


def test_rand_esu_and_rand_fase_draw_apart() -> None:
    one, two = (sample(random_set(), 5, m, count=50, seed=1).occurrences for m in ("rand-esu", "rand-fase"))
    assert not np.array_equal(one, two)


def test_the_same_occurrence_may_be_drawn_again() -> None:
    """Multiset semantics: more samples than occurrences are served by further passes."""
    graphs = mixed_set()
    known = every_occurrence(graphs, 4)
    for method in samplers:
        assert tally(sample(graphs, 4, method, count=3 * len(known)).occurrences, known).max() >= 2
    whole = sample(graphs, 4, "rand-fase", count=2 * len(known))
    assert (tally(whole.occurrences, known) == 2).all()
    assert whole.weights.sum() == pytest.approx(len(known))


def test_facts_tell_how_it_was_drawn() -> None:
    graphs = mixed_set()
    facts = sample(graphs, 4, "ars", count=500, seed=2).drawn
    assert 0 < facts["acceptance_rate"] < 1
    assert {name: facts[name] for name in ("method", "seed", "k", "count", "set", "weighting")} == {
        "method": "ars",
        "seed": 2,
        "k": 4,
        "count": 500,
        "set": "mixed",
        "weighting": "occurrences",
    }
    facts = sample(graphs, 4, "rand-esu", count=5, r=1).drawn
    assert facts["probabilities"] == pytest.approx([0.8, 0.6, 0.4, 0.2])
    assert facts["effective_r"] == pytest.approx(1)


def test_ars_acceptance_rate_is_that_of_the_set() -> None:
    """Connected 4-subsets over all 4-subsets of the graphs that have any."""
    graphs = mixed_set()
    connected, subsets = len(every_occurrence(graphs, 4)), 330 + 15 + 210
    rate = sample(graphs, 4, "ars", count=20_000).drawn["acceptance_rate"]
    error = np.sqrt((connected / subsets) * (1 - connected / subsets) * connected / subsets / 20_000)
    assert abs(rate - connected / subsets) < 5 * error


def test_effective_r_of_the_papers_probabilities() -> None:
    assert paper_probabilities(4, 2).tolist() == pytest.approx([0.64, 0.36, 0.16, 0.04])
    assert effective_r(paper_probabilities(12, 3)) == pytest.approx(3)
    assert effective_r(np.ones(5)) == 0


def test_a_hopeless_request_for_ars_is_refused_with_its_rate() -> None:
    with pytest.raises(
        InputError, match=r"0 of [\d,]+ attempts .* rate of below .* 1,000 samples .* rand-esu"
    ):
        sample(load("zoo-mini"), 9, "ars", count=1000)


def test_ars_gives_up_on_one_graph_that_is_hopeless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ars, "MOST_ATTEMPTS", 20_000)
    chain = [(i, i + 1) for i in range(99)]
    graphs = GraphSet.from_edges(
        node_counts=[3, 100],
        node_types=[0] * 103,
        edge_counts=[2, 99],
        edges=[(0, 1), (1, 2), *chain],
        node_vocabulary=["conv"],
    )
    with pytest.raises(InputError, match="ARS accepts too few"):
        sample(graphs, 3, "ars", count=200, weighting="graphs")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"k": 1}, "subgraph size k is 1; give 2 to 16"),
        ({"k": 17}, "subgraph size k is 17; give 2 to 16"),
        ({"k": 12}, "the largest graph of mixed has 11 nodes; give a smaller k"),
        ({"count": 0}, "number of samples is 0; give 1 or more"),
        ({"count": None}, "the number of samples .* or the density .*, and not both"),
        ({"density": 0.5}, "the number of samples .* or the density .*, and not both"),
        ({"count": None, "density": 0.0}, "density is 0.0; give a share"),
        ({"count": None, "density": 1.5}, "density is 1.5; give a share"),
        ({"count": None, "density": float("nan")}, "density is nan; give a share"),
        (
            {"method": "rand_esu"},
            "no sampler named 'rand_esu'; did you mean 'rand-esu'.* ars, nrs, rand-esu, rand-fase",
        ),
        ({"seed": -1}, "seed is -1; give 0 to"),
        ({"threads": 0}, "number of threads is 0"),
        ({"weighting": "nodes"}, "weighting is 'nodes'; give one of occurrences, graphs, edges"),
        ({"weighting": "edges"}, "'edges' is for ars and nrs"),
        ({"r": -1.0}, "r is -1.0; give 0 or more"),
        ({"r": float("nan")}, "r is nan; give 0 or more"),
        ({"r": 1e6}, "probability at depth 4 zero; give a smaller r"),
        ({"r": 9.0, "count": 10_000}, "let [\\d,]+ subgraphs .* passes .* lower r"),
        ({"r": 1.0, "probabilities": [1, 1, 1, 1]}, "Both r and probabilities"),
        ({"probabilities": [0.5] * 3}, "3 probabilities are given; subgraphs of 4 nodes need 4"),
        ({"probabilities": [1, 0, 1, 1]}, "not above 0 and at most 1"),
        ({"probabilities": [1, 1.1, 1, 1]}, "not above 0 and at most 1"),
        ({"method": "ars", "r": 1.0}, "ars has no probabilities by depth"),
        ({"method": "nrs", "probabilities": [1] * 4}, "nrs has no probabilities by depth"),
    ],
)
def test_bad_requests_are_refused_in_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as refusal:
        sample(mixed_set(), **{"k": 4, "method": "rand-esu", "count": 10, **options})
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("method", samplers)
def test_sets_without_such_a_subgraph_are_refused(method: str) -> None:
    pairs = GraphSet.from_edges(
        node_counts=[6],
        node_types=[0] * 6,
        edge_counts=[3],
        edges=[(0, 1), (2, 3), (4, 5)],
        node_vocabulary=["conv"],
        origin="pairs",
    )
    with pytest.raises(InputError, match=r"pairs has no connected subgraph of 3 nodes .* part has 2"):
        sample(pairs, 3, method, count=1)
    empty = GraphSet.from_edges(
        node_counts=[0], node_types=[], edge_counts=[0], edges=[], node_vocabulary=[], origin="void"
    )
    with pytest.raises(InputError, match="void has no nodes"):
        sample(empty, 3, method, count=1)


def test_a_new_sampler_is_one_function() -> None:
    def first_only(request: Request) -> Draw:
        rows = np.tile(np.array([[0, 1]], np.uint32), (request.count, 1))
        return Draw(occurrences=rows, weights=np.ones(request.count))

    name = "first-only"
    samplers.register(name)(first_only)
    try:
        drawn = sample(mixed_set(), 2, name, count=4)
    finally:
        del samplers._things[name]
    assert drawn.drawn["method"] == name
    assert len(drawn.patterns) == 1


@pytest.mark.parametrize("method", ["nrs", "rand-esu"])
def test_a_callback_that_says_no_stops_the_work(method: str) -> None:
    with pytest.raises(Stopped):
        sample(load("zoo"), 15, method, count=2_000_000, threads=1, progress=lambda share: False)


def test_control_c_stops_the_work() -> None:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        sample(load("zoo"), 15, "nrs", count=20_000_000, threads=1)

"""Occurrences that come block by block: the same lists and sums as of all of them at once."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from grade import _core
from grade.graphs import GraphSet, PatternTable
from grade.sampling.census import take_census
from grade.search import Constraints, OccurrenceLists
from grade.search.beam import Bounds
from grade.search.candidates import Candidates, Keeping
from grade.search.expand import grow
from grade.search.triples import triples
from grade.sources import load
from tests.native.test_census import random_set
from tests.reference import connected_subsets
from tests.search.test_beam import search

SEED = 7
COLUMNS = ("counts", "squares", "by_graph", "met", "graphs", "complete")


@pytest.fixture(scope="module")
def mini() -> GraphSet:
    return load("zoo-mini")


@pytest.fixture(scope="module")
def hubs() -> GraphSet:
    return random_set(np.random.default_rng(5), 7, 40, 3, 2, 2.5)


def everything(patterns: PatternTable) -> np.ndarray:
    return np.ones(len(patterns), bool)


def in_blocks_of(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    for module in ("expand", "triples"):
        monkeypatch.setattr(f"grade.search.{module}.BLOCK", size)


def assert_same(one: Candidates, other: Candidates) -> None:
    """The sums are equal to the last bit, and so are the lists."""
    assert np.array_equal(one.patterns.keys, other.patterns.keys)
    for name in COLUMNS:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    both = one.coverage_known & other.coverage_known
    assert np.array_equal(one.coverage[both], other.coverage[both])
    for field in fields(OccurrenceLists):
        a, b = (getattr(each.lists(), field.name) for each in (one, other))
        assert field.name == "patterns" or np.array_equal(a, b), field.name


def grown(
    graphs: GraphSet, list_size: int, capacity: int, kept: int | None = None, **changes: Any
) -> Candidates:
    """What grows from lists that were thinned, in lists of the same size unless another is given."""
    keeping = Keeping(kept or list_size, SEED, per_node=True)
    lists = triples(graphs, everything, Keeping(list_size, SEED)).lists().thinned(list_size, SEED)
    settings: dict[str, Any] = {"steps_left": 0, "capacity": capacity, "seed": 3, "threads": 2, **changes}
    return grow(graphs, lists, keeping, constraints=Constraints(), **settings)


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
@pytest.mark.parametrize("list_size", [1, 20, 10**6])
def test_blocks_give_the_lists_of_the_whole(
    mini: GraphSet, hubs: GraphSet, monkeypatch: pytest.MonkeyPatch, size: int, list_size: int
) -> None:
    for graphs in (mini, hubs):
        keeping = Keeping(list_size, SEED, per_node=True)
        whole = triples(graphs, everything, keeping)
        larger = grown(graphs, list_size, 3000)
        with monkeypatch.context() as patch:
            in_blocks_of(patch, size)
            assert_same(triples(graphs, everything, keeping, threads=3), whole)
            assert_same(grown(graphs, list_size, 3000), larger)
        assert whole.exact.all()
        assert whole.lists().lengths.max() <= list_size + 1
        assert list_size > 1 or (larger.met > list_size + 1).any()


def test_sums_and_lists_are_those_of_plain_python(mini: GraphSet, hubs: GraphSet) -> None:
    """Of everything that grows: counts, graphs, nodes, and the lists with the highest priorities."""
    for graphs in (mini, hubs):
        whole, few = (grown(graphs, 30, 10**9, kept=size) for size in (10**6, 5))
        every = whole.lists()
        for i, pattern in enumerate(few.patterns):
            assert pattern == whole.patterns[i]
            rows, weights = every.occurrences[every.rows(i)], every.weights[every.rows(i)]
            assert few.met[i] == len(rows)
            assert few.counts[i] == pytest.approx(weights.sum(), rel=1e-12)
            assert few.squares[i] == pytest.approx((weights**2).sum(), rel=1e-12)
            owner = graphs.graphs_of(rows[:, 0])
            assert few.graphs[i] == len(set(owner.tolist()))
            assert few.coverage_known[i]
            assert few.coverage[i] == len(set(rows.ravel().tolist()))
            assert few.by_graph[i] == pytest.approx((weights / graphs.node_counts[owner]).sum(), rel=1e-12)
            priority = weights / _core.hash_node_sets(rows, SEED)
            best = sorted(rows[np.argsort(-priority)[:6]].tolist())
            listed = few.lists()
            assert listed.occurrences[listed.rows(i)].tolist() == best


def numpy_thinned(lists: OccurrenceLists, most: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(kept rows, weights) by sorting all of them."""
    priority = lists.weights / _core.hash_node_sets(lists.occurrences, seed)
    order = np.lexsort((-priority, lists.pattern_of_row))
    rank = np.arange(len(order)) - np.repeat(lists.offsets[:-1], lists.lengths)
    threshold = np.zeros(len(lists))
    at_threshold = order[rank == most]
    threshold[lists.pattern_of_row[at_threshold]] = priority[at_threshold]
    kept = np.sort(order[rank < most])
    return kept, np.maximum(lists.weights[kept], threshold[lists.pattern_of_row[kept]])


@pytest.mark.parametrize("most", [1, 2, 13, 400])
def test_thinning_is_that_of_a_full_sort(hubs: GraphSet, most: int) -> None:
    lists = grown(hubs, 10**6, 4000).lists()
    rng = np.random.default_rng(most)
    lists = OccurrenceLists(
        lists.patterns,
        lists.offsets,
        lists.occurrences,
        rng.choice([1.0, 2.0, 7.5], len(lists.weights)),
        lists.counts,
        lists.exact,
        lists.complete,
    )
    kept, weights = numpy_thinned(lists, most, 11)
    for threads in (1, 3):
        thin = lists.thinned(most, 11, threads)
        assert np.array_equal(thin.occurrences, lists.occurrences[kept])
        assert np.array_equal(thin.weights, weights)
        assert np.array_equal(thin.lengths, np.minimum(lists.lengths, most))


def test_exact_sums_do_not_depend_on_the_order() -> None:
    rng = np.random.default_rng(0)
    terms = rng.lognormal(0, 12, 5000)
    numbers = rng.integers(0, 7, 5000).astype(np.int32)
    found = _core.exact_sums(numbers, terms, 8)
    np.testing.assert_allclose(found, np.bincount(numbers, terms, 8), rtol=1e-12)
    for _ in range(5):
        order = rng.permutation(5000)
        assert np.array_equal(_core.exact_sums(numbers[order], terms[order], 8), found)
    assert _core.exact_sums(np.zeros(10, np.int32), np.full(10, 0.1), 1)[0] == 1.0  # not 0.9999999999999999
    assert _core.exact_sums(np.zeros(3, np.int32), np.array([1e32, 1.0, 0.0]), 1)[0] == 1e32
    with pytest.raises(ValueError, match="too large"):
        _core.exact_sums(np.array([3], np.int32), np.ones(1), 3)


def test_little_room_shortens_all_lists_alike(mini: GraphSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lists are then those of a smaller list size, and the same for any number of threads."""
    in_blocks_of(monkeypatch, 500)
    whole = triples(mini, everything, Keeping(10**6, SEED))
    room = whole.instances // 3
    short, other = (triples(mini, everything, Keeping(10**6, SEED, room), threads=t) for t in (1, 3))
    assert short.most < whole.met.max()
    assert len(short.lists().occurrences) <= room
    assert_same(short, other)
    assert np.array_equal(short.counts, whole.counts)
    wanted = triples(mini, everything, Keeping(short.most - 1, SEED)).lists()
    assert np.array_equal(short.lists().occurrences, wanted.occurrences)


@pytest.mark.parametrize("wanted_type", [0, 1])
def test_only_wanted_patterns_are_kept(hubs: GraphSet, wanted_type: int) -> None:
    def wanted(patterns: PatternTable) -> np.ndarray:
        return patterns.node_types[:, 0] == wanted_type

    found = triples(hubs, wanted, Keeping(5, SEED))
    census = take_census(hubs, 3)
    kept = np.flatnonzero(census.patterns.node_types[:, 0] == wanted_type)
    assert sorted(found.patterns.keys.tolist()) == sorted(census.patterns.take(kept).keys.tolist())
    assert np.array_equal(found.lists().aligned(census.patterns.take(kept)).counts, census.counts[kept])


def brute_force(graphs: GraphSet, k: int) -> list[list[int]]:
    found: list[list[int]] = []
    for graph in range(len(graphs)):
        begin, nodes = int(graphs.node_offsets[graph]), int(graphs.node_counts[graph])
        edges = np.zeros((nodes, nodes), np.uint8)
        edges[tuple(graphs.edge_list(graph).T)] = 1
        found += [[begin + node for node in some] for some in connected_subsets(edges, k)]
    return sorted(found)


@pytest.mark.parametrize("size", [1, 3, 11, 10**6])
def test_every_occurrence_is_listed_once(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks end within a root, within a graph and between graphs."""
    graphs = random_set(np.random.default_rng(4), 5, 14, 3, 2, 2.0)
    in_blocks_of(monkeypatch, size)
    for threads in (1, 2):
        lists = triples(graphs, everything, Keeping(10**6, SEED), threads=threads).lists()
        assert sorted(lists.occurrences.tolist()) == brute_force(graphs, 3)


def test_shares_of_one_graph_are_its_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    star = GraphSet.from_edges(
        node_counts=[3, 31],
        node_types=[0, 1, 1, *[0] * 31],
        edge_counts=[2, 30],
        edges=[[0, 1], [1, 2], *([0, leaf] for leaf in range(1, 31))],
        node_vocabulary=["hub", "leaf"],
    )
    whole = grown(star, 10, 10**9)
    in_blocks_of(monkeypatch, 100)
    parts = grown(star, 10, 10**9)
    assert_same(parts, whole)
    assert not parts.coverage_known.all()  # of patterns that several shares have
    assert whole.coverage_known.all()


def test_a_search_keeps_to_its_room(mini: GraphSet) -> None:
    """Lists are shorter then, counts of three nodes stay those of the census, and larger patterns are found."""
    levels = search(mini, 5, bounds=Bounds(capacity=10_000, list_size=30, room=2000), beam=200)
    census = take_census(mini, 3)
    lists = levels[0].lists.aligned(census.patterns)
    assert np.array_equal(lists.counts[lists.counts > 0], census.counts[lists.counts > 0])
    assert levels[-1].size == 5
    assert len(levels[-1].lists) == 200
    assert max(len(level.lists.occurrences) for level in levels) <= 2000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rates": np.ones(1)}, "weight and a rate"),
        ({"share": 2, "shares": 2}, "fewer shares"),
        ({"occurrences": np.zeros((2, 3), np.uint32)}, "one node less"),
        ({"occurrences": np.array([[1, 0], [1, 2]], np.uint32)}, "ascend and lie in one graph"),
    ],
)
def test_bad_blocks_are_refused(hubs: GraphSet, change: dict[str, Any], message: str) -> None:
    collector = _core.Collector(hubs.core, 3, 5, 100, 0, False, 0, 2)
    none = np.zeros(0, np.uint8)
    block: dict[str, Any] = {
        "occurrences": np.array([[0, 1], [1, 2]], np.uint32),
        "weights": np.ones(2),
        "rates": np.ones(2),
        "allowed": none,
        "distance": none,
        "steps_left": 0,
        "most_in": 99,
        "most_out": 99,
        "most_edges": 99,
        "fusible": None,
        "share": 0,
        "shares": 1,
        "seed": 0,
        "progress": None,
    }
    with pytest.raises(ValueError, match=message):
        collector.grow(**{**block, **change})
    first, types, *_ = collector.grow(**block)
    assert (first, len(types) > 0) == (0, True)
    with pytest.raises(ValueError, match="judgement"):
        collector.collect(0, np.ones(0), none, none, None)
    with pytest.raises(ValueError, match="no such pattern"):
        collector.lists(np.array([10**6], np.uint32))

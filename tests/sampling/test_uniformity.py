"""Do the samplers draw what they say they draw? Every statement is tested against the list of all occurrences, with
fixed seeds and thresholds that a right sampler misses less than once in 10,000 runs."""

import math
import random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from grade import GraphSet
from grade.sampling import Request, rand_esu, sample, samplers
from tests.sampling.small_sets import (
    SIGNIFICANCE,
    assert_mean,
    assert_uniform,
    every_occurrence,
    mixed_set,
    random_set,
    star,
    tally,
)

UNIFORM = ("ars", "rand-esu", "rand-fase")


def repeated(graphs: GraphSet, k: int, method: str, count: int, seeds: int, **options: Any) -> np.ndarray:
    """Draws of many seeds below each other."""
    draw = samplers[method]
    requests = (
        Request(graphs=graphs, k=k, count=count, seed=seed, threads=1, **options) for seed in range(seeds)
    )
    return np.concatenate([draw(request).occurrences for request in requests])


@pytest.mark.parametrize("method", UNIFORM)
@pytest.mark.parametrize("k", [2, 4, 5])
def test_every_occurrence_is_equally_likely(method: str, k: int) -> None:
    known = every_occurrence(mixed_set(), k)
    draws = repeated(mixed_set(), k, method, count=max(len(known) // 10, 1), seeds=600)
    assert_uniform(tally(draws, known))


@pytest.mark.parametrize("method", UNIFORM)
def test_the_first_draw_alone_is_uniform_too(method: str) -> None:
    known = every_occurrence(mixed_set(), 4)
    draws = repeated(mixed_set(), 4, method, count=5, seeds=3000)
    assert_uniform(tally(draws[::5], known))


@pytest.mark.parametrize("method", UNIFORM)
def test_weighting_by_graphs_is_uniform_within_each(method: str) -> None:
    graphs = mixed_set()
    known = every_occurrence(graphs, 4)
    draws = repeated(graphs, 4, method, count=9, seeds=2000, weighting="graphs")
    counts = tally(draws, known)
    owner = graphs.graphs_of(np.array([nodes[0] for nodes in known]))
    assert sorted(set(owner.tolist())) == [0, 1, 2]
    for graph in range(3):
        assert counts[owner == graph].sum() == 9 * 2000 / 3
        assert_uniform(counts[owner == graph])


@pytest.mark.parametrize("method", [*UNIFORM, "nrs"])
def test_weighting_by_graphs_gives_each_the_same_number(method: str) -> None:
    graphs = mixed_set()
    drawn = sample(graphs, 4, method, count=100, weighting="graphs")
    per_graph = np.bincount(graphs.graphs_of(drawn.occurrences[:, 0].astype(np.int64)), minlength=5)
    assert sorted(per_graph.tolist()) == [0, 0, 33, 33, 34]
    assert (drawn.weights == 1).all()


def test_ars_by_edges_chooses_graphs_by_edges() -> None:
    """The paper's weighting: shares of the graphs are edges times the share of connected 4-subsets."""
    graphs = mixed_set()
    known = every_occurrence(graphs, 4)
    owner = graphs.graphs_of(np.array([nodes[0] for nodes in known]))
    connected = np.bincount(owner, minlength=5)[:3]
    loops = np.array([0, 1, 0])
    subsets = np.array([math.comb(int(n), 4) for n in graphs.node_counts[:3]])
    expected = (graphs.edge_counts[:3] - loops) * connected / subsets
    drawn = sample(graphs, 4, "ars", count=30_000, weighting="edges").occurrences
    counts = np.bincount(graphs.graphs_of(drawn[:, 0].astype(np.int64)), minlength=3)
    assert stats.chisquare(counts, expected / expected.sum() * 30_000).pvalue > SIGNIFICANCE


@pytest.mark.parametrize("options", [{"r": 0.7}, {"probabilities": (1.0, 0.5, 0.9, 0.4, 1.0)}])
def test_given_probabilities_reach_every_leaf_with_their_product(options: dict[str, Any]) -> None:
    """A pass reaches each occurrence with probability p_1 ... p_k, so 1 / that is its unbiased weight."""
    graphs, seeds, count = random_set(), 200, 500
    known = every_occurrence(graphs, 5)
    values = np.zeros((seeds, len(known)))
    for seed in range(seeds):
        drawn = sample(graphs, 5, "rand-fase", count=count, seed=seed, threads=1, **options)
        per_pass = drawn.drawn["leaves"] / drawn.drawn["passes"]
        product = np.prod(drawn.drawn["probabilities"])
        np.testing.assert_allclose(drawn.weights, per_pass / product / count)
        values[seed] = tally(drawn.occurrences, known) * drawn.weights[0]
    assert_mean(values, 1.0)


@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize("method", ["rand-esu", "rand-fase"])
def test_given_probabilities_estimate_without_bias_however_few_are_drawn(method: str, count: int) -> None:
    """Stopping at the pass that brings enough favours large passes: it made the mean a fifth too high."""
    graphs, seeds = mixed_set(), 200
    known = every_occurrence(graphs, 4)
    totals, values = np.zeros((seeds, 1)), np.zeros((seeds, len(known)))
    for seed in range(seeds):
        drawn = sample(graphs, 4, method, count=count, seed=seed, threads=1, r=0.75)
        assert drawn.drawn["passes"] > 1
        totals[seed] = drawn.drawn["estimated_instances"]
        values[seed] = tally(drawn.occurrences, known)
    assert_mean(totals, float(len(known)))
    assert stats.chisquare(values.sum(axis=0)).pvalue > SIGNIFICANCE


def test_planned_probabilities_leave_the_weights_unbiased(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a capacity far below the size of the tree, sums of weights still estimate every pattern's count."""
    monkeypatch.setattr(rand_esu, "CAPACITY", 100)
    graphs, seeds = random_set(), 1000
    known = every_occurrence(graphs, 6)
    assert len(known) > 20 * 100
    values = np.zeros((seeds, len(known)))
    for seed in range(seeds):
        drawn = sample(graphs, 6, "rand-fase", count=25, seed=seed, threads=1)
        assert drawn.drawn["passes"] == 1
        assert drawn.drawn["leaves"] < 150
        values[seed] = tally(drawn.occurrences, known) * drawn.weights[0]
    total = values.sum(axis=1, keepdims=True)
    assert_mean(total, float(len(known)))
    # Occurrences one by one are too rare for a t-test; sums over the nodes that they contain are not.
    contains = np.zeros((len(known), graphs.nodes))
    for nodes, i in known.items():
        contains[i, list(nodes)] = 1
    assert_mean(values @ contains, contains.sum(axis=0))


@pytest.mark.parametrize("method", ["rand-esu", "rand-fase"])
def test_a_hub_is_sampled_uniformly_at_bounded_cost(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """400 leaves around a hub have C(400, 9) = 6.6e17 occurrences of 10 nodes; each leaf is in as many."""
    monkeypatch.setattr(rand_esu, "CAPACITY", 4000)
    leaves, k, count, seeds = 400, 10, 1000, 40
    shares, totals = np.zeros((seeds, leaves + 1)), np.zeros((seeds, 1))
    for seed in range(seeds):
        drawn = sample(star(leaves), k, method, count=count, seed=seed, threads=1)
        assert drawn.drawn["leaves"] < 5000
        shares[seed] = np.bincount(drawn.occurrences.ravel(), minlength=leaves + 1) / count
        totals[seed] = drawn.drawn["estimated_instances"]
    assert (shares[:, 0] == 1).all()
    assert_mean(shares[:, 1:], (k - 1) / leaves)
    assert_mean(totals, math.comb(leaves, k - 1))


def nrs_by_the_book(edges: list[tuple[int, int]], k: int, generator: random.Random) -> tuple[int, ...]:
    """The paper's NRSonSingleGraph, line by line, with all edges scanned at every step."""
    nodes = {node for edge in edges for node in edge}
    members = set(generator.choice(edges))
    while len(members) < k:
        boundary = [e for e in edges if (e[0] in members) != (e[1] in members)]
        members |= set(generator.choice(boundary))
    unprocessed = nodes - members
    i = k
    while True:
        boundary = [
            e
            for e in edges
            if (e[0] in members and e[1] in unprocessed) or (e[0] in unprocessed and e[1] in members)
        ]
        if not boundary:
            return tuple(sorted(members))
        i += 1
        (node,) = set(generator.choice(boundary)) & unprocessed
        unprocessed.remove(node)
        if generator.random() < k / i:
            other = members - {generator.choice(sorted(members))} | {node}
            if connected(other, edges):
                members = other


def connected(members: set[int], edges: list[tuple[int, int]]) -> bool:
    reached = {min(members)}
    for _ in members:
        reached |= {b for a, b in edges if a in reached and b in members}
        reached |= {a for a, b in edges if b in reached and a in members}
    return reached == members


@pytest.mark.parametrize("k", [3, 5])
def test_nrs_has_the_distribution_of_the_papers_algorithm(k: int) -> None:
    """Its boundary lists are kept up to date step by step; the result must be that of scanning all edges."""
    edges = [(0, i) for i in range(1, 6)] + [(5, 6), (6, 7), (7, 0), (2, 1), (1, 2), (3, 8), (8, 4)]
    graphs = GraphSet.from_edges(
        node_counts=[9],
        node_types=[0] * 9,
        edge_counts=[len(edges)],
        edges=edges,
        node_vocabulary=["conv"],
    )
    known = every_occurrence(graphs, k)
    ours = tally(sample(graphs, k, "nrs", count=10_000, threads=1).occurrences, known)
    generator = random.Random(0)
    theirs = tally(np.array([nrs_by_the_book(edges, k, generator) for _ in range(10_000)]), known)
    both = np.stack([ours, theirs])[:, (ours + theirs) >= 10]
    assert both.shape[1] > 10
    assert stats.chi2_contingency(both).pvalue > SIGNIFICANCE


def test_nrs_is_biased() -> None:
    """What the documentation says: the reservoir does not make all occurrences equally likely."""
    known = every_occurrence(mixed_set(), 4)
    counts = tally(sample(mixed_set(), 4, "nrs", count=20_000, threads=1).occurrences, known)
    assert stats.chisquare(counts).pvalue < 1e-12

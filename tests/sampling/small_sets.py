"""Graph sets small enough to list every occurrence, and statistics of draws against that list."""

from collections import Counter
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from grade import GraphSet
from grade.sampling.census import collect_occurrences

# A right sampler falls below this less than once in 10,000 runs.
SIGNIFICANCE = 1e-4


@cache
def mixed_set() -> GraphSet:
    """Graphs of different sizes: a hub with a tail, a ring with opposite and looped edges, two parts and a lone
    node, a single edge, an empty graph."""
    hub = [(0, i) for i in range(1, 8)] + [(7, 8), (8, 9), (1, 2), (9, 10)]
    ring = [(i, (i + 1) % 6) for i in range(6)] + [(1, 0), (3, 3), (0, 3), (5, 2)]
    parts = [(0, 1), (1, 2), (2, 3), (3, 1), (4, 5), (5, 6), (6, 7), (7, 8), (8, 4)]
    graphs = [(11, hub), (6, ring), (10, parts), (2, [(0, 1)]), (0, [])]
    nodes = sum(count for count, _ in graphs)
    return GraphSet.from_edges(
        node_counts=[count for count, _ in graphs],
        node_types=[i % 3 for i in range(nodes)],
        edge_counts=[len(edges) for _, edges in graphs],
        edges=[edge for _, edges in graphs for edge in edges],
        node_vocabulary=["conv", "relu", "add"],
        origin="mixed",
    )


def star(leaves: int) -> GraphSet:
    """One hub."""
    return GraphSet.from_edges(
        node_counts=[leaves + 1],
        node_types=[0] * (leaves + 1),
        edge_counts=[leaves],
        edges=[(0, i) for i in range(1, leaves + 1)],
        node_vocabulary=["conv"],
        origin="star",
    )


def random_set(graphs: int = 3, nodes: int = 24, seed: int = 0) -> GraphSet:
    """Sparse acyclic graphs with a few well-connected nodes."""
    generator = np.random.default_rng(seed)
    edges, counts = [], []
    for _ in range(graphs):
        found = {(i - 1, i) for i in range(1, nodes)}
        while len(found) < nodes + 8:
            i, j = sorted((generator.integers(0, nodes) ** 2 // nodes, generator.integers(0, nodes)))
            if i != j:
                found.add((int(i), int(j)))
        edges += sorted(found)
        counts.append(len(found))
    return GraphSet.from_edges(
        node_counts=[nodes] * graphs,
        node_types=generator.integers(0, 3, graphs * nodes),
        edge_counts=counts,
        edges=edges,
        node_vocabulary=["conv", "relu", "add"],
        origin="random",
    )


def every_occurrence(graphs: GraphSet, k: int) -> dict[tuple[int, ...], int]:
    """All occurrences with a number for each."""
    return {tuple(row): i for i, row in enumerate(collect_occurrences(graphs, k, threads=1).tolist())}


def tally(draws: NDArray[np.uint32], known: dict[tuple[int, ...], int]) -> NDArray[np.int64]:
    """[occurrences] how often each was drawn; a draw that is no occurrence is an error."""
    counts = Counter(map(tuple, draws.tolist()))
    assert counts.keys() <= known.keys(), "a draw is not connected, not of size k, or not in ascending order"
    result = np.zeros(len(known), np.int64)
    for occurrence, count in counts.items():
        result[known[occurrence]] = count
    return result


def assert_uniform(counts: NDArray[np.int64]) -> None:
    assert stats.chisquare(counts).pvalue > SIGNIFICANCE


def assert_mean(values: NDArray[np.float64], expected: NDArray[np.float64] | float) -> None:
    """The columns of [seeds, n] values have these means, by t-tests with Bonferroni's correction."""
    seeds, n = values.shape
    error = values.std(axis=0, ddof=1) / np.sqrt(seeds)
    difference = np.abs(values.mean(axis=0) - expected)
    limit = stats.t.isf(SIGNIFICANCE / (2 * n), seeds - 1)
    assert (difference <= limit * error + 1e-12).all(), (difference / np.maximum(error, 1e-12)).max()

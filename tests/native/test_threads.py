"""Every kernel that works on several threads gives what it gives on one. The thread sanitizer runs this file, too."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grade import _core
from grade.graphs import GraphSet, PatternTable
from grade.graphs.node_deletions import are_connected
from grade.sampling import sample
from grade.sampling.census import collect_occurrences, take_census
from grade.search import Constraints, beam_search
from grade.search.beam import Bounds
from grade.verify import verify_patterns
from tests.native.test_census import random_set

MANY = 4


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    """Small graphs with hubs, and one that is large enough for several threads to build it."""
    small = random_set(np.random.default_rng(21), 30, 40, 3, 2, 2.5)
    rng = np.random.default_rng(22)
    n = 20_000
    arcs = np.unique(np.sort(rng.integers(0, n, (n, 2)), axis=1), axis=0)
    return GraphSet.from_edges(
        node_counts=[*small.node_counts.tolist(), n],
        node_types=[*small.node_types.tolist(), *rng.integers(0, 3, n).tolist()],
        edge_counts=[*small.edge_counts.tolist(), len(arcs)],
        edges=np.concatenate([*(small.edge_list(g) for g in range(len(small))), arcs]),
        node_vocabulary=small.node_vocabulary,
        edge_vocabulary=["", "edge"],
    )


def arrays(table: PatternTable) -> list[np.ndarray]:
    return [table.node_types, table.edges, table.automorphisms]


def census(graphs: GraphSet, threads: int) -> list[np.ndarray]:
    found = take_census(graphs, 4, threads)
    return [*arrays(found.patterns), found.counts]


def neighbours(graphs: GraphSet, threads: int) -> list[np.ndarray]:
    return list(_core.neighbours(graphs.core, 3, threads, None))


def occurrences(graphs: GraphSet, threads: int) -> list[np.ndarray]:
    rows = collect_occurrences(graphs, 3, threads=threads)
    return [rows, *_core.classify(graphs.core, rows, threads)]


def construction(graphs: GraphSet, threads: int) -> list[np.ndarray]:
    core = _core.Graph(
        *(graphs.node_offsets, graphs.node_types, graphs.out_offsets, graphs.out_targets),
        *(graphs.out_types, graphs.in_offsets, graphs.in_sources, graphs.in_types, threads),
    )
    return list(_core.census(core, 3, 1, None))


def drawn_by(method: str, weighting: str) -> Callable[[GraphSet, int], list[np.ndarray]]:
    def draw(graphs: GraphSet, threads: int) -> list[np.ndarray]:
        drawn = sample(graphs, 4, method, count=2000, seed=3, threads=threads, weighting=weighting, parts=0)
        return [drawn.occurrences, drawn.weights, drawn.pattern_ids, *arrays(drawn.patterns)]

    return draw


def drawn_by_rejection(graphs: GraphSet, threads: int) -> list[np.ndarray]:
    """From the small graphs alone: of a large one nearly all draws are rejected."""
    return drawn_by("ars", "graphs")(graphs.subset(range(len(graphs) - 1)), threads)


def search(graphs: GraphSet, threads: int) -> list[np.ndarray]:
    """Lists too short for everything, so that thinning and weights take part."""
    levels = beam_search(
        graphs,
        5,
        beam=40,
        score=lambda lists: lists.counts,
        constraints=Constraints(),
        bounds=Bounds(capacity=100_000, list_size=100),
        threads=threads,
    )
    return [
        array
        for level in levels
        for array in (*arrays(level.lists.patterns), level.lists.occurrences, level.lists.counts)
    ]


def verification(fusible: bool) -> Callable[[GraphSet, int], list[np.ndarray]]:
    def verify(graphs: GraphSet, threads: int) -> list[np.ndarray]:
        patterns = [pattern for pattern, _ in take_census(graphs, 4, 1).top(12)]
        found = verify_patterns(graphs, patterns, threads=threads, fusible=fusible)
        return [np.array([(s.occurrences, s.graphs, s.disjoint, s.coverage) for s in found], float)]

    return verify


KERNELS: dict[str, Callable[[GraphSet, int], list[Any]]] = {
    "census": census,
    "neighbours": neighbours,
    "occurrences": occurrences,
    "construction": construction,
    "rand-esu": drawn_by("rand-esu", "occurrences"),
    "rand-esu by graphs": drawn_by("rand-esu", "graphs"),
    "rand-fase": drawn_by("rand-fase", "occurrences"),
    "nrs": drawn_by("nrs", "edges"),
    "ars": drawn_by_rejection,
    "search": search,
    "verification": verification(False),
    "fusible": verification(True),
}


@pytest.mark.parametrize("name", KERNELS)
def test_many_threads_give_what_one_gives(graphs: GraphSet, name: str) -> None:
    kernel = KERNELS[name]
    one, many = kernel(graphs, 1), kernel(graphs, MANY)
    assert len(one) == len(many)
    assert sum(len(array) for array in one) > 0
    for a, b in zip(one, many, strict=True):
        assert np.array_equal(a, b)


def test_a_large_graph_grows_as_small_ones_do(graphs: GraphSet) -> None:
    """A graph of many occurrences is grown in blocks, whose node sets are joined: none twice, none lost."""
    rows = collect_occurrences(graphs, 3)
    owner = graphs.graphs_of(rows[:, 0])
    rows = rows[np.argsort(owner, kind="stable")]
    assert np.bincount(np.sort(owner)).max() > 3 * 4096
    everything = np.zeros(0, np.uint8)
    limits = (everything, everything, 99, 99, 99, 999, None)
    collector = _core.Collector(graphs.core, 4, 10**9, 10**9, 7, False, 0, MANY)
    weights = np.ones(len(rows))
    first, types, *_ = collector.grow(rows, weights, weights, *limits, 0, 1, 7, None)
    assert first == 0
    divided = np.full(len(types), 8.0)
    collector.collect(0, divided, np.zeros(len(types), np.uint8), np.ones(len(types), np.uint8), None)
    found = collector.result()
    offsets, grown, sums = collector.lists(found["numbers"])
    larger = collect_occurrences(graphs, 4)
    assert np.array_equal(np.unique(grown, axis=0), np.unique(larger, axis=0))
    assert len(grown) == len(larger)
    # Each was met from every connected part of three nodes, with weight 1.
    parts = [
        sum(bool(are_connected(np.delete(np.delete(m, u, 0), u, 1)[None])[0]) for u in range(4))
        for m in found["edges"]
    ]
    ids = np.repeat(np.arange(len(parts)), np.diff(offsets))
    assert np.array_equal(sums * 8, np.array(parts, float)[ids])
    numbers, node_types, *_ = _core.classify(graphs.core, grown, 1)
    assert np.array_equal(numbers, ids)
    assert np.array_equal(node_types, found["node_types"])

"""The census, classification and enumeration kernels against brute force and pynauty."""

from collections import Counter
from math import comb, factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grade import _core
from grade.graphs import GraphSet
from grade.progress import Stopped
from tests.graph_sets import ARRAYS
from tests.reference import brute_force_census, connected_subsets, dense, nauty_key


def random_set(
    rng: np.random.Generator, graphs: int, max_nodes: int, types: int, edge_types: int, mean_degree: float
) -> GraphSet:
    """Random digraphs with cycles, self-loops, hubs, isolated nodes and, now and then, no node at all."""
    node_counts, node_types, edge_counts, edges, kinds = [], [], [], [], []
    for _ in range(graphs):
        n = int(rng.integers(0, max_nodes + 1))
        p = min(1.0, mean_degree / max(n, 1))
        matrix = rng.random((n, n)) < p
        if n and rng.random() < 0.5:  # a hub
            matrix[int(rng.integers(n))] = rng.random(n) < 0.8
        arcs = np.argwhere(matrix)
        node_counts.append(n)
        node_types += rng.integers(0, types, n).tolist()
        edge_counts.append(len(arcs))
        edges += arcs.tolist()
        kinds += rng.integers(1, edge_types + 1, len(arcs)).tolist()
    return GraphSet.from_edges(
        node_counts=node_counts,
        node_types=node_types,
        edge_counts=edge_counts,
        edges=np.array(edges, int).reshape(-1, 2),
        edge_types=kinds,
        node_vocabulary=[f"type-{i}" for i in range(types)],
        edge_vocabulary=[f"edge-{i}" for i in range(edge_types + 1)],
    )


def counts_by_key(types: np.ndarray, edges: np.ndarray, counts: np.ndarray) -> Counter[Any]:
    keys = [nauty_key(t, e) for t, e in zip(types, edges, strict=True)]
    assert len(set(keys)) == len(keys), "the core lists one class twice"
    return Counter(dict(zip(keys, counts.tolist(), strict=True)))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    k=st.integers(2, 6),
    types=st.integers(1, 4),
    edge_types=st.sampled_from([1, 1, 2, 3, 4, 200]),  # up to 3: packed ties; beyond: wide ties
    threads=st.integers(1, 3),
)
def test_census_equals_brute_force(seed: int, k: int, types: int, edge_types: int, threads: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = random_set(rng, 4, 10, types, edge_types, float(rng.choice([1.0, 2.0, 4.0])))
    pattern_types, pattern_edges, _, counts = _core.census(graphs.core, k, threads, None)
    assert counts_by_key(pattern_types, pattern_edges, counts) == brute_force_census(graphs, k)


@pytest.mark.parametrize("k", [3, 8, 13, 16])
def test_a_star_has_binomially_many_subgraphs(k: int) -> None:
    leaves = 20
    graphs = GraphSet.from_edges(
        node_counts=[leaves + 1],
        node_types=[0] + [1] * leaves,
        edge_counts=[leaves],
        edges=[[0, i + 1] for i in range(leaves)],
        node_vocabulary=["hub", "leaf"],
    )
    types, _, automorphisms, counts = _core.census(graphs.core, k, 1, None)
    assert counts.tolist() == [comb(leaves, k - 1)]
    assert types[0].tolist() == [0] + [1] * (k - 1)
    assert automorphisms.tolist() == [factorial(k - 1)]


@pytest.mark.parametrize("k", [2, 5, 9, 16])
def test_a_path_has_one_subgraph_per_window(k: int) -> None:
    n = 30
    graphs = GraphSet.from_edges(
        node_counts=[n],
        node_types=[0] * n,
        edge_counts=[n - 1],
        edges=[[i, i + 1] for i in range(n - 1)],
        node_vocabulary=["a"],
    )
    _, _, automorphisms, counts = _core.census(graphs.core, k, 2, None)
    assert counts.tolist() == [n - k + 1]
    assert automorphisms.tolist() == [1]


@pytest.mark.parametrize("edge_types", [1, 3, 90])
def test_the_result_does_not_depend_on_threads(edge_types: int) -> None:
    graphs = random_set(np.random.default_rng(7), 20, 30, 3, edge_types, 3.0)
    one = _core.census(graphs.core, 4, 1, None)
    for threads in (2, 3, 8):
        for a, b in zip(one, _core.census(graphs.core, 4, threads, None), strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize(("k", "edge_types"), [(2, 1), (3, 2), (4, 1), (5, 1), (5, 200)])
def test_enumeration_lists_every_connected_subset_once(k: int, edge_types: int) -> None:
    graphs = random_set(np.random.default_rng(k), 6, 12, 2, edge_types, 2.0)
    expected = {
        tuple(int(node + graphs.node_offsets[g]) for node in nodes)
        for g in range(len(graphs))
        for nodes in connected_subsets(dense(graphs, g)[1], k)
    }
    count = _core.count_instances(graphs.core, k, 2, None)
    rows = _core.enumerate(graphs.core, k, count, 2, None)
    assert len(rows) == len(expected)
    assert {tuple(row) for row in rows.tolist()} == expected
    assert np.array_equal(rows, _core.enumerate(graphs.core, k, count, 1, None))


@pytest.mark.parametrize("edge_types", [1, 200])
def test_classification_agrees_with_the_census(edge_types: int) -> None:
    graphs = random_set(np.random.default_rng(3), 8, 40, 3, edge_types, 2.5)
    k = 4
    census = _core.census(graphs.core, k, 1, None)
    rows = _core.enumerate(graphs.core, k, _core.count_instances(graphs.core, k, 1, None), 1, None)
    ids, types, edges, automorphisms = _core.classify(graphs.core, rows)
    assert np.array_equal(types, census[0])
    assert np.array_equal(edges, census[1])
    assert np.array_equal(automorphisms, census[2])
    assert np.array_equal(np.bincount(ids), census[3])


@pytest.mark.parametrize(("types", "edge_types"), [(1000, 1), (3, 255)])
def test_sets_whose_subgraphs_rarely_repeat_are_counted_the_same(types: int, edge_types: int) -> None:
    """Enough distinct subgraphs that the census leaves its trie and goes on without it."""
    rng = np.random.default_rng(11)
    n, k = 5000, 5
    arcs = np.unique(rng.integers(0, n, (2 * n, 2)), axis=0)
    graphs = GraphSet.from_edges(
        node_counts=[n],
        node_types=rng.integers(0, types, n),
        edge_counts=[len(arcs)],
        edges=arcs,
        edge_types=rng.integers(1, edge_types + 1, len(arcs)),
        node_vocabulary=[f"type-{i}" for i in range(types)],
        edge_vocabulary=[f"edge-{i}" for i in range(edge_types + 1)],
    )
    census = _core.census(graphs.core, k, 1, None)
    assert len(census[3]) > 300_000
    rows = _core.enumerate(graphs.core, k, _core.count_instances(graphs.core, k, 1, None), 1, None)
    ids, pattern_types, pattern_edges, _ = _core.classify(graphs.core, rows)
    assert np.array_equal(pattern_types, census[0])
    assert np.array_equal(pattern_edges, census[1])
    assert np.array_equal(np.bincount(ids), census[3])


def test_classification_does_not_depend_on_the_order_of_the_nodes() -> None:
    rng = np.random.default_rng(4)
    graphs = random_set(rng, 3, 60, 3, 2, 3.0)
    rows = _core.enumerate(graphs.core, 4, _core.count_instances(graphs.core, 4, 1, None), 1, None)
    shuffled = rng.permuted(rows, axis=1)
    assert np.array_equal(_core.classify(graphs.core, rows)[0], _core.classify(graphs.core, shuffled)[0])


def test_classification_refuses_nodes_that_are_no_occurrence() -> None:
    graphs = random_set(np.random.default_rng(1), 2, 10, 2, 1, 3.0)
    first, last = 0, graphs.nodes - 1
    for row in ([first, first], [first, last], [first, graphs.nodes]):
        with pytest.raises(ValueError, match="occurrence"):
            _core.classify(graphs.core, np.array([row], np.uint32))


@pytest.mark.parametrize("k", [-1, 0, 1, 17, 1000])
def test_sizes_out_of_range_are_refused(k: int) -> None:
    graphs = random_set(np.random.default_rng(1), 2, 10, 2, 1, 3.0)
    with pytest.raises(ValueError, match="k must be from 2 to 16"):
        _core.census(graphs.core, k, 1, None)


def test_a_census_of_nothing_is_empty() -> None:
    empty = GraphSet.from_edges(
        node_counts=[0, 3], node_types=[0, 0, 0], edge_counts=[0, 0], edges=[], node_vocabulary=["a"]
    )
    assert len(_core.census(empty.core, 3, 2, None)[3]) == 0
    assert _core.count_instances(empty.core, 2, 2, None) == 0


DAMAGES: list[tuple[str, str, Any]] = [
    ("an edge leaves its graph", "out_targets", lambda a: a + 100),
    ("ascending", "out_targets", lambda a: a[[1, 0, 2, 3, 4, 5]]),
    ("disagree", "in_types", lambda a: np.full_like(a, 2)),
    ("disagree", "in_sources", lambda a: np.array([0, 0, 0, 2, 4, 5], np.uint32)),
    ("type 0", "out_types", lambda a: a * 0),
    ("offsets", "out_offsets", lambda a: a[::-1].copy()),
    ("offsets", "node_offsets", lambda a: a + 1),
    ("length", "in_sources", lambda a: a[:-1].copy()),
]


@pytest.mark.parametrize(("message", "field", "damage"), DAMAGES)
def test_damaged_arrays_are_refused(message: str, field: str, damage: Any) -> None:
    graphs = GraphSet.from_edges(
        node_counts=[4, 3],
        node_types=[0] * 7,
        edge_counts=[4, 2],
        edges=[[0, 1], [0, 2], [1, 3], [2, 3], [0, 1], [1, 2]],
        node_vocabulary=["a"],
        edge_vocabulary=["none", "x", "y"],
    )
    arrays = {name: getattr(graphs, name) for name in ARRAYS}
    arrays[field] = damage(arrays[field])
    with pytest.raises(ValueError, match=message):
        _core.Graph(**arrays)


def test_progress_is_reported_and_can_stop_the_work() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    arcs = np.unique(rng.integers(0, n, (9000, 2)), axis=0)
    graphs = GraphSet.from_edges(
        node_counts=[n], node_types=[0] * n, edge_counts=[len(arcs)], edges=arcs, node_vocabulary=["a"]
    )
    seen: list[float] = []

    def stop_at_second_call(fraction: float) -> bool:
        seen.append(fraction)
        return len(seen) < 2

    with pytest.raises(Stopped):
        _core.census(graphs.core, 9, 2, stop_at_second_call)
    assert len(seen) == 2
    assert 0 <= seen[0] <= seen[1] < 1

    def fail(fraction: float) -> bool:
        raise RuntimeError("the callback failed")

    with pytest.raises(RuntimeError, match="the callback failed"):
        _core.census(graphs.core, 9, 2, fail)

"""Neighbours of parts, which add up to larger patterns, and the patterns that are possible at all."""

from collections import Counter
from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grade import GraphSet, _core
from grade.errors import InputError
from grade.estimators.evidence import apriori
from grade.estimators.evidence.apriori import possible_patterns
from grade.graphs import PatternTable
from grade.graphs.counts import Counts
from grade.graphs.node_deletions import connected_parts, without
from grade.graphs.sample import load_sample, save_sample
from grade.sampling import part_census as counting
from grade.sampling import sample
from grade.sampling.census import collect_occurrences, take_census
from grade.sampling.part_census import count_parts
from grade.sources import load
from tests.estimators.spaces import all_classes
from tests.graph_sets import chains, graph_sets


def undirected(graphs: GraphSet) -> nx.Graph:
    whole = nx.Graph()
    whole.add_nodes_from(range(graphs.nodes))
    for graph in range(len(graphs)):
        begin = int(graphs.node_offsets[graph])
        whole.add_edges_from(
            (begin + u, begin + v) for u, v, *_ in graphs.edge_list(graph).tolist() if u != v
        )
    return whole


@settings(max_examples=60, deadline=None)
@given(graph_sets(max_nodes=6), st.integers(1, 4))
def test_neighbours_by_looking_at_every_occurrence(graphs: GraphSet, k: int) -> None:
    """Cycles, loops, several edge types, isolated nodes, empty graphs; any number of threads."""
    expected: Counter[str] = Counter()
    whole = undirected(graphs)
    if k == 1:
        rows = np.arange(graphs.nodes, dtype=np.uint32)[:, None]
    else:
        rows = collect_occurrences(graphs, k) if graphs.largest >= k else np.zeros((0, k), np.uint32)
    ids, types, edges, automorphisms = _core.classify(graphs.core, rows) if len(rows) else [np.zeros(0)] * 4
    patterns = PatternTable(types, edges, automorphisms) if len(rows) else None
    for row, which in zip(rows.tolist(), ids.tolist(), strict=True):
        beside = set().union(*(whole[node] for node in row)) - set(row)
        assert patterns is not None
        expected[patterns[which].key] += len(beside)
    for threads in (1, 3):
        *arrays, sums = _core.neighbours(graphs.core, k, threads, None)
        found = {p.key: int(n) for p, n in zip(PatternTable(*arrays), sums, strict=True)}
        assert found == {key: number for key, number in expected.items() if number}


@pytest.mark.parametrize("name", ["nas-bench-201", "zoo-mini"])
@pytest.mark.parametrize("k", [3, 4, 5])
def test_neighbours_of_parts_are_the_parts_of_larger_patterns(name: str, k: int) -> None:
    """The sum over patterns c of m(c, t) N(c) is M(t), exactly."""
    graphs = load(name)
    census = take_census(graphs, k)
    beside = count_parts(graphs, k - 1).neighbours
    assert beside is not None
    rows = connected_parts(census.patterns, beside.tables[k - 1])
    weights = np.repeat(census.counts.astype(np.float64), k)
    sums = np.bincount(rows.ravel() + 1, weights, len(beside.tables[k - 1]) + 1)
    np.testing.assert_array_equal(sums[1:], beside.weights[k - 1])


@settings(max_examples=40, deadline=None)
@given(graph_sets(max_nodes=6), st.integers(3, 4))
def test_patterns_that_occur_are_possible_and_possible_ones_have_parts_that_occur(
    graphs: GraphSet, k: int
) -> None:
    if graphs.largest < k:
        return
    parts = count_parts(graphs, k - 1).counts
    found = possible_patterns(parts, k)
    assert found is not None
    assert len(np.unique(found.keys)) == len(found)
    assert np.isin(take_census(graphs, k).patterns.keys, found.keys).all()
    for node in range(k):
        _, rest = without(found, node)
        assert np.isin(rest.keys, parts.tables[k - 1].keys).all()


def test_all_possible_patterns_are_found() -> None:
    """Of all digraphs of three nodes of two types, those whose edges are of two given kinds."""
    known = PatternTable.canonical([[0, 1], [1, 1]], [[[0, 1], [0, 0]]] * 2)
    found = possible_patterns(Counts({2: known}, {2: np.ones(2)}), 3)
    assert found is not None
    everything = all_classes(3, 2)
    whole = np.ones(len(everything), np.bool_)
    for node in range(3):
        rows, rest = without(everything, node)
        whole[rows] &= np.isin(rest.keys, known.keys)
    connected = [nx.is_connected(nx.from_numpy_array(e + e.T)) for e in everything.edges]
    assert set(found.keys.tolist()) == set(everything.keys[whole & np.array(connected)].tolist())
    assert len(found) > 5


def every_way(parts: Counts, k: int) -> set[str]:
    """The possible patterns, by putting every node beside every part with every edge there and back."""
    table = parts.tables[k - 1]
    highest = 1 + max(int(t.edges.max(initial=0)) for t in parts.tables.values())
    kinds = {
        (kind, loop)
        for types, edges in zip(parts.tables[2].node_types.tolist(), parts.tables[2].edges, strict=True)
        for kind, loop in zip(types, edges.diagonal().tolist(), strict=True)
    }
    ways = np.array(list(product(range(highest), repeat=2 * (k - 1))), np.uint8)
    edges = np.zeros((len(kinds), len(table), len(ways), k, k), np.uint8)
    types = np.zeros((len(kinds), len(table), len(ways), k), np.uint16)
    edges[..., :-1, :-1], types[..., :-1] = table.edges[:, None], table.node_types[:, None]
    edges[..., :-1, -1], edges[..., -1, :-1] = ways[:, : k - 1], ways[:, k - 1 :]
    for own, (kind, loop) in enumerate(sorted(kinds)):
        types[own, ..., -1], edges[own, ..., -1, -1] = kind, loop
    everything = PatternTable.canonical(types.reshape(-1, k), edges.reshape(-1, k, k))
    adjacent = (everything.edges | everything.edges.transpose(0, 2, 1)) > 0
    whole = (np.linalg.matrix_power((adjacent | np.eye(k, dtype=bool)).astype(np.float32), k) > 0).all((1, 2))
    for node in range(k):
        rows, rest = without(everything, node)
        whole[rows] &= np.isin(rest.keys, table.keys)
    return set(everything.keys[whole].tolist())


@settings(max_examples=25, deadline=None)
@given(graph_sets(max_nodes=5, max_graphs=2), st.integers(3, 4))
def test_no_possible_pattern_is_dropped_on_the_way(graphs: GraphSet, k: int) -> None:
    """Cycles and loops among them."""
    if graphs.largest < k:
        return
    parts = count_parts(graphs, k - 1).counts
    found = possible_patterns(parts, k)
    assert found is not None
    assert set(found.keys.tolist()) == every_way(parts, k)
    without_three = {size: table for size, table in parts.tables.items() if size in (2, k - 1)}
    again = possible_patterns(Counts(without_three, {size: parts.weights[size] for size in without_three}), k)
    assert again is not None
    np.testing.assert_array_equal(again.keys, found.keys)


def test_many_types_take_no_more_room_than_their_pairs() -> None:
    """A chain on which no two nodes are of one type. Three nodes in a row are possible, and two of a type beside
    one of another.
    """
    n = 20_000
    nodes = np.stack([np.arange(n - 1), np.arange(1, n)], 1)
    pairs = PatternTable.canonical(nodes, np.tile(np.array([[0, 1], [0, 0]], np.uint8), (n - 1, 1, 1)))
    found = possible_patterns(Counts({2: pairs}, {2: np.ones(n - 1)}), 3)
    assert found is not None
    assert len(found) == (n - 2) + 2 * (n - 1)


def test_loops_are_part_of_what_is_possible() -> None:
    """b has a loop always; a b without one is not possible."""
    graphs = chains([(0, 1, 0), (1, 0, 1)], loop_types={1: 2})
    found = possible_patterns(count_parts(graphs, 2).counts, 3)
    assert found is not None
    loops = np.diagonal(found.edges, axis1=1, axis2=2)
    np.testing.assert_array_equal(loops == 2, found.node_types == 1)


def test_too_many_possible_patterns_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = count_parts(load("zoo-mini"), 3).counts
    found = possible_patterns(parts, 4)
    assert found is not None
    assert possible_patterns(parts, 4, most=100) is None
    monkeypatch.setattr(apriori, "ROWS", 1_000)
    assert possible_patterns(parts, 4) is None


def test_neighbours_come_with_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = load("zoo-mini")
    drawn = sample(graphs, 4, "rand-esu", count=50, seed=0)
    save_sample(drawn, tmp_path / "sample")
    again = load_sample(tmp_path / "sample").parts
    assert drawn.parts is not None
    assert again is not None
    assert drawn.parts.neighbours is not None
    assert again.neighbours is not None
    assert list(again.neighbours.tables) == [2, 3]
    np.testing.assert_array_equal(again.neighbours.weights[3], drawn.parts.neighbours.weights[3])

    # Where every graph counts the same, sums over all occurrences are of something else.
    other = sample(graphs, 4, "nrs", count=50, seed=0, weighting="graphs").parts
    assert other is not None
    assert other.neighbours is None
    smaller = sample(graphs, 4, "rand-esu", count=50, seed=0, parts=2).parts
    assert smaller is not None
    assert smaller.neighbours is None, "those of parts that are much smaller tell nothing"
    monkeypatch.setattr(counting, "MOST_OCCURRENCES", int(drawn.parts.counts.weights[2].sum()))
    assert count_parts(graphs, 3).neighbours is None, "those of many occurrences are left out"

    with np.load(tmp_path / "sample" / "parts.npz") as archive:
        arrays = dict(archive)
    arrays["neighbours.3.weights"] = -arrays["neighbours.3.weights"]
    np.savez(tmp_path / "sample" / "parts.npz", **arrays)
    with pytest.raises(InputError, match=r"parts\.npz does not match its checksum"):
        load_sample(tmp_path / "sample")


def test_a_pattern_without_neighbours_is_left_out() -> None:
    beside = count_parts(chains([(0, 1)] * 4), 2).neighbours
    assert beside is not None
    assert len(beside.tables[2]) == 0

"""Fusible sets: all of them, from their definition tried on every connected set."""

from itertools import pairwise

import numpy as np
import pytest

from grade.graphs import GraphSet, Pattern
from grade.search import Constraints, beam_search
from grade.search.beam import Bounds
from grade.search.constraints import inner_edges
from grade.search.fusible import fusible_lists
from grade.verify import count_pattern, list_occurrences
from tests.native.test_census import random_set
from tests.search.brute_force import Plain, network_like, with_outputs


def abs_relu_neg(outputs: list[bool] | None) -> GraphSet:
    graphs = GraphSet.from_edges(
        node_counts=[3],
        node_types=[0, 1, 2],
        edge_counts=[2],
        edges=[[0, 1], [1, 2]],
        node_vocabulary=["Abs", "Relu", "Neg"],
    )
    if outputs is not None:
        graphs = with_outputs(graphs, np.array(outputs))
    return graphs


@pytest.mark.parametrize("edge_types", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_every_fusible_set_is_found_once(seed: int, edge_types: int) -> None:
    """Cycles, self-loops and hubs; random graph outputs besides."""
    rng = np.random.default_rng(seed)
    graphs = (
        network_like(rng, 4, 12, 2, edge_types) if seed % 3 else random_set(rng, 4, 10, 2, edge_types, 1.0)
    )
    if seed % 2:
        graphs = with_outputs(graphs, rng.random(graphs.nodes) < 0.2)
    plain = Plain(graphs)
    for k in range(1, 7):
        lists = fusible_lists(graphs, k, Constraints(fusible=True), 10**6, threads=2)
        assert lists is not None
        expected = [nodes for nodes in plain.connected_sets(k) if plain.is_fusible(nodes)]
        assert sorted(map(tuple, lists.occurrences.tolist())) == expected
        assert lists.complete.all()


@pytest.mark.parametrize("seed", range(6))
def test_the_matcher_knows_the_same_fusible_occurrences(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    graphs = network_like(rng, 6, 12)
    graphs = with_outputs(graphs, rng.random(graphs.nodes) < 0.1)
    found = 0
    for k in (2, 3, 4):
        for pattern in Plain(graphs).patterns(k, fusible=True):
            listed = list_occurrences(graphs, Pattern.of(pattern.code[0], pattern.edges), fusible=True)
            assert sorted(map(tuple, listed.tolist())) == pattern.occurrences
            found += 1
    assert found >= 3


def test_limits_hold_while_sets_grow() -> None:
    graphs = network_like(np.random.default_rng(5), 60, 16, 3)
    everything = fusible_lists(graphs, 4, Constraints(fusible=True), 10**6)
    assert everything is not None
    for wishes in (
        {"max_in_degree": 1},
        {"max_out_degree": 1},
        {"max_edges": 3},
        {"never": ("type-2",)},
        {"acyclic": True},
    ):
        constraints = Constraints(fusible=True, **wishes)
        some = fusible_lists(graphs, 4, constraints, 10**6)
        expected = everything.where(constraints.may_grow)
        assert some is not None
        assert 0 < len(some) < len(everything)
        assert some.patterns.keys.tolist() == expected.patterns.keys.tolist()
        assert some.occurrences.tolist() == expected.occurrences.tolist()


def test_more_sets_than_asked_for_are_not_listed() -> None:
    inputs = 40
    concat = GraphSet.from_edges(
        node_counts=[inputs + 1],
        node_types=[0] * inputs + [1],
        edge_counts=[inputs],
        edges=[[i, inputs] for i in range(inputs)],
        node_vocabulary=["Relu", "Concat"],
    )
    assert fusible_lists(concat, 5, Constraints(fusible=True), 91_389) is None
    lists = fusible_lists(concat, 5, Constraints(fusible=True), 91_390)  # 40 choose 4
    assert lists is not None
    assert lists.counts.tolist() == [91_390]


def test_patterns_with_few_inputs_are_exact_where_wide_ones_explode() -> None:
    """Chains that end in a concatenation of 16: its subsets do not fit, the patterns along the chains do."""
    inputs, length = 16, 4
    chains = [[i * length + j for j in range(length)] for i in range(inputs)]
    end = inputs * length
    edges = [pair for chain in chains for pair in [*pairwise(chain), (chain[-1], end)]]
    graphs = GraphSet.from_edges(
        node_counts=[end + 1],
        node_types=[node % 3 for node in range(end)] + [3],
        edge_counts=[len(edges)],
        edges=edges,
        node_vocabulary=["Relu", "Neg", "Abs", "Concat"],
    )
    k, constraints = 6, Constraints(fusible=True)
    everything = fusible_lists(graphs, k, constraints, 10**6)
    assert everything is not None
    bounds = Bounds(capacity=4000, list_size=50)
    levels = list(
        beam_search(
            graphs, k, beam=1000, score=lambda lists: lists.counts, constraints=constraints, bounds=bounds
        )
    )
    assert everything.occurrences.shape[0] > bounds.listed
    assert not levels[-1].whole
    found, truth = levels[-1].lists, everything.aligned(levels[-1].lists.patterns)
    assert np.array_equal(found.counts[found.exact], truth.counts[found.exact])
    narrow = everything.where(lambda patterns: inner_edges(patterns).sum(axis=1).max(axis=1) <= 2)
    known = found.aligned(narrow.patterns)
    assert known.exact.all()
    assert np.array_equal(known.counts, narrow.counts)
    assert 0 < len(narrow) < len(found)
    assert not found.exact.all()


def test_a_graph_output_ends_what_can_be_fused() -> None:
    chain = Pattern.of([0, 1, 2], [[0, 1, 0], [0, 0, 1], [0, 0, 0]], ["Abs", "Relu", "Neg"])
    for outputs, expected in ((None, 1), ([False, False, True], 1), ([False, True, True], 0)):
        graphs = abs_relu_neg(outputs)
        assert count_pattern(graphs, chain, fusible=True).occurrences == expected
        lists = fusible_lists(graphs, 3, Constraints(fusible=True), 100)
        assert lists is not None
        assert len(lists) == expected
    pairs = fusible_lists(abs_relu_neg([False, True, True]), 2, Constraints(fusible=True), 100)
    assert pairs is not None
    assert [str(p) for p in pairs.patterns] == ["Abs -> Relu"]


def test_the_end_of_a_graph_can_be_a_cycle() -> None:
    """Nothing consumes the ring: it counts as consumed at one node, like a node that nobody consumes."""
    ring = GraphSet.from_edges(
        node_counts=[4],
        node_types=[0, 0, 0, 1],
        edge_counts=[4],
        edges=[[0, 1], [1, 2], [2, 0], [3, 0]],
        node_vocabulary=["a", "b"],
    )
    sizes = {}
    for k in (1, 2, 3, 4):
        lists = fusible_lists(ring, k, Constraints(fusible=True), 100)
        assert lists is not None
        sizes[k] = lists.occurrences.tolist()
    assert sizes == {1: [[3]], 2: [], 3: [[0, 1, 2]], 4: [[0, 1, 2, 3]]}

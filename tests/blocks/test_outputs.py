"""Blocks with several outputs: convex, never with more than allowed, exact when inlined."""

from dataclasses import replace
from random import Random

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grade
from grade import GraphSet
from grade.blocks.grammar import Grammar, Wiring, make_grammar
from grade.sources import load
from tests.blocks.graphs import acyclic_sets


def assert_convex(grammar: Grammar, outputs: int) -> None:
    """Inlining gives the set back; no way leaves a unit and comes back; units have few outputs, repetitions aside."""
    wiring = grammar.wiring
    types, edges = grammar.inlined()
    np.testing.assert_array_equal(types, wiring.types)
    given_edges = np.stack([wiring.sources, wiring.targets, wiring.labels], axis=1).astype(np.int64)
    np.testing.assert_array_equal(edges, given_edges)
    np.testing.assert_array_equal(np.sort(grammar.order), np.arange(len(wiring.types)))
    between = networkx.DiGraph()
    between.add_nodes_from(range(len(grammar.labels)))
    ends = grammar.unit_of[given_edges[grammar.between][:, :2]]
    between.add_edges_from(map(tuple, ends.tolist()))
    assert networkx.is_directed_acyclic_graph(between)
    given_out = set(wiring.closed.nonzero()[0].tolist()) | set(wiring.sources[grammar.between].tolist())
    given_out |= set(range(len(wiring.types))) - set(wiring.sources.tolist())
    counts = np.bincount(grammar.unit_of[sorted(given_out)], minlength=len(grammar.labels))
    assert (counts[grammar.copies[grammar.labels] == 0] <= outputs).all()


@given(acyclic_sets(), st.integers(2, 4), st.booleans(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=300)
def test_random_sets(graphs: GraphSet, outputs: int, marked: bool, random: Random) -> None:
    if marked:
        chosen = np.array([random.random() < 0.3 for _ in range(graphs.nodes)], np.bool_)
        graphs = replace(graphs, graph_outputs=chosen)
    assert_convex(make_grammar(Wiring.of(graphs, outputs=outputs), outputs=outputs), outputs)


@pytest.mark.parametrize("outputs", [2, 3])
def test_real_models(outputs: int) -> None:
    graphs = load("zoo-mini")
    one = grade.blocks(graphs)
    several = grade.blocks(graphs, outputs=outputs)
    assert_convex(several.grammar, outputs)
    assert several.units <= one.units
    assert several.unreached == []


def shared_keys(layers: int, split: bool) -> GraphSet:
    """Layers of norm, key and attention; a collector at the end reads the keys of all of them, or, where they are
    split, two values of each.
    """
    types, edges, keys = [0], [], []
    for _ in range(layers):
        last, at = len(types) - 1, len(types)
        types += [1, 2, 3, 4]  # norm, key, value, attention
        edges += [(last, at), (at, at + 1), (at, at + 2), (at + 1, at + 3), (at + 2, at + 3), (last, at + 3)]
        keys += [at + 1, *([at + 2] if split else [])]
    collector = len(types)
    types.append(5)
    edges += [(key, collector) for key in keys]
    return GraphSet.from_edges(
        node_counts=[len(types)],
        node_types=types,
        edge_counts=[len(edges)],
        edges=edges,
        node_vocabulary=["image", "norm", "key", "value", "attention", "collect"],
    )


@pytest.mark.parametrize(("split", "outputs"), [(False, 2), (True, 3)])
def test_layers_whose_values_are_read_elsewhere(split: bool, outputs: int) -> None:
    graphs = shared_keys(6, split)
    for few in range(1, outputs):
        found = grade.blocks(graphs, outputs=few)
        assert max((block.nodes for block in found), default=1) < 4
    whole = grade.blocks(graphs, outputs=outputs)
    assert_convex(whole.grammar, outputs)
    row = [(unit.copies, whole.name_of(unit.base)) for unit in whole.outline(0)]
    assert [copies for copies, _ in row] == [1, 6, 1]
    assert whole[row[1][1]].nodes == 4


def test_a_way_back_is_no_part_of_a_block() -> None:
    """a -> b -> c and a -> c, where b is like nothing else: a and c are no block, since b would be a way back."""
    edges = [(3 * i + j, 3 * i + k) for i in range(4) for j, k in ((0, 1), (1, 2), (0, 2))]
    kinds = [kind for i in range(4) for kind in (0, 2 + i, 1)]
    graphs = GraphSet.from_edges(
        node_counts=[3] * 4,
        node_types=kinds,
        edge_counts=[3] * 4,
        edges=[(source % 3, target % 3) for source, target in edges],
        node_vocabulary=["a", "c", "b0", "b1", "b2", "b3"],
    )
    assert len(grade.blocks(graphs, outputs=3)) == 0

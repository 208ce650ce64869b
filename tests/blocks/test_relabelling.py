"""The order in which nodes and graphs are given changes nothing."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grade
from grade import GraphSet
from grade.blocks import Blocks
from grade.blocks.grammar import Wiring, isomorphism_classes
from grade.sources import load
from tests.blocks.graphs import acyclic_sets, shuffled, stacks


def assert_same_blocks(one: Blocks, other: Blocks) -> None:
    """Units by model, and blocks up to isomorphism with their counts."""
    assert {m.name: m.units for m in one.models} == {m.name: m.units for m in other.models}
    assert one.grammar.wiring.label_names == other.grammar.wiring.label_names
    structures = [found.grammar.structure(block.symbol) for found in (one, other) for block in found]
    both = GraphSet.from_edges(
        node_counts=[len(types) for types, _ in structures],
        node_types=[int(t) for types, _ in structures for t in types],
        edge_counts=[len(edges) for _, edges in structures],
        edges=[edge[:2] for _, edges in structures for edge in edges.tolist()],
        edge_types=[edge[2] + 1 for _, edges in structures for edge in edges.tolist()],
        node_vocabulary=one.grammar.wiring.type_names,
        edge_vocabulary=["none", *map(repr, one.grammar.wiring.label_names)],
    )
    classes = isomorphism_classes(Wiring.of(both)).tolist()
    facts = [(block.count, block.graphs) for found in (one, other) for block in found]
    table = list(zip(classes, facts, strict=True))
    assert Counter(table[: len(one)]) == Counter(table[len(one) :])


@given(acyclic_sets(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=300)
def test_random_sets(graphs: GraphSet, random: Random) -> None:
    assert_same_blocks(grade.blocks(graphs), grade.blocks(shuffled(graphs, random)))


@given(stacks(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=200)
def test_stacks(stack: tuple[GraphSet, int, int], random: Random) -> None:
    graphs, copies, size = stack
    found = grade.blocks(shuffled(graphs, random))
    assert_same_blocks(grade.blocks(graphs), found)
    assert max(unit.copies * found.grammar.sizes[unit.base] for unit in found.outline(0)) == copies * size


@pytest.mark.parametrize("seed", range(3))
def test_real_models(seed: int) -> None:
    graphs = load("zoo-mini")
    assert_same_blocks(grade.blocks(graphs), grade.blocks(shuffled(graphs, Random(seed))))

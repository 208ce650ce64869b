"""The grammar against the set that it was made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grade
from grade import GraphSet, InputError
from grade.blocks.grammar import Grammar, Wiring, make_grammar
from grade.sources import load
from tests.blocks.graphs import acyclic_sets, stacks


def assert_exact(grammar: Grammar) -> None:
    """Inlining gives the set back, and units are what they say."""
    wiring = grammar.wiring
    types, edges = grammar.inlined()
    given = np.stack([wiring.sources, wiring.targets, wiring.labels], axis=1).astype(np.int64)
    np.testing.assert_array_equal(types, wiring.types)
    np.testing.assert_array_equal(edges, given)
    np.testing.assert_array_equal(np.sort(grammar.order), np.arange(len(wiring.types)))
    # Edges leave a unit from its root only, and never one whose output is needed elsewhere.
    roots = grammar.order[grammar.offsets[:-1] + grammar.roots[grammar.labels]]
    assert set(wiring.sources[grammar.between].tolist()) <= set(roots.tolist())
    assert set(np.flatnonzero(wiring.closed).tolist()) <= set(roots.tolist())


@given(acyclic_sets(), st.integers(2, 4))
@settings(deadline=None, max_examples=300)
def test_inlining_gives_the_input_back(graphs: GraphSet, min_count: int) -> None:
    assert_exact(make_grammar(Wiring.of(graphs), min_count=min_count))


@pytest.mark.parametrize("name", ["zoo-mini", "zoo", "darts:1", "nas-bench-201"])
def test_inlining_gives_real_sets_back(name: str) -> None:
    assert_exact(make_grammar(Wiring.of(load(name)), min_count=5))


@given(stacks())
@settings(deadline=None, max_examples=300)
def test_a_stack_of_copies_is_one_repetition(stack: tuple[GraphSet, int, int]) -> None:
    graphs, copies, size = stack
    grammar = make_grammar(Wiring.of(graphs))
    assert_exact(grammar)
    repetitions = grammar.labels[grammar.copies[grammar.labels] > 0]
    assert len(repetitions) == 1, grammar.sizes[grammar.labels]
    times = int(grammar.copies[repetitions[0]])
    assert times * grammar.sizes[grammar.first[repetitions[0]]] == copies * size
    assert times % copies == 0  # more than the copies only where the block is a stack itself


def test_chains_are_one_unit_however_rare() -> None:
    """Conv and Relu five times, of which three follow each other in one graph only."""
    graphs = GraphSet.from_edges(
        node_counts=[6, 2, 2],
        node_types=[0, 1] * 5,
        edge_counts=[5, 1, 1],
        edges=[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 1], [0, 1]],
        node_vocabulary=["Conv", "Relu"],
    )
    grammar = make_grammar(Wiring.of(graphs), min_count=5)
    assert_exact(grammar)
    assert grammar.copies[grammar.labels].tolist() == [3, 0, 0]


@given(acyclic_sets(), st.integers(3, 5))
@settings(deadline=None, max_examples=100)
def test_what_repeats_in_a_chain_is_a_block_or_a_node(graphs: GraphSet, min_count: int) -> None:
    found = grade.blocks(graphs, min_count=min_count)
    grammar = found.grammar
    for graph in range(len(graphs)):
        for unit in found.outline(graph):
            base = unit.base
            while grammar.copies[base]:  # a repetition of repetitions
                base = int(grammar.first[base])
            assert base in found.by_symbol or base < grammar.types


def test_a_cycle_is_refused() -> None:
    graphs = GraphSet.from_edges(
        node_counts=[1, 2],
        node_types=[0, 0, 0],
        edge_counts=[0, 2],
        edges=[[0, 1], [1, 0]],
        node_vocabulary=["a"],
        graph_names=["fine", "round"],
    )
    with pytest.raises(InputError, match="'round' has a directed cycle"):
        make_grammar(Wiring.of(graphs))

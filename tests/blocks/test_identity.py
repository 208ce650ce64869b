"""Which regions are one block: against networkx, and on pairs that colours cannot tell apart."""

import itertools
from dataclasses import replace
from random import Random

import networkx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import grade
from grade import GraphSet
from grade.blocks.grammar import Wiring, isomorphism_classes, make_grammar
from tests.blocks.graphs import acyclic_sets


def as_networkx(graphs: GraphSet, graph: int) -> networkx.DiGraph:
    begin, end = graphs.node_offsets[graph], graphs.node_offsets[graph + 1]
    made = networkx.DiGraph()
    for node in range(end - begin):
        made.add_node(node, kind=int(graphs.node_types[begin + node]))
    for (source, target), kind in zip(
        graphs.edge_list(graph).tolist(), graphs.edge_types_of(graph).tolist(), strict=True
    ):
        made.add_edge(source, target, kind=kind)
    return made


def same(one: networkx.DiGraph, other: networkx.DiGraph) -> bool:
    kind = networkx.algorithms.isomorphism
    matcher = kind.DiGraphMatcher(
        one, other, kind.categorical_node_match("kind", -1), kind.categorical_edge_match("kind", -1)
    )
    return bool(matcher.is_isomorphic())


@given(acyclic_sets(max_graphs=4, max_nodes=6))
@settings(deadline=None, max_examples=200)
def test_classes_are_those_of_networkx(graphs: GraphSet) -> None:
    classes = isomorphism_classes(Wiring.of(graphs))
    made = [as_networkx(graphs, graph) for graph in range(len(graphs))]
    for i, j in itertools.combinations(range(len(graphs)), 2):
        assert (classes[i] == classes[j]) == same(made[i], made[j])


@given(st.integers(2, 40), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_shuffled_graphs_are_one_class(nodes: int, seed: int) -> None:
    """Regions past the 16 nodes of a pattern, with few types and many look-alikes."""
    rng = np.random.default_rng(seed)
    types = rng.integers(0, 2, nodes)
    edges = [(i, j) for j in range(nodes) for i in range(j) if rng.random() < 2 / nodes]
    order = rng.permutation(nodes)
    graphs = GraphSet.from_edges(
        node_counts=[nodes, nodes],
        node_types=[*types, *types[np.argsort(order)]],
        edge_counts=[len(edges)] * 2,
        edges=[*edges, *((order[i], order[j]) for i, j in edges)],
        node_vocabulary=["a", "b"],
    )
    one, other = isomorphism_classes(Wiring.of(graphs)).tolist()
    assert one == other


def test_a_pair_that_no_depth_of_colours_tells_apart() -> None:
    """Six Relus read six Convs in one ring of twelve, or in two rings of six: all colours are equal."""
    ring = [(i, 6 + j % 6) for i in range(6) for j in (i, i + 1)]
    two = [(3 * half + i, 6 + 3 * half + j % 3) for half in (0, 1) for i in range(3) for j in (i, i + 1)]
    graphs = GraphSet.from_edges(
        node_counts=[12, 12],
        node_types=([0] * 6 + [1] * 6) * 2,
        edge_counts=[12, 12],
        edges=[*ring, *two],
        node_vocabulary=["Conv", "Relu"],
    )
    one, other = isomorphism_classes(Wiring.of(graphs)).tolist()
    assert one != other


def operands(swapped: bool, kind: str) -> GraphSet:
    """Relu and Tanh of one input meet in an operator, the one or the other first."""
    return GraphSet.from_edges(
        node_counts=[3],
        node_types=[0, 1, 2],
        edge_counts=[2],
        edges=[[0, 2], [1, 2]],
        node_vocabulary=["Relu", "Tanh", kind],
        operands=[2, 1] if swapped else [1, 2],
        operand_vocabulary=["", "0", "1"],
    )


def test_operands_count_where_they_cannot_change_places() -> None:
    for kind, ignored, blocks in (("Sub", False, 0), ("Sub", True, 1), ("Add", False, 1)):
        found = grade.blocks([operands(False, kind), operands(True, kind)], ignore_operands=ignored)
        whole = [block for block in found if block.nodes == 3 and block.count == 2]
        assert len(whole) == blocks, (kind, ignored)


def test_graph_outputs_stay_roots() -> None:
    """A value that is needed outside is not hidden in a block."""
    chain = {
        "node_counts": [3, 3],
        "node_types": [0, 1, 2] * 2,
        "edge_counts": [2, 2],
        "edges": [[0, 1], [1, 2]] * 2,
        "node_vocabulary": ["Conv", "Relu", "Pool"],
    }
    free = grade.blocks(GraphSet.from_edges(**chain))
    needed = grade.blocks(GraphSet.from_edges(**chain, outputs=[False, True, True] * 2))
    assert max(block.nodes for block in free) == 3
    assert all(block.nodes < 3 for block in needed)


def cached(layers: int) -> GraphSet:
    """Layers that each hand on a value and give another one, made on the way, to the outside."""
    edges = [(3 * i + j, 3 * i + j + 1) for i in range(layers) for j in range(3)][:-1]
    return GraphSet.from_edges(
        node_counts=[3 * layers],
        node_types=[0, 1, 2] * layers,
        edge_counts=[len(edges)],
        edges=edges,
        outputs=[False, True, False] * (layers - 1) + [False, True, True],
        node_vocabulary=["Norm", "Key", "Attention"],
    )


def test_blocks_with_several_outputs() -> None:
    """A cache of keys splits every layer, unless blocks may have two outputs: then they are one block each."""
    split = grade.blocks(cached(5))
    for block in split:  # a key is the last of its block
        types = [split.grammar.wiring.type_names[t] for t in split.grammar.structure(block.symbol)[0]]
        assert "Key" not in types or types[split.grammar.roots[block.symbol]] == "Key"
    whole = grade.blocks(cached(5), outputs=2)
    assert [(unit.copies, whole[whole.name_of(unit.base)].nodes) for unit in whole.outline(0)] == [(5, 3)]


@given(acyclic_sets(), st.integers(1, 3), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=100)
def test_no_block_has_more_outputs(graphs: GraphSet, outputs: int, random: Random) -> None:
    marked = replace(
        graphs, graph_outputs=np.array([random.random() < 0.4 for _ in range(graphs.nodes)], np.bool_)
    )
    grammar = make_grammar(Wiring.of(marked, outputs=outputs), outputs=outputs)
    readers = [set(graphs.successors(node).tolist()) for node in range(graphs.nodes)]
    for unit, label in enumerate(grammar.labels.tolist()):
        nodes = set(grammar.order[grammar.offsets[unit] : grammar.offsets[unit + 1]].tolist())
        out = {n for n in nodes if readers[n] - nodes or marked.outputs[n] or not readers[n]}
        if grammar.copies[label] == 0:
            assert len(out) <= outputs

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grade import GraphSet
from grade.graphs import digests
from grade.graphs.digests import structure_digests
from grade.sources import load
from tests.graph_sets import graph_sets
from tests.reference import nauty_key


def rebuilt(graphs: GraphSet, graph: int, order: list[int], words: list[str]) -> GraphSet:
    """One graph with its nodes in another order and its types under other numbers."""
    place = np.argsort(order)
    begin, end = graphs.node_offsets[graph], graphs.node_offsets[graph + 1]
    types = graphs.node_types[begin:end]
    return GraphSet.from_edges(
        node_counts=[len(order)],
        node_types=[words.index(graphs.node_vocabulary[types[node]]) for node in order],
        edge_counts=[len(graphs.edge_list(graph))],
        edges=[[place[s], place[t]] for s, t in graphs.edge_list(graph).tolist()],
        edge_types=graphs.edge_types_of(graph),
        node_vocabulary=words,
        edge_vocabulary=graphs.edge_vocabulary,
    )


@given(graph_sets(max_graphs=6, max_nodes=4))
def test_equal_digests_mean_isomorphic_graphs(graphs: GraphSet) -> None:
    keys: dict[bytes, object] = {}
    for graph, digest in enumerate(structure_digests(graphs)):
        begin, end = graphs.node_offsets[graph], graphs.node_offsets[graph + 1]
        matrix = np.zeros((end - begin, end - begin), np.uint8)
        for (s, t), kind in zip(graphs.edge_list(graph), graphs.edge_types_of(graph), strict=True):
            matrix[s, t] = kind
        key = nauty_key(graphs.node_types[begin:end], matrix) if end > begin else None
        assert keys.setdefault(digest, key) == key


@given(graph_sets(max_graphs=1), st.randoms())
def test_renumbering_changes_nothing_where_all_nodes_differ(
    graphs: GraphSet, rng: "np.random.Generator"
) -> None:
    """Here every node is told apart by giving each a type of its own."""
    count = int(graphs.node_counts[0])
    own = GraphSet.from_edges(
        node_counts=[count],
        node_types=range(count),
        edge_counts=[len(graphs.edge_list(0))],
        edges=graphs.edge_list(0),
        edge_types=graphs.edge_types_of(0),
        node_vocabulary=[f"type {i}" for i in range(count)],
        edge_vocabulary=graphs.edge_vocabulary,
    )
    order = list(range(count))
    rng.shuffle(order)
    words = [*reversed(own.node_vocabulary), "another"]
    assert structure_digests(rebuilt(own, 0, order, words)) == structure_digests(own)


def test_the_same_models_listed_in_another_order_are_recognised() -> None:
    graphs = load("zoo-mini")
    digests = structure_digests(graphs)
    assert len(set(digests)) == len(graphs)
    recognised = 0
    for graph in range(len(graphs)):
        order = np.random.default_rng(0).permutation(graphs.node_counts[graph]).tolist()
        recognised += structure_digests(rebuilt(graphs, graph, order, list(graphs.node_vocabulary))) == [
            digests[graph]
        ]
    assert recognised >= 6  # those whose operators refinement tells apart


def test_a_change_of_one_edge_or_type_is_seen() -> None:
    graphs = load("zoo-mini").subset([2])
    words, edges, types = list(graphs.node_vocabulary), graphs.edge_list(0), graphs.node_types.copy()
    fixed = {"node_counts": [graphs.nodes], "edge_counts": [len(edges)], "node_vocabulary": words}
    seen = set(structure_digests(graphs))
    assert structure_digests(GraphSet.from_edges(**fixed, node_types=types, edges=edges)) == list(seen)
    for node in range(0, graphs.nodes, 10):
        changed = types.copy()
        changed[node] = (changed[node] + 1) % len(words)
        seen.update(structure_digests(GraphSet.from_edges(**fixed, node_types=changed, edges=edges)))
        turned = edges.copy()
        turned[node] = turned[node][::-1]
        seen.update(structure_digests(GraphSet.from_edges(**fixed, node_types=types, edges=turned)))
    assert len(seen) == 1 + 2 * len(range(0, graphs.nodes, 10))


def test_digests_do_not_depend_on_the_other_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = load("zoo-mini")
    alone = [structure_digests(graphs.subset([graph]))[0] for graph in range(len(graphs))]
    assert structure_digests(graphs) == alone
    monkeypatch.setattr(digests, "PIECE", 500)
    assert structure_digests(graphs) == alone


def test_the_cells_of_nas_bench_101_are_all_different() -> None:
    graphs = load("nas-bench-101").subset(np.arange(0, 423_624, 20))
    digests = structure_digests(graphs)
    assert len(set(digests)) == len(graphs)

import sys
from dataclasses import replace
from pathlib import Path

import networkx
import pytest
from hypothesis import given

from grade import GraphSet, InputError
from grade.graphs.origins import file_digest
from grade.sources import from_networkx, load, to_networkx
from tests.graph_sets import assert_equal, graph_sets


@given(graph_sets())
def test_there_and_back(graphs: GraphSet) -> None:
    members = [to_networkx(graphs, graph) for graph in range(len(graphs))]
    back = from_networkx(
        members, node_vocabulary=graphs.node_vocabulary, edge_vocabulary=graphs.edge_vocabulary
    )
    if graphs.node_names is None:  # networkx nodes are never without a name
        assert list(back.node_names or []) == [str(node) for member in members for node in member]
        back = replace(back, node_names=None)
    assert_equal(back, graphs)


def test_the_files_of_graphs_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    path.write_text('{"nodes": ["conv"], "edges": []}\n' * 2)
    graphs = load(path)
    zoo = to_networkx(load("zoo-mini"), 0)
    back = from_networkx([to_networkx(graphs, 1), zoo])
    assert back.origins is not None
    assert [back.origins.file(0), back.origins.file(1)] == [(str(path), file_digest(path)), None]


def test_types_come_from_the_attributes_that_are_named() -> None:
    graph = networkx.DiGraph(name="net")
    graph.add_node("a", op="Conv")
    graph.add_node("b", op="Add")
    graph.add_edge("a", "b", kind="skip")
    graph.add_edge("b", "b")
    graphs = from_networkx([graph], node_type="op", edge_type="kind")
    assert graphs.node_vocabulary == ("Add", "Conv")
    assert graphs.edge_vocabulary == ("none", "edge", "skip")
    assert list(graphs.node_names or []) == ["a", "b"]
    assert graphs.edge_list(0).tolist() == [[0, 1], [1, 1]]
    assert graphs.edge_types_of(0).tolist() == [2, 1]


def test_a_mapping_names_the_graphs() -> None:
    graph = networkx.DiGraph()
    graph.add_node(0, type="conv")
    assert list(from_networkx({"one": graph, "two": graph}).graph_names) == ["one", "two"]
    assert list(from_networkx([graph]).graph_names) == ["graph-0"]


def test_wrong_graphs_are_refused() -> None:
    for wrong in (networkx.Graph(name="net"), networkx.MultiDiGraph(name="net")):
        with pytest.raises(InputError, match=r"graph 'net' is not a networkx\.DiGraph"):
            from_networkx([wrong])
    bare = networkx.DiGraph(name="net")
    bare.add_node("a")
    with pytest.raises(InputError, match="node 'a' of graph 'net' has no attribute 'type'"):
        from_networkx([bare])
    bare.nodes["a"]["type"] = "pool"
    with pytest.raises(InputError, match="the node type 'pool' is not in the vocabulary"):
        from_networkx([bare], node_vocabulary=["conv"])


def test_without_networkx_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = networkx.DiGraph()
    graph.add_node(0, type="conv")
    graphs = from_networkx([graph])
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match=r"pip install grade-motifs\[networkx\]"):
        to_networkx(graphs, 0)


def test_a_graph_number_out_of_range_is_refused() -> None:
    graphs = from_networkx([networkx.DiGraph()])
    with pytest.raises(InputError, match="graph 1 is outside 0 to 0"):
        to_networkx(graphs, 1)

from types import SimpleNamespace
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given

from grade import GraphSet, InputError
from grade.sources import as_graphs, from_pyg
from tests.graph_sets import assert_equal, raw_graph_sets


@given(raw=raw_graph_sets())
def test_data_of_all_shapes_gives_the_same_set(raw: dict[str, Any]) -> None:
    unknown = dict.fromkeys(("graph_names", "node_names", "operands", "outputs", "node_places"))
    graphs = GraphSet.from_edges(**{**raw, **unknown})
    bounds = graphs.node_offsets
    for shape in ("numbers", "column", "one-hot", "tensor"):
        data = []
        for graph in range(len(graphs)):
            x: Any = graphs.node_types[bounds[graph] : bounds[graph + 1]].astype(int)
            edge_attr: Any = graphs.edge_types_of(graph).astype(int) - 1
            edge_index: Any = graphs.edge_list(graph).T
            if shape == "column":
                x = x[:, None]
            elif shape == "one-hot":
                x, edge_attr = np.eye(3)[x], np.eye(2)[edge_attr]
            elif shape == "tensor":
                x, edge_index = torch.tensor(x), torch.tensor(edge_index)
            data.append(SimpleNamespace(x=x, edge_index=edge_index, edge_attr=edge_attr))
        made = from_pyg(data, node_vocabulary=["input", "conv", "pool"], edge_vocabulary=["edge", "skip"])
        assert_equal(made, graphs)


def test_what_the_library_holds() -> None:
    library = pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")
    data = library.data
    edges = torch.tensor([[0, 1, 2], [1, 2, 3]])
    one_hot = torch.eye(3)[[0, 1, 2, 1]]
    first = data.Data(x=one_hot, edge_index=edges, edge_attr=torch.tensor([[0], [1], [0]]))
    second = data.Data(x=torch.tensor([[0], [1]]), edge_index=torch.tensor([[0], [1]]))
    both = from_pyg([first, second])
    assert both.node_counts.tolist() == [4, 2]
    assert both.node_types.tolist() == [0, 1, 2, 1, 0, 1]
    assert both.edge_types_of(0).tolist() == [1, 2, 1]
    # one graph, a batch, and a list with a batch in it
    assert_equal(from_pyg(first), both.subset([0]))
    batch = data.Batch.from_data_list([first, first])
    assert_equal(from_pyg(batch), from_pyg([first, first]))
    assert_equal(from_pyg([batch, first]), from_pyg([first] * 3))
    assert_equal(as_graphs(first), from_pyg(first))
    digraph = networkx.DiGraph()
    digraph.add_node("a", op=1)
    digraph.add_node("b", op=2)
    digraph.add_edge("a", "b", kind=1)
    converted = library.utils.from_networkx(digraph)
    assert from_pyg(converted, node_type="op", edge_type="kind").node_types.tolist() == [1, 2]
    dataset = library.datasets.FakeDataset(num_graphs=2)
    with pytest.raises(InputError, match="'x' holds neither whole numbers nor one-hot rows"):
        from_pyg(dataset)
    for nothing in (data.Data(), data.HeteroData(), data.Data(edge_index=edges)):
        with pytest.raises(InputError, match="has no edge_index or no 'x'"):
            from_pyg(nothing)


def test_types_are_named_by_their_numbers_where_nobody_names_them() -> None:
    data = SimpleNamespace(kind=np.array([0, 2]), edge_index=np.array([[0], [1]]), edge_attr=None)
    graphs = from_pyg([data], node_type="kind")
    assert (graphs.node_vocabulary, graphs.edge_vocabulary) == (("0", "1", "2"), ("none", "edge"))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"edge_index": np.zeros((2, 0))}, "graph 0 has no edge_index or no 'x'"),
        ({"edge_index": np.zeros((3, 2)), "x": np.zeros(2)}, r"must be \[2, edges\]"),
        (
            {"edge_index": np.zeros((2, 0)), "x": np.array([[0.5, 0.5]])},
            "neither whole numbers nor one-hot rows",
        ),
        ({"edge_index": np.array([[0], [5]]), "x": np.zeros(2)}, r"has an edge \[0, 5\]"),
        (
            {"edge_index": np.zeros((2, 1)), "x": np.zeros(1), "edge_attr": np.zeros(2)},
            "1 edges and 2 edge types",
        ),
    ],
)
def test_wrong_data_is_refused(data: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        from_pyg([SimpleNamespace(**data)])

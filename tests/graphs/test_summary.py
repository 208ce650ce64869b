import networkx
import pytest
from hypothesis import given

from grade import GraphSet
from grade.graphs.summary import summarize
from grade.sources import load, to_networkx
from tests.graph_sets import graph_sets


@given(graph_sets())
def test_figures_are_those_of_networkx(graphs: GraphSet) -> None:
    members = [to_networkx(graphs, graph) for graph in range(len(graphs))]
    summary = summarize(graphs)
    assert summary.graphs == len(members)
    assert summary.nodes == sum(len(member) for member in members)
    assert summary.edges == sum(member.number_of_edges() for member in members)
    assert summary.cyclic_graphs == sum(not networkx.is_directed_acyclic_graph(m) for m in members)
    assert summary.self_loops == sum(networkx.number_of_selfloops(member) for member in members)
    degrees = [degree for member in members for _, degree in member.degree]
    assert summary.largest_degree == max(degrees, default=0)
    assert summary.mean_degree == pytest.approx(sum(degrees) / max(len(degrees), 1))
    assert summary.largest_in_degree == max((d for m in members for _, d in m.in_degree), default=0)
    assert summary.largest_out_degree == max((d for m in members for _, d in m.out_degree), default=0)
    for name, count in summary.degrees.items():
        low, _, high = name.partition("-")
        assert count == sum(int(low) <= degree <= int(high or low) for degree in degrees)
    assert sum(summary.degrees.values()) == summary.nodes
    assert list(summary.hubs.values()) == sorted((d for d in degrees if d > 2), reverse=True)[:5]
    parts = [networkx.number_weakly_connected_components(member) for member in members]
    assert (summary.components, summary.connected_graphs) == (sum(parts), parts.count(1))
    for member in members:
        member.remove_edges_from(list(networkx.selfloop_edges(member)))
    assert summary.isolated_nodes == sum(networkx.number_of_isolates(member) for member in members)


def test_types_are_counted_by_name() -> None:
    graphs = GraphSet.from_edges(
        node_counts=[4, 1],
        node_types=[1, 1, 2, 1, 2],
        edge_counts=[2, 0],
        edges=[[0, 1], [1, 2]],
        edge_types=[2, 1],
        node_vocabulary=["unused", "conv", "pool"],
        edge_vocabulary=["none", "edge", "skip"],
        graph_names=["big", "small"],
    )
    summary = summarize(graphs)
    assert list(summary.node_types.items()) == [("conv", 3), ("pool", 2)]
    assert summary.edge_types == {"edge": 1, "skip": 1}
    assert (summary.largest_graph, summary.largest_graph_name, summary.mean_graph) == (4, "big", 2.5)


def test_hubs_are_named() -> None:
    graphs = GraphSet.from_edges(
        node_counts=[1, 5],
        node_types=[0] * 6,
        edge_counts=[0, 4],
        edges=[[0, 1], [0, 2], [0, 3], [4, 0]],
        node_vocabulary=["add"],
        graph_names=["small", "star"],
        node_names=["x", "centre", "", "", "", ""],
    )
    assert summarize(graphs).hubs == {"add centre (node 0) in star": 4}


def test_the_zoo() -> None:
    summary = summarize(load("zoo"))
    assert (summary.components, summary.connected_graphs) == (231, 231)
    assert summary.duplicate_graphs == 0
    assert len(summary.node_types) == 74
    assert sum(summary.node_types.values()) == 209_879
    assert summary.largest_degree == 94
    assert (summary.largest_graph, summary.cyclic_graphs) == (20_769, 0)
    assert summary.mean_graph == pytest.approx(209_879 / 231)

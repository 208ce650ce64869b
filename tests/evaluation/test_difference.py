import networkx
import pytest
from hypothesis import given

from grade import GraphSet
from grade.evaluation.difference import compare
from grade.sampling.census import take_census
from grade.sources import from_networkx, load
from tests.graph_sets import graph_sets


def chain(*types: str) -> networkx.DiGraph:
    graph = networkx.DiGraph()
    graph.add_nodes_from((i, {"type": kind}) for i, kind in enumerate(types))
    networkx.add_path(graph, range(len(types)))
    return graph


def test_types_are_compared_by_name_whatever_their_numbers() -> None:
    one = from_networkx([chain("conv", "relu", "conv", "relu")], node_vocabulary=["relu", "conv"])
    other = from_networkx([chain("conv", "relu", "add")], node_vocabulary=["conv", "unused", "relu", "add"])
    found = compare(one, other, k=2)
    assert found.types_in_common == 2
    assert found.type_distance == pytest.approx(1 / 3)
    assert {shift.name: shift.counts for shift in found.type_shifts} == {
        "conv": (2, 1),
        "relu": (2, 1),
        "add": (0, 1),
    }
    assert {shift.name: shift.counts for shift in found.pattern_shifts} == {
        "conv -> relu": (2, 1),
        "relu -> conv": (1, 0),
        "relu -> add": (0, 1),
    }
    assert (found.patterns, found.patterns_in_common) == ((2, 2), 1)
    assert found.pattern_distance == pytest.approx(1 / 2)
    assert [abs(shift.change) for shift in found.pattern_shifts] == pytest.approx([1 / 2, 1 / 3, 1 / 6])


@given(graph_sets(max_graphs=2, max_nodes=5))
def test_a_set_does_not_differ_from_itself_under_other_numbers(graphs: GraphSet) -> None:
    if graphs.largest < 2:
        return
    words = tuple(reversed(graphs.node_vocabulary))
    renumbered = GraphSet.from_edges(
        node_counts=graphs.node_counts,
        node_types=len(words) - 1 - graphs.node_types.astype(int),
        edge_counts=graphs.edge_counts,
        edges=[edge for g in range(len(graphs)) for edge in graphs.edge_list(g).tolist()],
        edge_types=graphs.out_types,
        node_vocabulary=words,
        edge_vocabulary=graphs.edge_vocabulary,
    )
    found = compare(graphs, renumbered, k=2)
    assert found.type_distance == found.pattern_distance == 0
    assert found.patterns_in_common == found.patterns[0] == found.patterns[1]


def test_counts_are_those_of_the_census() -> None:
    zoo = load("zoo-mini")
    one, other = zoo.subset([2, 3]), zoo.subset([6])
    found = compare(one, other, k=4)
    for graphs, side in ((one, 0), (other, 1)):
        census = take_census(graphs, 4)
        expected = {str(pattern): count for pattern, count in census.top(len(census.patterns))}
        assert {s.name: s.counts[side] for s in found.pattern_shifts if s.counts[side]} == expected

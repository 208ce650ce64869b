from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grade import GraphSet, InputError
from grade.graphs.concatenation import join, operand_vocabulary, places_of
from grade.graphs.operands import MAX_ARCS, MAX_WORDS, arcs_of, is_operand_word, operand_word
from grade.sources import to_networkx
from tests.graph_sets import assert_equal, graph_sets, raw_graph_sets


def two_graphs(**changes: Any) -> GraphSet:
    arguments: dict[str, Any] = {
        "node_counts": [3, 2],
        "node_types": [0, 1, 1, 0, 1],
        "edge_counts": [2, 1],
        "edges": [[0, 1], [1, 2], [0, 1]],
        "node_vocabulary": ["input", "conv"],
        "graph_names": ["first", "second"],
        "origin": "test.npz",
    }
    return GraphSet.from_edges(**{**arguments, **changes})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"node_types": [0, 1, 1, 0, 2]}, "graph 'second' has a node of type 2"),
        ({"node_types": [0, -1, 1, 0, 1]}, "graph 'first' has a node of type -1"),
        (
            {"edges": [[0, 1], [1, 2], [0, 2]]},
            "graph 'second' has an edge [0, 2], but its nodes are numbered",
        ),
        ({"edges": [[0, 1], [1, -1], [0, 1]]}, "graph 'first' has an edge [1, -1]"),
        ({"edges": [[0, 1], [0, 1], [0, 1]]}, "graph 'first' has the edge [0, 1] twice"),
        ({"edge_types": [1, 1, 2]}, "graph 'second' has an edge of type 2"),
        ({"edge_types": [0, 1, 1]}, "graph 'first' has an edge of type 0"),
    ],
)
def test_what_is_wrong_with_a_graph_is_said_with_its_name(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as error:
        two_graphs(**changes)
    assert sentence in str(error.value)
    assert str(error.value).startswith("test.npz: ")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"node_types": [0, 1, 1, 0]}, "the graphs have 5 nodes but 4 node types were given"),
        ({"edges": [[0, 1], [1, 2]]}, "the graphs have 3 edges but 2 edges"),
        ({"edge_types": [1, 1]}, "2 edge types were given"),
        ({"edge_counts": [2, 1, 0]}, "2 node counts, 3 edge counts and 2 graph names"),
        ({"graph_names": ["first"]}, "1 graph names"),
        ({"node_names": ["a"]}, "5 nodes but 1 node names"),
        ({"node_counts": [6, -1]}, "negative"),
        ({"node_vocabulary": ["conv", "conv"]}, "the node vocabulary has a word twice"),
        ({"edge_vocabulary": []}, "the edge vocabulary has 0 entries"),
        ({"node_types": [0, 1, 1, 0, 0.5]}, "node_types must be whole numbers"),
        ({"node_types": ["a", "b", "c", "d", "e"]}, "node_types must be whole numbers"),
        ({"outputs": [True]}, "outputs must be a list of 5"),
        ({"outputs": [0, 1, 0, 1, 0]}, "outputs must be true or false"),
        ({"node_places": [0, 1, 2, -1, 0]}, "node_places must be from 0"),
        ({"operands": [[0], [0], [0]]}, "operands must be a list of 3"),
        ({"operands": [0, 1, 0]}, "operands must be from 0 to 0"),
        ({"operands": [0, 1, 0], "operand_vocabulary": ["0", "1"]}, "must start with ''"),
        ({"operands": [0, 1, 0], "operand_vocabulary": ["", "x"]}, "'x' names no operands"),
        (
            {"operands": [0, 1, 0], "operand_vocabulary": ["", "0", "0"]},
            "the operand vocabulary has a word twice",
        ),
    ],
)
def test_what_is_wrong_with_the_set_is_said(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as error:
        two_graphs(**changes)
    assert sentence in str(error.value)


def test_cycles_loops_edge_types_isolated_nodes_and_empty_graphs_are_legal() -> None:
    graphs = GraphSet.from_edges(
        node_counts=[0, 3, 1],
        node_types=[0, 0, 0, 0],
        edge_counts=[0, 3, 0],
        edges=[[1, 0], [0, 1], [0, 0]],
        edge_types=[2, 1, 1],
        node_vocabulary=["conv"],
        edge_vocabulary=["none", "edge", "skip"],
    )
    assert graphs.node_counts.tolist() == [0, 3, 1]
    assert graphs.edge_counts.tolist() == [0, 3, 0]
    assert graphs.edge_list(1).tolist() == [[0, 0], [0, 1], [1, 0]]
    assert graphs.edge_types_of(1).tolist() == [1, 1, 2]
    assert graphs.successors(2).tolist() == []
    assert list(graphs.graph_names) == ["graph-0", "graph-1", "graph-2"]


def test_an_empty_set_is_legal() -> None:
    graphs = GraphSet.from_edges(
        node_counts=[], node_types=[], edge_counts=[], edges=np.zeros((0, 2), int), node_vocabulary=[]
    )
    assert (len(graphs), graphs.nodes, graphs.edges, graphs.largest) == (0, 0, 0, 0)
    assert len(graphs.subset([])) == 0


@given(raw_graph_sets())
def test_neighbours_are_those_of_the_edges(raw: dict[str, Any]) -> None:
    graphs = GraphSet.from_edges(**raw)
    edge_owner = np.repeat(np.arange(len(graphs)), raw["edge_counts"])
    begins = graphs.node_offsets[edge_owner].tolist()
    arcs = [(begin + i, begin + j) for begin, (i, j) in zip(begins, raw["edges"], strict=True)]
    for node in range(graphs.nodes):
        assert graphs.successors(node).tolist() == sorted(j for i, j in arcs if i == node)
        assert graphs.predecessors(node).tolist() == sorted(i for i, j in arcs if j == node)
    kind = dict(zip(arcs, raw["edge_types"], strict=True))
    in_arcs = [(int(i), j) for j in range(graphs.nodes) for i in graphs.predecessors(j)]
    assert [kind[arc] for arc in in_arcs] == graphs.in_types.tolist()


@given(graph_sets(), st.data())
def test_a_subset_has_the_chosen_graphs_in_the_chosen_order(graphs: GraphSet, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(graphs) - 1), max_size=5))
    subset = graphs.subset(chosen)
    assert len(subset) == len(chosen)
    for place, graph in enumerate(chosen):
        expected, got = to_networkx(graphs, graph), to_networkx(subset, place)
        assert got.name == expected.name
        assert networkx.utils.graphs_equal(got, expected)
    _ = subset.core  # the native core accepts it: offsets and orders are right


def test_a_subset_of_all_graphs_is_the_set() -> None:
    graphs = two_graphs(node_names=["a", "b", "c", "d", "e"])
    assert_equal(graphs.subset([0, 1]), graphs)
    assert list(graphs.subset([-1]).graph_names) == ["second"]


@pytest.mark.parametrize("graph", [2, -3])
def test_a_graph_number_out_of_range_is_refused(graph: int) -> None:
    with pytest.raises(InputError, match="outside 0 to 1"):
        two_graphs().subset([graph])


def test_owners_of_nodes() -> None:
    graphs = two_graphs()
    assert [graphs.graph_of(node) for node in range(5)] == [0, 0, 0, 1, 1]
    assert graphs.graphs_of(np.array([4, 0])).tolist() == [1, 0]


@given(graph_sets(), st.data())
def test_annotations_follow_their_nodes_and_edges(graphs: GraphSet, data: st.DataObject) -> None:
    """Subsets, and sets joined with one that knows nothing, against a look at every node and edge."""
    chosen = data.draw(st.lists(st.integers(0, len(graphs) - 1), max_size=5))
    bare = GraphSet.from_edges(
        node_counts=[2], node_types=[0, 1], edge_counts=[1], edges=[[0, 1]], node_vocabulary=["conv", "pool"]
    )
    joined = join([bare, graphs.subset(chosen)], "joined")
    assert joined.operand_words(0) == [""]
    assert joined.outputs[:2].tolist() == [False, True]
    for place, old in enumerate(chosen, start=1):
        assert joined.operand_words(place) == graphs.operand_words(old)
        nodes = slice(joined.node_offsets[place], joined.node_offsets[place + 1])
        before = slice(graphs.node_offsets[old], graphs.node_offsets[old + 1])
        assert joined.outputs[nodes].tolist() == graphs.outputs[before].tolist()
        assert places_of(joined)[nodes].tolist() == places_of(graphs)[before].tolist()
        for node in range(nodes.start, nodes.stop):
            moved = [(arc, source - nodes.start) for arc, source in joined.operands(node)]
            there = graphs.operands(node - nodes.start + before.start)
            assert moved == [(arc, source - before.start) for arc, source in there]


def test_words_that_do_not_fit_are_forgotten() -> None:
    words = operand_vocabulary()
    places = words.places([str(number) for number in range(MAX_WORDS + 4)])
    assert places[:-5].tolist() == list(range(1, MAX_WORDS))
    assert places[-5:].tolist() == [0] * 5
    assert len(words.words) == MAX_WORDS


def test_a_wide_operator_keeps_no_list_of_its_operands() -> None:
    assert operand_word([(number, 0) for number in range(MAX_ARCS)]).count("+") == MAX_ARCS - 1
    assert operand_word([(number, 0) for number in range(MAX_ARCS + 1)]) == ""


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), unique=True))
def test_words_of_operands_are_read_back(arcs: list[tuple[int, int]]) -> None:
    word = operand_word(arcs)
    assert is_operand_word(word)
    assert arcs_of(word) == sorted(arcs)

import numpy as np
import pytest
from hypothesis import given

from grade import GraphSet, InputError
from grade.graphs.concatenation import Vocabulary, edge_vocabulary, join, node_vocabulary, reindex
from tests.graph_sets import graph_sets
from tests.sources.test_json_lines import described


@given(graph_sets(), graph_sets())
def test_joined_sets_hold_the_same_graphs(one: GraphSet, other: GraphSet) -> None:
    both = join([one, other], "both")
    assert described(both) == described(one) + described(other)
    _ = both.core  # valid
    assert both.origin == "both"
    named = one.node_names is not None or other.node_names is not None
    assert (both.node_names is not None) == named
    if both.node_names is not None:
        parts = [list(part.node_names or [""] * part.nodes) for part in (one, other)]
        assert list(both.node_names) == parts[0] + parts[1]


def test_nothing_joined_is_an_empty_set() -> None:
    assert len(join([], "nothing")) == 0


def test_words_are_numbered_as_they_come_and_can_be_forgotten() -> None:
    words = Vocabulary("node", 3)
    assert words.places(("a", "b", "a")).tolist() == [0, 1, 0]
    with pytest.raises(InputError, match="more than 3 node types together"):
        words.places(("c", "d"))
    assert words.words == ["a", "b"]  # a refusal leaves it as it was
    words.cut(1)
    assert words.places(("c", "a")).tolist() == [1, 0]


def test_an_edge_type_called_none_is_not_taken_for_the_absent_edge() -> None:
    graphs = GraphSet.from_edges(
        node_counts=[2],
        node_types=[0, 0],
        edge_counts=[1],
        edges=[[0, 1]],
        node_vocabulary=["a"],
        edge_vocabulary=["absent", "none"],
    )
    with pytest.raises(InputError, match="has edges of the type 'none', which is the word for no edge"):
        reindex(graphs, node_vocabulary(), edge_vocabulary())


def test_the_absent_edge_may_have_any_name() -> None:
    graphs = GraphSet.from_edges(
        node_counts=[2],
        node_types=[0, 0],
        edge_counts=[1],
        edges=[[0, 1]],
        node_vocabulary=["a"],
        edge_vocabulary=["absent", "skip"],
    )
    joined = reindex(graphs, node_vocabulary(), edge_vocabulary(["none", "edge"]))
    assert joined.edge_vocabulary == ("none", "edge", "skip")
    np.testing.assert_array_equal(joined.out_types, [2])

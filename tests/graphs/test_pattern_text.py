"""Patterns as text: what is printed is read back as the same pattern, whatever the types are called."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grade.errors import InputError
from grade.graphs import Pattern
from grade.graphs.pattern_text import parse
from grade.graphs.queries import Query

names = st.one_of(
    st.sampled_from(
        ["Conv", "com.microsoft::Gelu", "Conv[kernel_shape=3x3,strides=2x2]", "conv1x1-bn", "a->b"]
    ),
    st.text(max_size=6),
)


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    k = draw(st.integers(1, 6))
    nodes = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    kinds = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    types = draw(st.lists(st.integers(0, len(nodes) - 1), min_size=k, max_size=k))
    flat = draw(st.lists(st.sampled_from([0, 0, *range(1, len(kinds) + 1)]), min_size=k * k, max_size=k * k))
    return Pattern.of(types, np.array(flat).reshape(k, k), nodes, ("none", *kinds))


@given(patterns())
def test_a_printed_pattern_is_read_back(pattern: Pattern) -> None:
    text = str(pattern)
    assert Query(text).pattern(pattern.node_vocabulary, pattern.edge_vocabulary) == pattern
    assert text.isprintable()


@given(patterns(), st.randoms())
def test_the_text_does_not_depend_on_the_numbers_of_the_types(pattern: Pattern, random: object) -> None:
    order = list(range(len(pattern.node_vocabulary)))
    random.shuffle(order)  # type: ignore[attr-defined]  # a strategy without a type
    nodes = [pattern.node_vocabulary[i] for i in order]
    kinds = [pattern.edge_vocabulary[0], *reversed(pattern.edge_vocabulary[1:])]
    types = [nodes.index(name) for name in pattern.type_names]
    edges = [[kinds.index(pattern.edge_vocabulary[t]) if t else 0 for t in row] for row in pattern.edges]
    assert str(Pattern.of(types, edges, nodes, kinds)) == str(pattern)


@given(patterns(), patterns())
def test_different_patterns_have_different_texts(one: Pattern, other: Pattern) -> None:
    if len(one.edge_vocabulary) == len(other.edge_vocabulary) == 2:
        return  # their only edge type may have two names
    if str(one) == str(other):
        assert sorted(one.type_names) == sorted(other.type_names)
        same = Query(str(other)).pattern(one.node_vocabulary, one.edge_vocabulary)
        assert same == one


def test_an_arrow_without_a_name_is_the_usual_edge_or_any() -> None:
    query = Query("a -> b")
    assert query.pattern(["a", "b"], ["none", "skip"]).code == "0.1/0>1"  # type: ignore[union-attr]  # it has no wildcards
    assert query.pattern(["a", "b"], ["none", "skip", "edge"]).code == "0.1/0>1:2"  # type: ignore[union-attr]  # it has no wildcards
    assert query.pattern(["a", "b"], ["none", "0", "1"]) is None
    _, edges = query.choices(["a", "b"], ["none", "0", "1"])
    assert np.flatnonzero(edges[0, 1]).tolist() == [1, 2]


def test_labels_name_nodes_and_wildcards_do_not() -> None:
    assert len(parse("Conv -> Relu; Conv -> Add").nodes) == 3
    assert len(parse("* -> Relu; * -> Add").nodes) == 4
    assert len(parse("*#1 -> Relu; *#1 -> Add").nodes) == 3
    assert len(parse('"*" -> Relu; "*" -> Add').nodes) == 3
    assert [edge[:2] for edge in parse("A#1 -> A#2 -> A#1").edges] == [(0, 1), (1, 0)]
    assert parse("Conv->Relu") == parse("Conv  ->  Relu;")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "name of a type was expected at its end"),
        ("Conv ->", "name of a type was expected at its end"),
        ("Conv Relu", "'->' or ';' was expected at 'Relu'"),
        ("Conv -> Relu -> Conv", "Conv twice in one chain; number them: Conv#1 and Conv#2"),
        ("A -x-> B; A -y-> B", "an edge is given twice"),
        ('"A\\q" -> B', "wrong escape"),
        (" -> ".join(f"N{i}" for i in range(17)), "17 nodes; the most is 16"),
    ],
)
def test_a_text_that_is_no_pattern_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=r"pattern|name") as error:
        Query(text).pattern([], [])
    assert message in str(error.value)

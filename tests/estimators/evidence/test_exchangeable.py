"""ExchangeableTypesable types: found by the counts of parts, and merged into one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grade import GraphSet
from grade.estimators.evidence.exchangeable import (
    ExchangeableTypes,
    ExpectedCounts,
    are_drawn,
    frequent_types,
    joins,
)
from grade.graphs import PatternTable
from grade.sampling.part_census import count_parts
from grade.sources.nas_bench_201 import nas_bench_201
from tests.graph_sets import chains, forks_without_doubles

START, END = 0, 7
OPERATIONS = (1, 2, 3, 4)
TWO_CLASSES = ExchangeableTypes(((0, 3), (1, 2, 5)))  # type 4 is in none


def classes_of(graphs: GraphSet, size: int = 3) -> tuple[tuple[int, ...], ...]:
    return ExchangeableTypes.of(count_parts(graphs, size)).classes


# Which types are exchangeable.


@pytest.mark.parametrize("size", [2, 3, 4])
def test_operations_of_an_enumerated_space_are_exchangeable(size: int) -> None:
    """Only they are: first and last node are as frequent as each other, in other places."""
    rows = list(product([START], *[OPERATIONS] * 4, [END])) * 4
    # Of two nodes there are too few kinds of parts to tell.
    assert classes_of(chains(rows), size) == (() if size == 2 else (OPERATIONS,))


def test_types_that_occur_in_other_places_are_not() -> None:
    never_first = product([START], (1, 2, 3), OPERATIONS, OPERATIONS, OPERATIONS, [END])
    assert classes_of(chains(list(never_first) * 4)) == ((1, 2, 3),)


def test_the_same_number_of_nodes_is_not_enough() -> None:
    """Types 1 and 2 are as frequent as 3 and 4, but at the chain's other end."""
    rows = list(product([START], (1, 2), (1, 2), (1, 2), (3, 4), (3, 4), (3, 4), [END])) * 4
    assert classes_of(chains(rows)) == ((1, 2), (3, 4))
    mixed = count_parts(chains(rows), 3)
    assert joins(2, (1,), mixed)
    assert not joins(3, (2,), mixed)


def test_types_that_depend_on_each_other_are_not() -> None:
    """Exchanged in whole graphs, 1 and 2 would change nothing; but the operations of a graph are alike."""
    alike = [(START, kind, kind, other, other, END) for kind in (1, 2) for other in (3, 4)]
    assert classes_of(chains(alike * 40)) == ()
    free = list(product([START], (1, 2), (1, 2), (3, 4), (3, 4), [END])) * 10
    assert classes_of(chains(free)) == ((1, 2), (3, 4))


def test_a_more_frequent_type_is_not_exchangeable() -> None:
    rows = [row for row in product([START], *[OPERATIONS] * 4, [END]) for _ in range(1 + row.count(4))]
    assert classes_of(chains(rows)) == ((1, 2, 3),)


def test_types_too_rare_to_tell_are_not_exchangeable() -> None:
    """Types 5 and 6 occur in the same places; twenty times as often, that is known."""
    common = list(product([START], *[OPERATIONS] * 4, [END]))
    rare = list(product([START], (5, 6), (5, 6), OPERATIONS, OPERATIONS, [END]))
    assert classes_of(chains(common + rare[:8])) == (OPERATIONS,)
    assert classes_of(chains((common + rare) * 20)) == (OPERATIONS, (5, 6))


def test_edge_types_and_self_loops_tell_types_apart() -> None:
    rows = list(product([START], *[OPERATIONS] * 4, [END])) * 2
    assert classes_of(chains(rows, edge_types={3: 2, 4: 2})) == ((1, 2), (3, 4))
    assert classes_of(chains(rows, loop_types={1: 1, 3: 1})) == ((1, 3), (2, 4))
    assert classes_of(chains(rows, loop_types={1: 1, 3: 2})) == ((2, 4),)


@pytest.mark.parametrize("seed", range(3))
def test_a_random_space_is_as_good_as_an_enumerated_one(seed: int) -> None:
    """Drawn uniformly, all types are one class; a type preferred by a quarter is not in it."""
    for probabilities, expected in (([0.25] * 4, OPERATIONS), ([0.295, 0.235, 0.235, 0.235], (2, 3, 4))):
        drawn = np.random.default_rng(seed).choice(OPERATIONS, (3_000, 4), p=probabilities)
        assert classes_of(chains((START, *row, END) for row in drawn.tolist())) == (expected,)


def test_a_large_set_does_not_tell_apart_what_hardly_differs() -> None:
    """Of 60,000 nodes, types that differ by 3 % are known to differ; a ranking does not need to know."""
    drawn = np.random.default_rng(0).choice((1, 2), (15_000, 4), p=[0.493, 0.507])
    parts = count_parts(chains((START, *row, END) for row in drawn.tolist()), 3)
    assert ExchangeableTypes.of(parts).classes == ((1, 2),)
    expected = ExpectedCounts(parts.counts, ExchangeableTypes(((1, 2),))).of(parts.counts.tables[3])[0]
    chi_square = ((parts.counts.weights[3] - expected) ** 2 / expected).mean()
    assert chi_square > 2


def test_a_type_fits_all_of_its_class() -> None:
    """Of three types of rising frequency, neighbours are too near to tell and the outer two are not."""
    drawn = np.random.default_rng(0).choice((1, 2, 3), (3_000, 4), p=np.array([35, 40, 45]) / 120)
    parts = count_parts(chains((START, *row, END) for row in drawn.tolist()), 3)
    near = [joins(kind, (other,), parts) for other, kind in ((1, 2), (2, 3), (1, 3))]
    assert near == [True, True, False]
    assert ExchangeableTypes.of(parts).classes == ((1, 2),)


def test_thousands_of_types_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = chains(list(product([START], *[OPERATIONS] * 4, [END])) * 4)
    assert frequent_types(count_parts(graphs, 3)) == [START, *OPERATIONS, END]
    monkeypatch.setattr("grade.estimators.evidence.exchangeable.MOST_TYPES", 6)
    assert classes_of(graphs) == (OPERATIONS,)
    monkeypatch.setattr("grade.estimators.evidence.exchangeable.MOST_TYPES", 5)
    assert classes_of(graphs) == ()


def test_all_operations_of_nas_bench_201_are_exchangeable() -> None:
    graphs = nas_bench_201()
    (members,) = classes_of(graphs)
    assert {graphs.node_vocabulary[kind] for kind in members} == set(graphs.node_vocabulary) - {
        "input",
        "output",
    }


# Merging.


@st.composite
def digraphs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Types 0 to 5 [k] and edges of two types [k, k], with cycles and self-loops; connected or not."""
    k = draw(st.integers(1, 4))
    types = draw(st.lists(st.integers(0, 5), min_size=k, max_size=k))
    edges = draw(st.lists(st.sampled_from([0, 0, 1, 2]), min_size=k * k, max_size=k * k))
    return np.array(types), np.array(edges).reshape(k, k)


exchangeables = st.sampled_from(
    [
        TWO_CLASSES,
        ExchangeableTypes(((1, 2, 3, 4),)),
        ExchangeableTypes(((0, 1), (2, 3), (4, 5))),
        ExchangeableTypes(((2, 4),)),
    ]
)


def relabellings(exchangeable: ExchangeableTypes, types: np.ndarray, edges: np.ndarray) -> PatternTable:
    """The digraph with the type of each node replaced by every one of its class: a row for each way."""
    choices = [next((m for m in exchangeable.classes if kind in m), (kind,)) for kind in types.tolist()]
    rows = np.array(list(product(*choices)))
    return PatternTable.canonical(rows, np.repeat(edges[None], len(rows), 0))


@given(digraphs(), exchangeables)
def test_all_relabellings_merge_into_one_and_share_its_occurrences(
    digraph: tuple[np.ndarray, np.ndarray], exchangeable: ExchangeableTypes
) -> None:
    table = relabellings(exchangeable, *digraph)
    merged, rows = exchangeable.distinct(table)
    assert len(merged) == 1
    assert not rows.any()
    assert exchangeable.merged(merged).keys == merged.keys, "idempotent"
    np.testing.assert_allclose(exchangeable.log_ways(table), np.log(len(table)))
    # Each pattern's share is the share of the ways that give it.
    _, first, ways = np.unique(table.keys, return_index=True, return_counts=True)
    share = np.exp(exchangeable.log_share(table, exchangeable.merged(table)))
    np.testing.assert_allclose(share[first], ways / len(table))


@given(digraphs(), digraphs(), exchangeables)
def test_what_does_not_merge_differs_in_more_than_types_of_a_class(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], exchangeable: ExchangeableTypes
) -> None:
    if one[0].shape != other[0].shape:
        return
    same = exchangeable.merged(
        PatternTable.canonical(*(np.stack(pair) for pair in zip(one, other, strict=True)))
    )
    images = relabellings(exchangeable, *one)
    target = PatternTable.canonical(other[0][None], other[1][None]).keys
    assert (same.keys[0] == same.keys[1]) == bool(np.isin(target, images.keys)[0])


@given(digraphs(), exchangeables)
def test_edges_and_other_types_survive(
    digraph: tuple[np.ndarray, np.ndarray], exchangeable: ExchangeableTypes
) -> None:
    pattern = PatternTable.canonical(digraph[0][None], digraph[1][None], list("abcdef"), list("xyz"))
    merged = exchangeable.merged(pattern)
    assert (merged.node_vocabulary, merged.edge_vocabulary) == (tuple("abcdef"), tuple("xyz"))
    first = {kind: members[0] for members in exchangeable.classes for kind in members}
    expected = sorted(first.get(kind, kind) for kind in digraph[0].tolist())
    assert sorted(merged.node_types[0].tolist()) == expected
    untyped = [PatternTable.canonical(np.zeros_like(t.node_types), t.edges).keys for t in (pattern, merged)]
    assert untyped[0] == untyped[1]


def test_small_patterns() -> None:
    table = PatternTable.from_keys(["2.5/0>1.1>0", "2.2/0>1.1>0", "5.2/0>1", "4.4/0>1", "3.5/0>0:2.0>1"])
    merged = TWO_CLASSES.merged(table)
    expected = PatternTable.from_keys(["1.1/0>1.1>0", "1.1/0>1.1>0", "1.1/0>1", "4.4/0>1", "0.1/0>0:2.0>1"])
    assert merged.keys.tolist() == expected.keys.tolist()
    # Two of nine ways where a symmetry exchanges the nodes, one of nine else.
    shares = np.exp(TWO_CLASSES.log_share(table, merged))
    np.testing.assert_allclose(shares, [2 / 9, 1 / 9, 1 / 9, 1, 1 / 6])


@given(digraphs())
def test_without_classes_patterns_stand_for_themselves(digraph: tuple[np.ndarray, np.ndarray]) -> None:
    nothing = ExchangeableTypes()
    pattern = PatternTable.canonical(digraph[0][None], digraph[1][None])
    assert not nothing
    assert nothing.merged(pattern).keys == pattern.keys
    assert nothing.log_share(pattern, pattern).tolist() == [0.0]


def test_no_patterns_merge_into_none() -> None:
    nothing = PatternTable.canonical(np.zeros((0, 3), int), np.zeros((0, 3, 3), int))
    merged, rows = TWO_CLASSES.distinct(nothing)
    assert len(merged) == len(rows) == len(TWO_CLASSES.log_share(nothing, nothing)) == 0


# Counts.


def test_a_set_is_drawn_or_enumerated() -> None:
    classes = ExchangeableTypes((OPERATIONS,))
    every = list(product([START], *[OPERATIONS] * 4, [END]))
    assert not are_drawn(count_parts(chains(every), 3), classes)
    assert not are_drawn(count_parts(forks_without_doubles(OPERATIONS), 3), classes)
    for seed in range(5):
        some = np.random.default_rng(seed).choice(len(every), 500)
        assert are_drawn(count_parts(chains([every[i] for i in some]), 3), classes)


def test_merged_counts_are_the_counts_of_graphs_of_merged_types() -> None:
    rows = np.random.default_rng(1).choice(OPERATIONS, (300, 4))
    counts = ExchangeableTypes((OPERATIONS,)).merged_counts(
        count_parts(chains((START, *r, END) for r in rows.tolist()), 3).counts
    )
    ones = count_parts(chains([(START, 1, 1, 1, 1, END)] * 300), 3).counts
    for size in (1, 2, 3):
        own, total = counts.of(ones.tables[size])
        np.testing.assert_array_equal(own, ones.weights[size])
        assert (len(counts.tables[size]), total) == (len(ones.tables[size]), ones.weights[size].sum())


def test_in_an_enumerated_space_what_is_expected_is_what_occurs() -> None:
    parts = count_parts(chains(product([START], *[OPERATIONS] * 4, [END])), 4)
    expected = ExpectedCounts(parts.counts, ExchangeableTypes((OPERATIONS,)))
    for size, table in parts.counts.tables.items():
        found, total = expected.of(table)
        np.testing.assert_allclose(found, parts.counts.weights[size])
        assert total == parts.counts.weights[size].sum()


def test_what_is_expected_does_not_depend_on_what_of_a_class_occurs() -> None:
    table = PatternTable.from_keys(["1.2/0>1", "2.1/0>1", "2.2/0>1", "1.4/0>1"])
    parts = count_parts(chains([(1, 2)] * 12 + [(1, 4)] * 3), 2)
    found, _ = ExpectedCounts(parts.counts, ExchangeableTypes(((1, 2),))).of(table)
    np.testing.assert_allclose(found, [3, 3, 3, 1.5])

"""Interchangeable types: found by the counts of parts, and one representative for each orbit."""

import math
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grade import GraphSet
from grade.graphs import PatternTable
from grade.graphs.counts import Counts
from grade.graphs.interchange import Interchange, exchange, interchangeable
from grade.graphs.parts import PartCounts
from grade.sampling.parts import count_parts
from grade.sources.nas_bench_201 import nas_bench_201
from tests.estimators.spaces import all_matrices
from tests.graph_sets import chains

START, END = 0, 7
OPERATIONS = (1, 2, 3, 4)
TWO_CLASSES = Interchange(((0, 3), (1, 2, 5)))  # type 4 is in none


def classes_of(graphs: GraphSet, size: int = 3, **options: int) -> tuple[tuple[int, ...], ...]:
    return Interchange.of(count_parts(graphs, size), **options).classes


# Which types are interchangeable.


@pytest.mark.parametrize("size", [2, 3, 4])
def test_operations_of_an_enumerated_space_are_interchangeable(size: int) -> None:
    """Only they are: first and last node are as frequent as each other, in other places."""
    rows = list(product([START], *[OPERATIONS] * 4, [END])) * 4
    # Of two nodes there are too few kinds of parts to tell.
    assert classes_of(chains(rows), size) == (() if size == 2 else (OPERATIONS,))


def test_types_that_occur_in_other_places_are_not() -> None:
    never_first = product([START], (1, 2, 3), OPERATIONS, OPERATIONS, OPERATIONS, [END])
    assert classes_of(chains(never_first)) == ((1, 2, 3),)


def test_the_same_number_of_nodes_is_not_enough() -> None:
    """Types 1 and 2 are as frequent as 3 and 4, but at the chain's other end."""
    rows = list(product([START], (1, 2), (1, 2), (1, 2), (3, 4), (3, 4), (3, 4), [END])) * 4
    assert classes_of(chains(rows)) == ((1, 2), (3, 4))
    mixed = count_parts(chains(rows), 3)
    assert interchangeable(mixed, 1, 2)
    assert not interchangeable(mixed, 2, 3)


def test_a_more_frequent_type_is_not_interchangeable() -> None:
    rows = [row for row in product([START], *[OPERATIONS] * 4, [END]) for _ in range(1 + row.count(4))]
    assert classes_of(chains(rows)) == ((1, 2, 3),)


def test_types_too_rare_to_tell_are_not_interchangeable() -> None:
    """Types 5 and 6 occur in the same places; twenty times as often, that is known."""
    common = list(product([START], *[OPERATIONS] * 4, [END]))
    rare = list(product([START], (5, 6), (5, 6), OPERATIONS, OPERATIONS, [END]))
    assert classes_of(chains(common + rare)) == (OPERATIONS,)
    assert classes_of(chains((common + rare) * 20)) == (OPERATIONS, (5, 6))


def test_edge_types_and_self_loops_tell_types_apart() -> None:
    rows = list(product([START], *[OPERATIONS] * 4, [END]))
    assert classes_of(chains(rows, edge_types={3: 2, 4: 2})) == ((1, 2), (3, 4))
    assert classes_of(chains(rows, loop_types={1: 1, 3: 1})) == ((1, 3), (2, 4))
    assert classes_of(chains(rows, loop_types={1: 1, 3: 2})) == ((2, 4),)


@pytest.mark.parametrize("seed", range(3))
def test_a_random_space_is_as_good_as_an_enumerated_one(seed: int) -> None:
    """Drawn uniformly, all types are one class; a type preferred by a sixth is not in it."""
    for probabilities, expected in (([0.25] * 4, OPERATIONS), ([0.28, 0.24, 0.24, 0.24], (2, 3, 4))):
        drawn = np.random.default_rng(seed).choice(OPERATIONS, (3_000, 4), p=probabilities)
        assert classes_of(chains((START, *row, END) for row in drawn.tolist())) == (expected,)


def test_a_type_is_interchangeable_with_all_of_its_class() -> None:
    """Of three types of rising frequency, neighbours are too near to tell and the outer two are not."""
    drawn = np.random.default_rng(0).choice((1, 2, 3), (3_000, 4), p=np.array([19, 20, 21]) / 60)
    parts = count_parts(chains((START, *row, END) for row in drawn.tolist()), 3)
    near = [interchangeable(parts, *pair) for pair in ((1, 2), (2, 3), (1, 3))]
    assert near == [True, True, False]
    assert Interchange.of(parts).classes == ((1, 2),)


def test_types_of_which_there_are_more_nodes_are_not_even_if_the_larger_parts_agree() -> None:
    parts = count_parts(chains(product([START], *[OPERATIONS] * 4, [END])), 3)
    alone = np.where(parts.counts.tables[1].node_types[:, 0] == 4, 1_000, 0)  # so many isolated nodes
    weights = {**parts.counts.weights, 1: parts.counts.weights[1] + alone}
    assert Interchange.of(PartCounts(Counts(parts.counts.tables, weights))).classes == ((1, 2, 3),)


def test_all_operations_of_nas_bench_201_are_interchangeable() -> None:
    graphs = nas_bench_201()
    (members,) = classes_of(graphs)
    assert {graphs.node_vocabulary[kind] for kind in members} == set(graphs.node_vocabulary) - {
        "input",
        "output",
    }


def test_types_outside_the_model_are_left_out() -> None:
    graphs = chains(product([START], *[OPERATIONS] * 4, [END]))
    assert classes_of(graphs, below=4) == ((1, 2, 3),)
    assert classes_of(graphs, below=2) == ()


def test_exchange_swaps_types_one_pair_after_the_other() -> None:
    chain = PatternTable.from_keys(["0.1.2/0>1.1>2:2"], list("abc"), ["none", "edge", "skip"])
    assert exchange(chain, [(0, 2)])[0].key == "0.1.2/1>0:2.2>1"
    assert exchange(chain, [(0, 2), (0, 1)])[0].key == "0.1.2/0>1:2.2>0"
    assert exchange(chain, [(0, 2)]).node_vocabulary == ("a", "b", "c")
    assert exchange(chain, []).keys == chain.keys


# Orbits.


def images(interchange: Interchange, types: np.ndarray, edges: np.ndarray) -> PatternTable:
    """The pattern under every permutation of types that keeps the classes: one row each, by brute force."""
    rows = []
    for orders in product(*(permutations(members) for members in interchange.classes)):
        new = np.arange(8)
        for members, order in zip(interchange.classes, orders, strict=True):
            new[list(members)] = order
        rows.append(new[types])
    return PatternTable.canonical(np.array(rows), np.repeat(edges[None], len(rows), 0))


@st.composite
def digraphs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Types 0 to 5 [k] and edges of two types [k, k], with cycles and self-loops; connected or not."""
    k = draw(st.integers(1, 5))
    types = draw(st.lists(st.integers(0, 5), min_size=k, max_size=k))
    edges = draw(st.lists(st.sampled_from([0, 0, 1, 2]), min_size=k * k, max_size=k * k))
    return np.array(types), np.array(edges).reshape(k, k)


interchanges = st.sampled_from(
    [TWO_CLASSES, Interchange(((1, 2, 3, 4),)), Interchange(((0, 1), (2, 3), (4, 5))), Interchange(((2, 4),))]
)


@given(digraphs(), interchanges, st.randoms(use_true_random=False))
def test_all_images_have_the_same_representative_which_is_one_of_them(
    digraph: tuple[np.ndarray, np.ndarray], interchange: Interchange, random: Any
) -> None:
    orbit = images(interchange, *digraph)
    representatives = interchange.representatives(orbit)
    assert len(set(representatives.keys.tolist())) == 1
    assert representatives.keys[0].item() in orbit.keys.tolist()
    np.testing.assert_array_equal(
        interchange.representatives(representatives).keys, representatives.keys, "idempotent"
    )
    # The same numbers of nodes in another order, not made canonical.
    order = list(range(orbit.size))
    random.shuffle(order)
    shuffled = PatternTable(
        orbit.node_types[:, order], orbit.edges[:, order][:, :, order], orbit.automorphisms
    )
    np.testing.assert_array_equal(interchange.representatives(shuffled).keys, representatives.keys)


@given(digraphs(), interchanges)
def test_orbit_sizes_are_the_numbers_of_distinct_images(
    digraph: tuple[np.ndarray, np.ndarray], interchange: Interchange
) -> None:
    orbit = images(interchange, *digraph)
    np.testing.assert_array_equal(interchange.orbit_sizes(orbit), len(set(orbit.keys.tolist())))


@given(digraphs(), interchanges, st.integers(-1, 6))
def test_turning_stays_in_the_orbit_and_comes_back(
    digraph: tuple[np.ndarray, np.ndarray], interchange: Interchange, turns: int
) -> None:
    pattern = PatternTable.canonical(digraph[0][None], digraph[1][None])
    turned = interchange.turned(pattern, turns)
    assert turned.keys[0].item() in images(interchange, *digraph).keys.tolist()
    assert interchange.turned(turned, -turns).keys == pattern.keys
    whole = math.lcm(*map(len, interchange.classes))
    assert interchange.turned(pattern, turns + whole).keys == turned.keys


def test_turning_replaces_each_type_by_the_next_of_its_class() -> None:
    chain = PatternTable.from_keys(["0.1.2.4/0>1.1>2.2>3"], list("abcdef"))
    assert TWO_CLASSES.turned(chain, 0).keys == chain.keys
    assert TWO_CLASSES.turned(chain, 1)[0] == PatternTable.from_keys(["3.2.5.4/0>1.1>2.2>3"])[0]
    assert TWO_CLASSES.turned(chain, 2)[0] == PatternTable.from_keys(["0.5.1.4/0>1.1>2.2>3"])[0]
    assert TWO_CLASSES.turned(chain, 1).node_vocabulary == tuple("abcdef")


def filled(edges: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """One digraph of five nodes, with types 0 to 3 given to its nodes in all ways."""
    matrix = np.zeros((5, 5), int)
    matrix[tuple(zip(*edges, strict=True))] = 1
    types = np.array(list(product(range(4), repeat=5)))
    return types, np.repeat(matrix[None], len(types), 0)


@pytest.mark.parametrize(
    "digraphs_",
    [all_matrices(3, 4), filled([(0, 1), (1, 2), (2, 3), (3, 4)]), filled([(0, 1), (2, 0), (0, 3), (4, 0)])],
    ids=["all of three nodes", "chain", "star"],
)
@pytest.mark.parametrize(
    "interchange", [Interchange(((0, 1, 2),)), Interchange(((0, 2),)), Interchange(((0, 3), (1, 2)))]
)
def test_different_orbits_have_different_representatives(
    interchange: Interchange, digraphs_: tuple[np.ndarray, np.ndarray]
) -> None:
    """Two patterns share a representative exactly if one is the other's image."""
    table = PatternTable.canonical(*digraphs_)
    table = table.take(np.unique(table.keys, return_index=True)[1])
    assert len(table) > 300
    orbit_of: dict[bytes, frozenset[bytes]] = {}
    for types, edges in zip(table.node_types.astype(int), table.edges, strict=True):
        orbit = frozenset(images(interchange, types, edges).keys.tolist())
        orbit_of |= dict.fromkeys(orbit, orbit)
    assert len(orbit_of) == len(table)
    representatives = interchange.representatives(table)
    shared: dict[bytes, set[bytes]] = {}
    for key, representative in zip(table.keys.tolist(), representatives.keys.tolist(), strict=True):
        shared.setdefault(representative, set()).add(key)
    assert set(map(frozenset, shared.values())) == set(orbit_of.values())
    # Each orbit's size, once for each orbit, makes up all patterns.
    first = np.unique(representatives.keys, return_index=True)[1]
    assert interchange.orbit_sizes(table.take(first)).sum() == len(table)


@given(digraphs(), interchanges)
def test_edges_and_self_loops_and_other_types_survive(
    digraph: tuple[np.ndarray, np.ndarray], interchange: Interchange
) -> None:
    pattern = PatternTable.canonical(digraph[0][None], digraph[1][None], list("abcdef"), list("xyz"))
    exchangeable = [kind for members in interchange.classes for kind in members]
    for other in (interchange.representatives(pattern), interchange.turned(pattern, 1)):
        assert (other.node_vocabulary, other.edge_vocabulary) == (tuple("abcdef"), tuple("xyz"))
        assert other.automorphisms[0] == pattern.automorphisms[0]
        # The graphs without their types are the same, and so are those without the exchangeable types.
        outside = [np.where(np.isin(t.node_types, exchangeable), 6, t.node_types) for t in (other, pattern)]
        one, two = (
            PatternTable.canonical(types, t.edges) for types, t in zip(outside, (other, pattern), strict=True)
        )
        assert one.keys == two.keys


@pytest.mark.parametrize(
    ("key", "representative", "size"),
    [
        ("2.2/0>1", "1.1/0>1", 3),  # equal types stay equal
        ("2.5/0>1", "1.2/0>1", 6),  # and different ones different; 1>0 would be in the orbit too
        ("2.5/0>1.1>0", "1.2/0>1.1>0", 3),  # a symmetry exchanges the two
        ("2.5/0>0:2.0>1", "1.2/0>0:2.0>1", 6),
        ("4.4/0>1", "4.4/0>1", 1),  # not exchangeable
        ("3.4/1>0:2", "0.4/1>0:2", 2),
        ("3.5/0>1", "0.1/0>1", 6),  # of two classes
        ("3.3.4/0>1:127.1>2:126", "0.0.4/0>1:127.1>2:126", 2),  # the largest edge types
    ],
)
def test_small_patterns(key: str, representative: str, size: int) -> None:
    pattern = PatternTable.from_keys([key])
    found = TWO_CLASSES.representatives(pattern)
    expected = PatternTable.from_keys([representative])[0]
    assert expected.key in {p.key for p in (found[0], exchange(found, [(1, 2)])[0])}  # which is first is open
    assert TWO_CLASSES.orbit_sizes(pattern).tolist() == [size]


@given(digraphs())
def test_without_classes_patterns_stand_for_themselves(digraph: tuple[np.ndarray, np.ndarray]) -> None:
    nothing = Interchange()
    pattern = PatternTable.canonical(digraph[0][None], digraph[1][None])
    assert not nothing
    assert nothing.representatives(pattern).keys == pattern.keys
    assert nothing.turned(pattern, 3).keys == pattern.keys
    assert nothing.orbit_sizes(pattern).tolist() == [1]


def test_no_patterns_have_no_representatives() -> None:
    nothing = PatternTable.canonical(np.zeros((0, 3), int), np.zeros((0, 3, 3), int))
    assert len(TWO_CLASSES.representatives(nothing)) == 0
    assert TWO_CLASSES.orbit_sizes(nothing).shape == (0,)


# Counts that an orbit shares.


def test_evened_counts_are_the_mean_over_all_images() -> None:
    rows = np.random.default_rng(1).choice(OPERATIONS, (300, 4))
    parts = count_parts(chains([(START, *map(int, row), END) for row in rows]), 3)
    interchange = Interchange((OPERATIONS,))
    even = interchange.evened(parts)
    for size in (1, 2, 3):
        table = parts.counts.tables[size]
        own, total = parts.counts.of(table)
        images = np.stack(
            [
                parts.counts.of(exchange_all(table, dict(zip(OPERATIONS, order, strict=True))))[0]
                for order in permutations(OPERATIONS)
            ]
        )
        shared, _ = even.counts.of(table)
        np.testing.assert_allclose(shared, images.mean(0))
        assert total == own.sum()
    assert (even.evidence(parts.counts.tables[3]) != parts.evidence(parts.counts.tables[3])).any()


def test_where_exchanges_change_nothing_evened_counts_are_the_counts() -> None:
    parts = count_parts(chains(list(product([START], *[OPERATIONS] * 4, [END])) * 4), 3)
    table = parts.counts.tables[3]
    np.testing.assert_array_equal(
        Interchange((OPERATIONS,)).evened(parts).evidence(table), parts.evidence(table)
    )
    assert Interchange().evened(parts) is parts


def exchange_all(table: PatternTable, new: dict[int, int]) -> PatternTable:
    """The patterns with every type replaced."""
    replaced = np.vectorize(lambda kind: new.get(int(kind), int(kind)), otypes=[np.int64])(table.node_types)
    return PatternTable.canonical(replaced, table.edges)

"""Counting of one pattern against LAD, VF2, the census, brute force and closed forms."""

from collections import Counter
from dataclasses import asdict
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grade import GraphSet, InputError
from grade.graphs import Pattern, PatternTable
from grade.progress import Stopped
from grade.sampling.census import take_census
from grade.sources import load
from grade.support import Support
from grade.verify import (
    Verifier,
    count_pattern,
    count_patterns,
    list_occurrences,
    verify_patterns,
)
from tests.graph_sets import graph_sets
from tests.native.test_census import random_set
from tests.search.brute_force import Plain
from tests.verify.oracles import (
    brute_force_occurrences,
    lad_count,
    one_graph,
    random_pattern,
    random_target,
    vf2_count,
)


@pytest.fixture(scope="module")
def mini() -> GraphSet:
    return load("zoo-mini")


def star(leaves: int, graphs: int = 1) -> GraphSet:
    return GraphSet.from_edges(
        node_counts=[leaves + 1] * graphs,
        node_types=([0] + [1] * leaves) * graphs,
        edge_counts=[leaves] * graphs,
        edges=[[0, i + 1] for i in range(leaves)] * graphs,
        node_vocabulary=["hub", "leaf"],
    )


def star_pattern(k: int) -> Pattern:
    edges = np.zeros((k, k), np.uint8)
    edges[0, 1:] = 1
    return Pattern.of([0] + [1] * (k - 1), edges)


def complete(n: int, kind: int = 1) -> np.ndarray:
    """Edges between all nodes, both ways: every k nodes induce the same pattern, in k! mappings."""
    return (kind * (1 - np.eye(n))).astype(np.uint8)


def occurring_pattern(rng: np.random.Generator, graphs: GraphSet, k: int) -> Pattern | None:
    if k > graphs.largest:
        return None
    patterns = take_census(graphs, k, threads=1).patterns
    return patterns[int(rng.integers(len(patterns)))] if len(patterns) else None


@pytest.mark.parametrize("seed", range(4))
def test_equals_lad(seed: int) -> None:
    """2,000 random pairs of pattern and graph: node types, cycles, self-loops, hubs."""
    rng = np.random.default_rng(seed)
    occurring = 0
    for _ in range(100):
        target = random_target(rng, 1)
        graphs = one_graph(*target)
        for _ in range(5):
            pattern = random_pattern(rng, target, 1)
            expected = lad_count(target, pattern)
            assert (
                count_pattern(graphs, Pattern.of(*pattern), supports=False, threads=1).occurrences == expected
            )
            occurring += expected > 0
    assert 250 < occurring < 500


@pytest.mark.parametrize("edge_types", [1, 2, 3, 200])  # up to 3: packed ties; beyond: wide ties
def test_equals_vf2(edge_types: int) -> None:
    """1,200 random pairs with several edge types."""
    rng = np.random.default_rng(edge_types)
    occurring = 0
    for _ in range(60):
        target = random_target(rng, edge_types)
        graphs = one_graph(*target)
        for _ in range(5):
            pattern = random_pattern(rng, target, edge_types)
            expected = vf2_count(target, pattern)
            assert (
                count_pattern(graphs, Pattern.of(*pattern), supports=False, threads=1).occurrences == expected
            )
            occurring += expected > 0
    assert 150 < occurring < 300


@given(graph_sets(max_graphs=3), st.integers(2, 5))
def test_equals_the_census(graphs: GraphSet, k: int) -> None:
    assume(k <= graphs.largest)
    census = take_census(graphs, k, threads=1)
    counts, exact = count_patterns(graphs, census.patterns, threads=1)
    np.testing.assert_array_equal(counts, census.counts)
    assert exact.all()


@pytest.mark.parametrize("k", [3, 4, 5])
def test_equals_the_census_of_real_models(mini: GraphSet, k: int) -> None:
    census = take_census(mini, k)
    counts, exact = count_patterns(mini, census.patterns)
    np.testing.assert_array_equal(counts, census.counts)
    assert exact.all()


@pytest.mark.parametrize(("seed", "k", "edge_types"), [(0, 6, 1), (1, 7, 1), (2, 6, 5), (3, 8, 1)])
def test_equals_the_census_around_hubs(seed: int, k: int, edge_types: int) -> None:
    """Candidates of the last nodes that are adjacent to each other, in all ways that a dense graph has."""
    graphs = random_set(np.random.default_rng(seed), 5, 17, 2, edge_types, 2.5)
    census = take_census(graphs, k, threads=1)
    order = np.argsort(~census.counts, kind="stable")[:3000]
    counts, _ = count_patterns(graphs, census.patterns.take(order), threads=1)
    np.testing.assert_array_equal(counts, census.counts[order])


def test_single_nodes_are_counted() -> None:
    graphs = star(7)
    counts, _ = count_patterns(graphs, PatternTable.from_keys(["0/", "1/", "1/0>0", "5/"]))
    assert counts.tolist() == [1, 7, 0, 0]


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([1, 2, 200]))
def test_supports_against_plain_python(seed: int, k: int, edge_types: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = random_set(rng, 5, 11, 2, edge_types, 2.0)
    pattern = Pattern.of([0], [[0]]) if k == 1 else occurring_pattern(rng, graphs, k)
    assume(pattern is not None)
    occurrences = brute_force_occurrences(graphs, (np.array(pattern.node_types), np.array(pattern.edges)))
    listed = list_occurrences(graphs, pattern).tolist()
    assert {tuple(row) for row in listed} == occurrences
    assert len(listed) == len(occurrences)

    used: set[int] = set()
    disjoint = 0
    for row in listed:
        if used.isdisjoint(row):
            used.update(row)
            disjoint += 1
    assert all(not used.isdisjoint(row) for row in occurrences)
    per_graph = Counter(graphs.graph_of(row[0]) for row in occurrences)
    for threads in (1, 2):
        support = count_pattern(graphs, pattern, threads=threads)
        assert support.occurrences == len(occurrences)
        assert support.per_graph == sorted(per_graph.items())
        assert support.graphs == len(per_graph)
        assert support.disjoint == disjoint
        assert support.coverage == len({node for row in occurrences for node in row})
        qualities = (
            support.occurrences_quality,
            support.graphs_quality,
            support.disjoint_quality,
            support.coverage_quality,
        )
        assert qualities == ("exact",) * 4


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(2, 5), st.booleans())
def test_fusible_against_plain_python(seed: int, k: int, acyclic: bool) -> None:
    rng = np.random.default_rng(seed)
    graphs = random_set(rng, 4, 10, 2, 1, 1.5)
    if acyclic:
        parts = [(graphs.edge_list(g), graphs.node_counts[g]) for g in range(len(graphs))]
        kept = [arcs[arcs[:, 0] <= arcs[:, 1]] for arcs, _ in parts]  # self-loops stay
        graphs = GraphSet.from_edges(
            node_counts=graphs.node_counts,
            node_types=graphs.node_types,
            edge_counts=[len(arcs) for arcs in kept],
            edges=np.concatenate(kept),
            node_vocabulary=graphs.node_vocabulary,
        )
    assume(k <= graphs.largest)
    plain = Plain(graphs)
    for pattern in list(take_census(graphs, k, threads=1).patterns)[:20]:
        every = [tuple(row) for row in list_occurrences(graphs, pattern).tolist()]
        fusible = [row for row in every if plain.is_fusible(row)]
        assert [tuple(row) for row in list_occurrences(graphs, pattern, fusible=True).tolist()] == fusible
        support = count_pattern(graphs, pattern, fusible=True, threads=1)
        assert support.occurrences == len(fusible)
        assert support.coverage == len({node for row in fusible for node in row})
        used: set[int] = set()
        taken = 0
        for row in fusible:
            if used.isdisjoint(row):
                used.update(row)
                taken += 1
        assert support.disjoint == taken


def test_an_output_that_leads_back_is_not_fusible() -> None:
    """a -> b -> x -> c with a -> c: a, b, c is not convex although edges leave it at b only."""
    graphs = GraphSet.from_edges(
        node_counts=[4],
        node_types=[0, 1, 2, 3],
        edge_counts=[4],
        edges=[[0, 1], [1, 3], [3, 2], [0, 2]],
        node_vocabulary=["a", "b", "c", "x"],
    )
    pattern = Pattern.of([0, 1, 2], [[0, 1, 1], [0, 0, 0], [0, 0, 0]], graphs.node_vocabulary)
    assert count_pattern(graphs, pattern).occurrences == 1
    assert count_pattern(graphs, pattern, fusible=True).occurrences == 0


@pytest.mark.parametrize("k", [4, 9, 16])
def test_stars_are_counted_without_listing_them(k: int) -> None:
    support = count_pattern(star(60, graphs=2), star_pattern(k))
    assert support.occurrences == 2 * comb(60, k - 1)  # 1e14 for k = 16
    assert (support.occurrences_quality, support.disjoint, support.coverage) == ("exact", 2, 122)
    assert support.per_graph == [(0, comb(60, k - 1)), (1, comb(60, k - 1))]


def test_hubs_whose_leaves_are_adjacent() -> None:
    """Leaves in pairs: choices of c leaves without a whole pair."""
    pairs, c = 20, 7
    edges = [[0, i] for i in range(1, 2 * pairs + 1)] + [[i, i + 1] for i in range(1, 2 * pairs, 2)]
    graphs = GraphSet.from_edges(
        node_counts=[2 * pairs + 1],
        node_types=[0] + [1] * (2 * pairs),
        edge_counts=[len(edges)],
        edges=edges,
        node_vocabulary=["hub", "leaf"],
    )
    support = count_pattern(graphs, star_pattern(c + 1))
    assert support.occurrences == comb(pairs, c) * 2**c
    assert support.coverage == 2 * pairs + 1


def test_more_than_can_be_written_down_is_a_lower_bound() -> None:
    support = count_pattern(star(2000), star_pattern(16))
    assert comb(2000, 15) > 2**64
    assert (support.occurrences, support.occurrences_quality) == (2**64 - 1, "lower bound")
    counts, exact = count_patterns(star(2000), PatternTable.from_keys([star_pattern(16).key]))
    assert (counts[0], exact[0]) == (2**64 - 1, False)


@pytest.mark.parametrize(("n", "k", "kind"), [(18, 6, 1), (14, 7, 20)])
def test_symmetric_patterns_are_counted_once(n: int, k: int, kind: int) -> None:
    pattern = Pattern.of([0] * k, complete(k, kind))
    assert count_pattern(one_graph(np.zeros(n, int), complete(n, kind)), pattern).occurrences == comb(n, k)


def test_cycles_are_counted_once() -> None:
    """A grid on a torus of opposite edges: its induced 4-cycles are the cells."""
    side = 7
    edges = np.zeros((side**2, side**2), np.uint8)
    for row in range(side):
        for column in range(side):
            for other in ((row + 1) % side * side + column, row * side + (column + 1) % side):
                edges[row * side + column, other] = edges[other, row * side + column] = 1
    ring = np.roll(np.eye(4, dtype=np.uint8), 1, axis=1)
    graphs = one_graph(np.zeros(side**2, int), edges)
    assert count_pattern(graphs, Pattern.of([0] * 4, ring | ring.T)).occurrences == side**2


def test_threads_change_nothing() -> None:
    """Work of millions of steps, far past the trial on one thread: from one hub, from few roots, from many."""
    rng = np.random.default_rng(5)
    n = 600
    edges = (rng.random((n, n)) < 8 / n).astype(np.uint8)
    edges[0, 1:] = 1
    hub = one_graph(np.minimum(np.arange(n), 1), edges)
    many = one_graph(np.zeros(n - 1, int), edges[1:, 1:])
    chain = np.eye(5, k=1, dtype=np.uint8)
    for graphs, pattern in (
        (hub, Pattern.of([0, 1, 1, 1, 1], hub_with_a_chord())),
        (one_graph(np.zeros(40, int), complete(40)), Pattern.of([0] * 6, complete(6))),
        (many, Pattern.of([0] * 5, chain)),
    ):
        one = count_pattern(graphs, pattern, threads=1)
        assert one.occurrences_quality == "exact"
        assert one.occurrences > 1_000_000
        for threads in (2, 5):
            other = count_pattern(graphs, pattern, threads=threads)
            assert {**asdict(other), "seconds": 0} == {**asdict(one), "seconds": 0}


def hub_with_a_chord() -> np.ndarray:
    """A hub with four leaves, two of which are tied."""
    edges = np.zeros((5, 5), np.uint8)
    edges[0, 1:] = 1
    edges[1, 2] = 1
    return edges


def test_running_out_of_time_gives_a_lower_bound() -> None:
    """7.5e10 occurrences, of which the core counts too few in the time it gets."""
    graphs = one_graph(np.zeros(60, int), complete(60))
    pattern = Pattern.of([0] * 10, complete(10))
    support = count_pattern(graphs, pattern, seconds=0.3)
    assert 0 < support.occurrences < comb(60, 10)
    assert (support.occurrences_quality, support.coverage_quality) == ("lower bound", "lower bound")
    # The greedy choice does not need them all, and says which graphs have any.
    assert (support.disjoint, support.disjoint_quality) == (6, "exact")
    assert (support.graphs, support.graphs_quality) == (1, "exact")
    counts, exact = count_patterns(graphs, PatternTable.from_keys([pattern.key]), seconds_per_pattern=0.2)
    assert 0 < counts[0] < comb(60, 10)
    assert not exact[0]


def test_no_time_at_all_claims_nothing() -> None:
    support = count_pattern(star(5), star_pattern(3), seconds=0)
    assert (support.occurrences, support.graphs, support.disjoint, support.coverage) == (0, 0, 0, 0)
    qualities = (
        support.occurrences_quality,
        support.graphs_quality,
        support.disjoint_quality,
        support.coverage_quality,
    )
    assert qualities == ("lower bound",) * 4


def test_what_cannot_occur_is_exactly_zero_without_any_time() -> None:
    chain = Pattern.of([1, 1], [[0, 1], [0, 0]])
    assert count_pattern(star(5), chain, seconds=0).occurrences_quality == "exact"


def test_the_total_time_ends_a_list() -> None:
    graphs = one_graph(np.zeros(60, int), complete(60))
    patterns = PatternTable.from_keys([Pattern.of([0] * k, complete(k)).key for k in (10, 10, 10)])
    found = verify_patterns(graphs, patterns, seconds_total=0.4)
    assert [support.occurrences_quality for support in found] == ["lower bound"] * 3
    assert found[0].occurrences > 0
    assert found[2].occurrences == 0


def test_verifying_many_equals_counting_each(mini: GraphSet) -> None:
    census = take_census(mini, 4)
    patterns = census.patterns.take(np.argsort(~census.counts, kind="stable")[:15])
    shares: list[float] = []

    def progress(share: float) -> bool:
        shares.append(share)
        return True

    found = verify_patterns(mini, patterns, progress=progress, examples=3)
    assert all(0 <= share <= 1 for share in shares)
    for pattern, support in zip(patterns, found, strict=True):
        single = Verifier(mini).support(pattern, examples=3)
        assert {**asdict(support), "seconds": 0} == {**asdict(single), "seconds": 0}
        assert support.examples == list_occurrences(mini, pattern, limit=3).tolist()
        assert len(support.examples) == min(3, int(support.occurrences))


def test_listing_stops_at_the_limit(mini: GraphSet) -> None:
    pattern, count = take_census(mini, 3).top(1)[0]
    rows = list_occurrences(mini, pattern)
    assert len(rows) == count
    np.testing.assert_array_equal(list_occurrences(mini, pattern, limit=10), rows[:10])
    assert list_occurrences(mini, pattern, limit=0).shape == (0, 3)


def test_types_are_matched_by_name() -> None:
    graphs = star(4)
    pattern = Pattern.of([1, 0], [[0, 1], [0, 0]], ["leaf", "hub"], ["nothing", "edge"])
    assert count_pattern(graphs, pattern).occurrences == 4
    assert count_pattern(graphs, Pattern.of([1, 0], [[0, 1], [0, 0]])).occurrences == 0  # leaf -> hub
    other_edge = Pattern.of([1, 0], [[0, 1], [0, 0]], ["leaf", "hub"], ["none", "skip"])
    assert count_pattern(graphs, other_edge) == Support(
        0, disjoint=0, coverage=0, mni=0, seconds=pytest.approx(0, abs=60)
    )
    unknown = Pattern.of([1, 2], [[0, 1], [0, 0]], ["leaf", "hub", "wheel"])
    assert count_pattern(graphs, unknown, supports=False).disjoint is None
    assert list_occurrences(graphs, unknown).shape == (0, 2)


def test_bad_input_is_refused() -> None:
    graphs = star(4)
    with pytest.raises(InputError, match="connected"):
        count_pattern(graphs, Pattern.of([0, 1], [[0, 0], [0, 0]]))
    with pytest.raises(InputError, match="connected"):
        count_patterns(graphs, PatternTable.from_keys(["0.1/"]))
    with pytest.raises(InputError, match="time limit"):
        count_pattern(graphs, star_pattern(3), seconds=-1)
    with pytest.raises(InputError, match="time limit"):
        verify_patterns(graphs, PatternTable.from_keys(["0.1/0>1"]), seconds_total=float("nan"))
    with pytest.raises(InputError, match="threads"):
        count_pattern(graphs, star_pattern(3), threads=0)
    with pytest.raises(InputError, match="occurrences to list"):
        list_occurrences(graphs, star_pattern(3), limit=-1)
    with pytest.raises(InputError, match="vocabulary has 1 node type"):
        count_pattern(graphs, Pattern.of([0, 1], [[0, 1], [0, 0]], ["hub"]))


def test_an_empty_set_has_no_occurrence() -> None:
    graphs = GraphSet.from_edges(
        node_counts=[0], node_types=[], edge_counts=[0], edges=[], node_vocabulary=["a"]
    )
    assert count_pattern(graphs, Pattern.of([0, 0], [[0, 1], [0, 0]])).occurrences == 0


def test_the_callback_can_stop_the_work() -> None:
    graphs = one_graph(np.zeros(60, int), complete(60))
    pattern = Pattern.of([0] * 10, complete(10))

    def stop(share: float) -> Any:
        return False

    with pytest.raises(Stopped):
        count_pattern(graphs, pattern, supports=False, progress=stop)
    with pytest.raises(Stopped):
        count_patterns(graphs, PatternTable.from_keys([pattern.key]), progress=stop)

"""Estimates of counts that were cut off: unbiased, from lists of a family of parts."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.stats import chi2

from grade.graphs import GraphSet, PatternTable
from grade.graphs.node_deletions import connected_parts
from grade.progress import Deadline, OutOfTime
from grade.sampling.census import Census, take_census
from grade.search import Constraints
from grade.search.beam import Bounds
from grade.sources import load
from grade.support import ESTIMATE, LOWER_BOUND, Support
from grade.verify import count_pattern, with_estimates
from grade.verify.estimates import REPLICATES, draw_counts, family_of, independent_choices, mean_and_error


@pytest.fixture(scope="module")
def mini() -> GraphSet:
    return load("zoo-mini")


@pytest.fixture(scope="module")
def censuses(mini: GraphSet) -> dict[int, Census]:
    return {k: take_census(mini, k) for k in (4, 6)}


def some(census: Census, count: int) -> PatternTable:
    """Patterns of all frequencies."""
    order = np.argsort(-census.counts.astype(np.int64), kind="stable")
    return census.patterns.take(order[:: max(len(order) // count, 1)][:count])


def test_every_pattern_of_a_family_has_a_part_in_it(censuses: dict[int, Census]) -> None:
    wanted = {4: some(censuses[4], 30), 6: some(censuses[6], 50)}
    family = family_of(wanted)
    assert [table.size for table in family] == [3, 4, 5, 6]
    for smaller, larger in pairwise(family):
        assert (connected_parts(larger, smaller) >= 0).any(axis=1).all()
        assert len(np.unique(larger.keys)) == len(larger)
    assert np.isin(wanted[4].keys, family[1].keys).all()
    assert set(wanted[6].keys.tolist()) == set(family[3].keys.tolist())
    assert family[0].node_vocabulary == wanted[4].node_vocabulary


def test_a_smaller_family_keeps_fewer_parts(censuses: dict[int, Census]) -> None:
    wanted = {6: some(censuses[6], 50)}
    wide, narrow = family_of(wanted), family_of(wanted, most=60)
    assert len(narrow[2]) < len(wide[2])
    assert (connected_parts(narrow[3], narrow[2]) >= 0).any(axis=1).all()


def test_counts_drawn_by_a_family_are_unbiased(mini: GraphSet, censuses: dict[int, Census]) -> None:
    """The mean over many seeds meets the census, pattern by pattern, at every size that was asked for."""
    wanted = {4: some(censuses[4], 40), 6: some(censuses[6], 400)}
    family = family_of(wanted)
    bounds = Bounds(capacity=5000, list_size=10)
    drawn = [
        replicate
        for seed in range(20)
        for replicate in draw_counts(mini, family, constraints=Constraints(), bounds=bounds, seed=seed)
    ]
    for k in (4, 6):
        counts, errors = mean_and_error([replicate[k - 3] for replicate in drawn])
        true = dict(zip(censuses[k].patterns.keys.tolist(), censuses[k].counts.tolist(), strict=True))
        truth = np.array([true.get(key, 0) for key in family[k - 3].keys.tolist()], float)
        estimated = (truth >= 60) & (errors > 0)  # rarer ones are met by too few seeds
        assert estimated.sum() > 10
        z = (counts - truth)[estimated] / errors[estimated]
        assert np.abs(z).max() < 4.5
        assert np.array_equal(counts[errors == 0], truth[errors == 0])


@pytest.mark.parametrize(("population", "size"), [(9, 3), (7, 2), (40, 1), (3, 3), (2, 5)])
def test_replicates_are_drawn_as_if_each_by_itself(population: int, size: int) -> None:
    """Every pair of samples is as likely as any other: all of one replicate by all of another, by a chi-square test."""
    random, times = np.random.default_rng(3), 20_000
    samples = [list(combinations(range(population), min(size, population)))] * 2
    numbers = {sample: number for number, sample in enumerate(samples[0])}
    table = np.zeros((len(numbers), len(numbers)), int)
    for _ in range(times):
        hidden = random.permutation(population)  # the listed members are the first ones of these
        listed = min(population, REPLICATES * size + 1)
        drawn = [hidden[rows] for rows in independent_choices(listed, population, size, random)]
        first, last = (numbers[tuple(sorted(one.tolist()))] for one in (drawn[0], drawn[-1]))
        table[first, last] += 1
    expected = times / table.size
    squares = ((table - expected) ** 2).sum() / expected
    assert squares < chi2.ppf(0.999, table.size - 1) if table.size > 1 else table.sum() == times


def test_the_different_patterns_of_tables(censuses: dict[int, Census]) -> None:
    table = some(censuses[4], 10)
    twice = PatternTable.concatenate([table, table.take([3, 1])]).unique()
    assert sorted(p.key for p in twice) == sorted(p.key for p in table)


def test_counts_of_fusible_occurrences_are_unbiased(mini: GraphSet, censuses: dict[int, Census]) -> None:
    """Many of these patterns have occurrences that are not fusible; those are in no estimate."""
    census = censuses[6]
    frequent = np.argsort(-census.counts.astype(np.int64), kind="stable")[:300]
    fusible = np.array([count_pattern(mini, census.patterns[i], fusible=True).occurrences for i in frequent])
    often, fusible = frequent[fusible >= 20], fusible[fusible >= 20]
    assert (fusible < census.counts[often]).sum() > 5
    table = census.patterns.take(often)
    family = family_of({6: table}, fusible=True)
    drawn = [
        replicate[-1]
        for seed in range(20)
        for replicate in draw_counts(
            mini,
            family,
            constraints=Constraints(fusible=True),
            bounds=Bounds(capacity=20_000, list_size=6),
            seed=seed,
        )
    ]
    counts, errors = mean_and_error(drawn)
    counts, errors = counts[family[-1].find(table)], errors[family[-1].find(table)]
    assert (errors > 0).sum() > 10
    z = (counts - fusible)[errors > 0] / errors[errors > 0]
    assert np.abs(z).max() < 4.5
    assert np.array_equal(counts[errors == 0], fusible[errors == 0])


def test_lower_bounds_stay_where_no_estimate_is_larger() -> None:
    ring = GraphSet.from_edges(
        node_counts=[4],
        node_types=[0] * 4,
        edge_counts=[4],
        edges=[[0, 1], [1, 2], [2, 3], [3, 0]],
        node_vocabulary=["node"],
    )
    pattern = take_census(ring, 4).patterns[0]
    for counted, fusible, quality in ((0, False, ESTIMATE), (1, False, LOWER_BOUND), (0, True, LOWER_BOUND)):
        (found,) = with_estimates(
            ring, [pattern], [Support(counted, LOWER_BOUND)], constraints=Constraints(fusible=fusible)
        )
        assert found.occurrences_quality == quality
        assert found.occurrences == (1 if quality == ESTIMATE else counted)


def test_estimates_stop_at_their_deadline(mini: GraphSet, censuses: dict[int, Census]) -> None:
    patterns = [p for p, _ in censuses[6].top(3)]
    with pytest.raises(OutOfTime):
        with_estimates(mini, patterns, [Support(0, LOWER_BOUND)] * 3, deadline=Deadline.after(0.0))

"""Counts of patterns that no search found: unbiased, by a family of their parts."""

from itertools import pairwise

import numpy as np
import pytest

from grade.graphs import GraphSet, PatternTable
from grade.graphs.node_deletions import connected_parts
from grade.progress import Deadline, OutOfTime
from grade.sampling.census import Census, take_census
from grade.search import Constraints, beam_search
from grade.search.beam import Bounds
from grade.search.reestimate import draw_counts, family_of, mean_and_error
from grade.sources import load
from tests.search.test_beam import EVERYTHING, search


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
        draw_counts(mini, family, constraints=Constraints(), bounds=bounds, seed=seed) for seed in range(80)
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


def test_the_different_patterns_of_tables(censuses: dict[int, Census]) -> None:
    table = some(censuses[4], 10)
    twice = PatternTable.concatenate([table, table.take([3, 1])]).unique()
    assert sorted(p.key for p in twice) == sorted(p.key for p in table)


def test_a_search_stops_at_its_deadline_with_the_levels_that_it_had(mini: GraphSet) -> None:
    """The level that was being made is dropped; those before it are what a search without deadline gives."""
    whole = search(mini, 6)

    class AfterLooks(Deadline):
        looks = 0

        @property
        def passed(self) -> bool:
            AfterLooks.looks += 1
            return AfterLooks.looks > 3

    steps = beam_search(
        mini,
        6,
        beam=10**9,
        score=lambda lists: lists.counts,
        constraints=Constraints(),
        bounds=EVERYTHING,
        deadline=AfterLooks(),
    )
    found = []
    with pytest.raises(OutOfTime):  # noqa: PT012 (what was handed out before the end stays)
        for level in steps:
            found.append(level)
    assert 1 <= len(found) < 4
    for level, other in zip(found, whole, strict=False):
        assert np.array_equal(level.lists.occurrences, other.lists.occurrences)
        assert np.array_equal(level.lists.counts, other.lists.counts)

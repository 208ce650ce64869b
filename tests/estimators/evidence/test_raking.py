"""Raking: shares of all possible patterns that add up to what is known exactly of their parts."""

import numpy as np
import pytest

from grade.estimators.evidence.apriori import possible_patterns
from grade.estimators.evidence.raking import of_parts, rake
from grade.graphs import PatternTable
from grade.graphs.node_deletions import connected_parts
from grade.sampling.census import Census, take_census
from grade.sampling.part_census import count_parts
from grade.sources import load

SIZE = 1e7  # of a sample, so large that nothing is left to chance


@pytest.fixture(scope="module")
def census() -> Census:
    return take_census(load("zoo-mini"), 4)


def parts_each(census: Census, parts: PatternTable) -> float:
    """Connected parts of an occurrence, on average."""
    return float(np.average((connected_parts(census.patterns, parts) >= 0).sum(1), weights=census.counts))


def known_parts(k: int = 4) -> tuple[PatternTable, np.ndarray]:
    beside = count_parts(load("zoo-mini"), k - 1).neighbours
    assert beside is not None
    return beside.tables[k - 1], beside.weights[k - 1]


def test_factors_of_parts_are_undone(census: Census) -> None:
    """True shares times a factor for each part: there is one way to agree, which is the truth."""
    parts, neighbours = known_parts()
    rows = connected_parts(census.patterns, parts)
    truth = np.log(census.counts / census.counts.sum())
    factors = np.random.default_rng(0).normal(0, 1, len(parts) + 1)  # and a constant
    wrong = truth + of_parts(factors, rows)
    wrong -= np.logaddexp.reduce(wrong)
    found = rake(wrong, census.patterns, parts, neighbours, parts_each(census, parts))
    assert np.abs(wrong - truth).mean() > 0.5
    np.testing.assert_allclose(wrong + found.shift(census.patterns), truth, atol=0.01)


def test_what_agrees_is_left_as_it_is(census: Census) -> None:
    parts, neighbours = known_parts()
    truth = np.log(census.counts / census.counts.sum())
    found = rake(truth, census.patterns, parts, neighbours, parts_each(census, parts))
    np.testing.assert_allclose(found.logarithms, 0, atol=1e-3)


def test_any_shares_add_up_to_the_neighbours(census: Census) -> None:
    parts, neighbours = known_parts()
    counts = count_parts(load("zoo-mini"), 3).counts
    possible = possible_patterns(counts, 4)
    assert possible is not None
    assert len(possible) > len(census.patterns)
    shares = np.random.default_rng(1).normal(0, 1, len(possible))
    shares -= np.logaddexp.reduce(shares)
    found = rake(shares, possible, parts, neighbours, parts_each(census, parts))
    rows = connected_parts(possible, parts)
    weights = np.repeat(np.exp(shares + found.shift(possible)), 4)
    sums = np.bincount(rows.ravel() + 1, weights, len(parts) + 1)[1:]
    np.testing.assert_allclose(sums / sums.sum(), neighbours / neighbours.sum(), rtol=0.02, atol=1e-7)


def test_relabelling_changes_nothing(census: Census) -> None:
    parts, neighbours = known_parts()
    shares = np.log(np.full(len(census.patterns), 1 / len(census.patterns)))
    found = rake(shares, census.patterns, parts, neighbours, parts_each(census, parts))
    order = [2, 0, 3, 1]
    shuffled = PatternTable(
        census.patterns.node_types[:, order],
        census.patterns.edges[:, order][:, :, order],
        census.patterns.automorphisms,
    )
    np.testing.assert_allclose(found.shift(shuffled), found.shift(census.patterns))

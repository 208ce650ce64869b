"""Supports of lists against plain Python."""

import numpy as np
import pytest
from numpy.typing import NDArray

from grade.graphs import GraphSet, PatternTable
from grade.progress import Deadline, OutOfTime
from grade.search import OccurrenceLists
from grade.search.ranking import CHUNK, RANKINGS, posterior_mean, ranking
from grade.search.supports import Supports
from grade.sources import load
from tests.search.test_beam import search


@pytest.fixture(scope="module")
def mini() -> GraphSet:
    return load("zoo-mini")


@pytest.fixture(scope="module")
def lists(mini: GraphSet) -> OccurrenceLists:
    return search(mini, 4)[-1].lists


def test_supports_of_lists(mini: GraphSet, lists: OccurrenceLists) -> None:
    found = lists.supports(mini)
    for pattern in range(0, len(lists), 7):
        rows = lists.occurrences[lists.rows(pattern)].tolist()
        assert found["coverage"][pattern] == len({node for nodes in rows for node in nodes})
        assert found["graphs"][pattern] == len({mini.graph_of(nodes[0]) for nodes in rows})


@pytest.mark.parametrize("name", ["graphs", "disjoint", "coverage", "mni"])
def test_rankings_order_by_support_then_by_count(mini: GraphSet, lists: OccurrenceLists, name: str) -> None:
    scores = ranking(name, mini, 10)(lists)
    order = np.argsort(-scores, kind="stable")
    support = Supports(mini).of(name, lists)[order]
    assert np.array_equal(support, np.floor(scores[order]))
    assert (np.diff(support) <= 0).all()
    equal = np.diff(support) == 0
    assert equal.any()
    assert (np.diff(lists.counts[order])[equal] <= 0).all()


def test_an_estimator_leaves_exact_counts_as_they_are(mini: GraphSet, lists: OccurrenceLists) -> None:
    rng = np.random.default_rng(0)
    guess = rng.normal(size=len(lists))
    by_key = dict(zip(lists.patterns.keys.tolist(), guess, strict=True))

    def log_probability(patterns: PatternTable) -> NDArray[np.float64]:
        return np.array([by_key[key] for key in patterns.keys.tolist()])

    scores = ranking("estimator", mini, 20, {4: log_probability})(lists)
    assert lists.exact.all()
    np.testing.assert_allclose(scores, np.log(lists.counts))
    assert np.array_equal(ranking("probability", mini, 20, {4: log_probability})(lists), guess)


@pytest.mark.parametrize("understated", [1.0, 4.0])
def test_the_posterior_mean_is_nearer_to_the_truth_than_counts_and_prior(understated: float) -> None:
    """Also where occurrences that grew from the same ones make counts less certain than their number says."""
    rng = np.random.default_rng(1)
    prior = rng.normal(-7, 1.5, 20_000)  # a log-probability: known up to a constant
    truth = prior + 12 + rng.normal(0, 0.8, len(prior))
    variances = rng.choice([0.0, 0.1, 1.0], len(truth))
    counts = np.exp(truth + rng.normal(0, np.sqrt(understated * variances)))
    found = posterior_mean(counts, variances, prior)
    exact = variances == 0
    np.testing.assert_allclose(found[exact], np.log(counts[exact]))
    errors = [float(((x - truth)[~exact] ** 2).mean()) for x in (found, np.log(counts), prior + 12)]
    assert errors[0] < 0.8 * min(errors[1:])


def test_good_counts_stand_against_an_estimator_that_is_far_off() -> None:
    """As with lattices around hubs, which are far more frequent than their parts let expect."""
    rng = np.random.default_rng(2)
    prior = rng.normal(-12, 1, 1000)
    lattices = np.arange(1000) < 200
    truth = prior + 21 + rng.normal(0, 0.7, 1000) + np.where(lattices, 4.0, 0.0)
    variances = np.where(lattices, 1 / 2000, 0.0)
    counts = np.exp(truth + rng.normal(0, np.sqrt(variances)))
    np.testing.assert_allclose(posterior_mean(counts, variances, prior), truth, atol=0.2)


def test_scoring_stops_at_the_deadline(mini: GraphSet, lists: OccurrenceLists) -> None:
    scored = []

    def log_probability(patterns: PatternTable) -> NDArray[np.float64]:
        scored.append(len(patterns))
        return np.zeros(len(patterns))

    class TwoLooks(Deadline):
        @property
        def passed(self) -> bool:
            return len(scored) == 2

    with pytest.raises(OutOfTime):
        ranking("estimator", mini, 20, {4: log_probability}, TwoLooks())(lists)
    assert scored == [CHUNK, CHUNK]
    assert sum(scored) < len(lists)


def test_an_unknown_ranking_is_refused(mini: GraphSet) -> None:
    with pytest.raises(ValueError, match="known: " + ", ".join(RANKINGS)):
        ranking("frequency", mini, 10)

"""Rank correlation with ties, and what has none."""

import itertools

import numpy as np
import pytest

from grade.errors import InputError
from grade.estimators import fit, plain_settings
from grade.evaluation.correlation import evaluate, kendall, spearman
from tests.estimators.spaces import census_201, uniform_sample

SCORES = np.array([0.5, 0.1, 0.1, 0.9, 0.4, 0.4])
COUNTS = np.array([4, 1, 2, 9, 9, 3])


def test_kendall_is_tau_b() -> None:
    pairs = list(itertools.combinations(range(6), 2))
    signs = [np.sign(SCORES[i] - SCORES[j]) * np.sign(COUNTS[i] - COUNTS[j]) for i, j in pairs]
    untied = [sum(x[i] != x[j] for i, j in pairs) for x in (SCORES, COUNTS)]
    assert kendall(SCORES, COUNTS) == pytest.approx(sum(signs) / np.sqrt(untied[0] * untied[1]))


def test_spearman_is_the_correlation_of_mean_ranks() -> None:
    ranks = [[np.mean(np.flatnonzero(np.sort(x) == v)) for v in x] for x in (SCORES, COUNTS)]
    assert spearman(SCORES, COUNTS) == pytest.approx(np.corrcoef(ranks)[0, 1])


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(InputError, match="2 scores cannot be compared with 3"):
        spearman(np.zeros(2), np.zeros(3))
    with pytest.raises(InputError, match="two different"):
        kendall(np.zeros(3), np.arange(3))
    with pytest.raises(InputError, match="two different"):
        spearman(np.zeros(0), np.zeros(0))
    with pytest.raises(InputError, match="not a number"):
        spearman(np.array([1.0, np.nan]), np.arange(2))


def test_the_sampling_baseline_scores_as_in_the_papers_table() -> None:
    """NAS-Bench-201, k = 4, density 0.1: the paper has rho 0.39 to 0.41 and tau 0.36 to 0.38."""
    table, counts = census_201(4)
    model = fit(uniform_sample(table, counts, 279, 0), plain_settings("frequency"))
    result = evaluate(model, table, counts)
    assert result.spearman == pytest.approx(0.40, abs=0.03)
    assert result.kendall == pytest.approx(0.37, abs=0.03)
    assert (result.patterns, result.evaluations_per_pattern) == (2295, 0)

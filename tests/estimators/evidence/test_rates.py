"""Rates: the likelihood against scipy's negative binomial, its derivatives, and what is found again."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import nbinom

from grade.estimators.evidence.rates import Rates, censored, fit_rates, uncensored

RATES = [1e-7, 3e-5, 2e-4, 0.01, 0.3, 2.0, 40.0]


@pytest.mark.parametrize("shape", [0.2, 1.0, 7.0])
def test_the_likelihood_is_that_of_a_negative_binomial(shape: float) -> None:
    for rate in RATES:
        for count in (0, 1, 2, 9):
            given = nbinom(shape, shape / (shape + rate))
            point = np.array([np.log(rate), 0.0, np.log(shape)])
            data = np.ones((1, 1)), np.array([count]), np.ones(1)
            whole = given.logpmf(count)
            assert uncensored(point, *data)[0] == pytest.approx(whole, rel=1e-6, abs=1e-12)
            expected = whole if count < 2 else given.logsf(1)
            assert censored(point, *data)[0] == pytest.approx(expected, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("log_likelihood", [censored, uncensored])
def test_derivatives_are_those_of_the_likelihood(log_likelihood: Callable[..., tuple[float, Any]]) -> None:
    generator = np.random.default_rng(0)
    features, counts = generator.normal(size=(50, 2)), generator.poisson(1.0, 50)
    multiplicity = generator.uniform(1, 5, 50)
    point = np.array([-0.4, 0.7, 0.2, 0.5])
    _, slopes = log_likelihood(point, features, counts, multiplicity)
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-6
        above, below = (
            log_likelihood(p, features, counts, multiplicity)[0] for p in (point + step, point - step)
        )
        assert slopes[i] == pytest.approx((above - below) / 2e-6, rel=1e-4)


def test_weights_and_shape_are_found_again() -> None:
    generator = np.random.default_rng(1)
    features = generator.normal(size=(40_000, 2))
    rate = np.exp(-1 + features @ np.array([0.8, 0.3]))
    counts = generator.poisson(rate * generator.gamma(2.0, 1 / 2.0, len(rate)))
    found = fit_rates(features, counts, np.ones(len(counts)), np.array([1.0, 0.0]))
    assert found.weights == pytest.approx((0.8, 0.3), abs=0.05)
    assert found.constant == pytest.approx(-1, abs=0.05)
    assert found.shape == pytest.approx(2.0, abs=0.5)


def test_patterns_stand_for_those_that_were_left_out() -> None:
    generator = np.random.default_rng(2)
    features = generator.normal(size=(40_000, 1))
    counts = generator.poisson(np.exp(-3 + 0.9 * features[:, 0]))
    whole = fit_rates(features, counts, np.ones(len(counts)), np.ones(1))
    kept = np.flatnonzero((counts > 0) | (generator.random(len(counts)) < 0.1))
    some = fit_rates(features[kept], counts[kept], np.where(counts[kept] > 0, 1.0, 10.0), np.ones(1))
    assert some.constant == pytest.approx(whole.constant, abs=0.1)
    assert some.weights == pytest.approx(whole.weights, abs=0.05)


def test_what_was_seen_is_expected_as_the_gamma_posterior_says() -> None:
    rates = Rates(0.0, (1.0,), 3.0)
    updated = np.exp(rates.updated(np.log([0.01, 0.01, 5.0]), np.array([0, 1_000, 5])))
    # (r + n) mu / (r + mu)
    assert updated == pytest.approx([0.01 * 3 / 3.01, 0.01 * 1_003 / 3.01, 5.0])


def test_a_pattern_that_is_surely_expected_is_known_by_its_count() -> None:
    rates = Rates(0.0, (1.0,), 1.0)
    updated = rates.updated(np.array([20.0, 80.0, 700.0, -700.0]), np.array([9.0, 4.0, 2.0, 0.0]))
    # mu (r + n) / (r + mu) is r + n for large mu, and mu for small ones, far beyond what exp can take
    assert updated == pytest.approx([np.log(10), np.log(5), np.log(3), -700.0], abs=1e-6)


def test_counts_of_patterns_that_were_all_seen_tell_how_frequent_each_is() -> None:
    generator = np.random.default_rng(3)
    features = generator.normal(size=(60, 1))
    counts = generator.poisson(np.exp(5 + 0.8 * features[:, 0]) * generator.gamma(4.0, 1 / 4.0, 60))
    assert counts.min() > 1  # so that censored counts would say nothing
    found = fit_rates(features, counts.astype(float), np.ones(60), np.ones(1), fixed=True)
    assert found.weights == pytest.approx((0.8,), abs=0.2)
    assert found.constant == pytest.approx(5, abs=0.2)
    assert found.shape == pytest.approx(4.0, rel=0.5)

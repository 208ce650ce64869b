"""Rates: the likelihood against scipy's negative binomial, its derivatives, and what is found again."""

import numpy as np
import pytest
from scipy.stats import nbinom

from grade.estimators.evidence.rates import Rates, fit_rates, log_likelihood

RATES = [1e-7, 3e-5, 2e-4, 0.01, 0.3, 2.0, 40.0]


@pytest.mark.parametrize("shape", [0.2, 1.0, 7.0])
def test_the_likelihood_is_that_of_a_negative_binomial(shape: float) -> None:
    for rate in RATES:
        for count in (0, 1, 2, 9):
            given = nbinom(shape, shape / (shape + rate))
            expected = given.logpmf(count) if count < 2 else given.logsf(1)
            point = np.array([np.log(rate), 0.0, np.log(shape)])
            value, _ = log_likelihood(point, np.ones((1, 1)), np.array([count]), np.ones(1))
            assert value == pytest.approx(expected, rel=1e-3, abs=1e-9)


def test_derivatives_are_those_of_the_likelihood() -> None:
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

"""The rates of patterns too many to list: those that counts were drawn with are found again."""

import numpy as np
import pytest

from grade.estimators.evidence.part_model import rates_of_seen


@pytest.mark.parametrize("shape", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("constant", [-3.0, 4.0])
def test_moments_find_the_rates_again(shape: float, constant: float) -> None:
    generator = np.random.default_rng(1)
    score = generator.normal(20.0 - constant, 1.0, 20_000)  # so often that nearly all are seen
    rates = np.exp(constant + score) * generator.gamma(shape, 1 / shape, len(score))
    counts = generator.poisson(rates).astype(np.float64)
    found = rates_of_seen(score, counts)
    assert found.shape == pytest.approx(shape, rel=0.1)
    assert found.constant == pytest.approx(constant, abs=0.1)


def test_one_overrated_pattern_does_not_hide_the_counts_of_the_others() -> None:
    score = np.linspace(0.0, 5.0, 100)
    counts = 3.0 * np.exp(score)
    score[0], counts[0] = 60.0, 2.0  # expected e^55 times as often as any other, and seen twice
    rates = rates_of_seen(score, counts)
    order = np.argsort(-rates.updated(rates.log_expected(score[:, None]), counts))
    assert order[:50].tolist() == list(range(99, 49, -1))


def test_few_counts_are_enough() -> None:
    found = rates_of_seen(np.array([1.0, 2.0, 3.0]), np.ones(3))
    assert np.isfinite(found.constant)
    assert found.shape > 0

"""Calibration: weights are found from the counts of seen classes alone, and models keep them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.stats import nbinom

from grade.estimators import calibration, fit, load_estimator, preset
from grade.estimators.calibration import calibrate
from grade.estimators.data import normalised
from grade.estimators.network import NetworkEstimator
from grade.estimators.shrinkage import shrink
from grade.evaluation.ranking import spearman
from grade.sampling import sample
from grade.sampling.census import take_census
from grade.sources import load


def seen_classes(
    weights: list[float],
    constant: float,
    classes: int,
    size: float,
    shape: float | None = None,
    seed: int = 0,
) -> tuple[np.ndarray, ...]:
    """Classes with features, and how often each was drawn; those that were not are unknown.

    With a shape, each class has a gamma-distributed factor of its own, of mean 1.
    """
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(classes, 3)) * [2.0, 1.0, 1.0]
    rate = size * np.exp(constant + features @ weights)
    if shape is not None:
        rate *= generator.gamma(shape, 1 / shape, classes)
    counts = generator.poisson(rate).astype(float)
    seen = counts > 0
    return features[seen, 0], features[seen, 1:], counts[seen], np.full(seen.sum(), size)


def test_the_true_weights_are_found_although_most_classes_were_never_seen() -> None:
    truth = [0.5, 0.2, 0.8]
    given = seen_classes(truth, -9.0, 20_000, 3_000.0)
    assert len(given[2]) < 0.5 * 20_000
    found = calibrate(*given)
    assert found.weights == pytest.approx(truth, abs=0.05)
    assert found.constant == pytest.approx(-9.0, abs=0.1)


def test_sampling_weights_are_taken_back() -> None:
    """Classes that the sampler prefers tenfold are drawn tenfold; the exposure says so."""
    generator = np.random.default_rng(1)
    features = generator.normal(size=(20_000, 3))
    exposure = np.where(features[:, 0] > 0, 10_000.0, 1_000.0)
    counts = generator.poisson(exposure * np.exp(-8.0 + features @ [0.3, 0.3, 0.3])).astype(float)
    seen = counts > 0
    found = calibrate(features[seen, 0], features[seen, 1:], counts[seen], exposure[seen])
    assert found.weights == pytest.approx([0.3, 0.3, 0.3], abs=0.05)


@pytest.mark.parametrize("shape", [0.5, 1.0, 4.0])
def test_the_true_weights_are_found_whatever_the_classes_have_of_their_own(shape: float) -> None:
    truth = [0.5, 0.2, 0.8]
    given = seen_classes(truth, -8.0, 20_000, 3_000.0, shape)
    assert len(given[2]) < 0.65 * 20_000
    found = calibrate(*given)
    assert found.weights == pytest.approx(truth, abs=0.05)
    assert found.constant == pytest.approx(-8.0, abs=0.1)


def test_few_classes_of_huge_counts_do_not_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Poisson distribution, which is the limit of large shapes, is led astray by the same counts."""
    truth = [0.5, 0.2, 0.8]
    given = [seen_classes(truth, -8.0, 20_000, 3_000.0, shape=0.3, seed=seed) for seed in range(4)]
    for _, _, counts, _ in given:
        assert np.sort(counts)[-len(counts) // 50 :].sum() > 0.2 * counts.sum()

    def errors() -> list[float]:
        return [float(np.abs(np.subtract(calibrate(*seen).weights, truth)).max()) for seen in given]

    assert max(errors()) < 0.06
    monkeypatch.setattr(calibration, "SHAPES", (12.0, 12.0))
    assert np.mean(errors()) > 0.1


def test_an_overconfident_model_is_taken_back() -> None:
    """Its logarithms are five times too large, and so is their spread, which must not make it resist."""
    log_share, evidence, counts, exposure = seen_classes([1.0, 0.0, 0.0], -8.0, 1_000, 3_000.0, 1.0)
    found = calibrate(5 * log_share, evidence, counts, exposure)
    assert found.weights[0] == pytest.approx(0.2, abs=0.03)
    assert found.weights[1:] == pytest.approx([0.0, 0.0], abs=0.1)


def test_no_weight_is_negative() -> None:
    assert min(calibrate(*seen_classes([0.5, -0.5, 0.2], -8.0, 20_000, 3_000.0)).weights) == 0.0
    assert min(calibrate(*seen_classes([0.5, -0.5, 0.2], -8.0, 20_000, 3_000.0, 0.5)).weights) == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_little_data_leaves_the_model_alone(seed: int) -> None:
    """Three classes or ten, each seen once or twice: nothing against the model."""
    generator = np.random.default_rng(seed)
    for classes in (3, 10):
        given = generator.normal(-6, 1, classes), generator.normal(3, 1, (classes, 2))
        counts = generator.integers(1, 3, classes).astype(float)
        found = calibrate(*given, counts, np.full(classes, 300.0))
        assert found.weights == pytest.approx([1.0, 0.0, 0.0], abs=0.2)


@pytest.mark.parametrize("value", [3.3, 2.7182818, 8.1234567])
def test_what_is_the_same_for_all_classes_gets_no_weight(value: float) -> None:
    """Other patterns, for which it is not the same, must not be scored by a rounding error."""
    log_share, evidence, counts, exposure = seen_classes([1.0, 0.3, 0.0], -8.0, 3_000, 3_000.0, 1.0)
    alike = np.full_like(log_share, value)
    found = calibrate(log_share, np.column_stack([evidence[:, 0], alike]), counts, exposure)
    assert found.weights == pytest.approx([1.0, 0.3, 0.0], abs=0.1)
    assert found.weights[2] < 1e-6
    # A model that tells no classes apart keeps its weight, which then says nothing of them.
    found = calibrate(-alike, evidence, counts, exposure)
    assert found.weights[0] == pytest.approx(1.0)


Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


def loss_of(monkeypatch: pytest.MonkeyPatch, given: tuple[np.ndarray, ...]) -> tuple[Loss, np.ndarray]:
    """The function that is minimized, and where it is least."""
    kept: list[Any] = []

    def spy(loss: Loss, *args: Any, **options: Any) -> Any:
        found = minimize(loss, *args, **options)
        kept.extend([loss, found.x])
        return found

    monkeypatch.setattr(calibration, "minimize", spy)
    calibrate(*given)
    loss, x = kept
    return loss, x


def test_the_gradient_is_that_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    loss, best = loss_of(monkeypatch, seen_classes([0.5, 0.2, 0.8], -8.0, 300, 3_000.0, 1.0))
    generator = np.random.default_rng(0)
    for _ in range(10):
        point = best + generator.normal(size=len(best))
        slopes = approx_fprime(point, lambda x: loss(x)[0], 1e-6)
        np.testing.assert_allclose(loss(point)[1], slopes, rtol=1e-4, atol=1e-2)
    assert np.abs(loss(best)[1]).max() < 1e-2  # no weight is at its bound here


def test_a_shape_is_known_where_classes_were_seen_more_than_once() -> None:
    many = seen_classes([1.0, 0.0, 0.0], -8.0, 3_000, 30_000.0, 2.0)
    assert calibrate(*many).shape == pytest.approx(2.0, rel=0.25)
    repeated = np.flatnonzero(many[2] > 1)
    once = np.flatnonzero(many[2] == 1)
    for number, known in ((9, False), (10, True)):
        rows = np.concatenate([once, repeated[:number]])
        assert (calibrate(*(column[rows] for column in many)).shape is not None) == known


def test_the_loss_is_the_negative_binomial_without_its_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Differences of the loss, less those of the pull, against scipy's distribution."""
    given = seen_classes([0.5, 0.2, 0.8], -8.0, 300, 3_000.0, 1.0)
    loss, best = loss_of(monkeypatch, given)
    features, counts, size = np.column_stack(given[:2]), given[2], given[3][0]
    scaled = (features - features.mean(0)) / features.std(0)
    spread = features[:, 0].std()

    def expected(point: np.ndarray) -> float:
        mean, shape = size * np.exp(point[0] + scaled @ point[1:-1]), np.exp(point[-1])
        law = nbinom(shape, shape / (shape + mean))
        pull = calibration.PULL * ((point[1] / spread - 1) ** 2 + (point[2:-1] ** 2).sum())
        return float(pull + point[-1] ** 2 / 2 - (law.logpmf(counts) - np.log1p(-law.pmf(0))).sum())

    generator = np.random.default_rng(1)
    points = [best + generator.normal(size=len(best)) * 0.7 for _ in range(5)]
    differences = [loss(p)[0] - loss(best)[0] for p in points]
    assert differences == pytest.approx([expected(p) - expected(best) for p in points], rel=1e-6)
    assert min(differences) > 0


def test_parts_improve_the_ranking_and_are_stored_with_the_model(tmp_path: Path) -> None:
    """On zoo-mini, where the parts tell more than a small network; without them nothing is weighed."""
    graphs = load("zoo-mini")
    census = take_census(graphs, 4)
    drawn = sample(graphs, 4, "rand-esu", density=0.3, census=census, seed=0)
    settings = preset("autoregressive", "fast", len(drawn), maximum_steps=80, folds=2, device="cpu")
    model = fit(drawn, settings)
    scores = model.log_probability(census.patterns)
    with_parts = spearman(scores, census.counts)
    model.save(tmp_path / "model")
    np.testing.assert_allclose(load_estimator(tmp_path / "model").log_probability(census.patterns), scores)

    assert isinstance(model, NetworkEstimator)
    held_out, (_, weighed) = model.weighing.calibrations[4].shape, model.weighing.shrinkages[4]
    assert held_out is not None
    refitted = shrink(
        model.weighing.calibrated(model.probabilities(model.networks, drawn.patterns), drawn.patterns),
        normalised(drawn),
    )
    assert weighed.shape**2 == pytest.approx(refitted.shape * held_out)
    assert weighed.shape != pytest.approx(refitted.shape, rel=0.01)

    model.settings = replace(model.settings, parts=False)
    plain = model.log_probability(census.patterns)
    assert with_parts > spearman(plain, census.counts) + 0.2
    without = fit(replace(drawn, parts=None), settings)
    np.testing.assert_allclose(without.log_probability(census.patterns), plain)

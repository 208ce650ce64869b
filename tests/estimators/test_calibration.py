"""Calibration: weights are found from the counts of seen classes alone, and models keep them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grade.estimators import fit, load_estimator, preset
from grade.estimators.calibration import calibrate
from grade.evaluation.ranking import spearman
from grade.sampling import sample
from grade.sampling.census import take_census
from grade.sources import load


def seen_classes(weights: list[float], constant: float, classes: int, size: float) -> tuple[np.ndarray, ...]:
    """Classes with features, and how often each was drawn; those that were not are unknown."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(classes, 3)) * [2.0, 1.0, 1.0]
    counts = generator.poisson(size * np.exp(constant + features @ weights)).astype(float)
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


def test_no_weight_is_negative_and_little_data_leaves_the_model_alone() -> None:
    assert min(calibrate(*seen_classes([0.5, -0.5, 0.2], -8.0, 20_000, 3_000.0)).weights) == 0.0
    few = calibrate(np.array([-5.0, -6.0]), np.zeros((2, 2)), np.ones(2), np.full(2, 100.0))
    assert few.weights == pytest.approx([1.0, 0.0, 0.0], abs=0.2)


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

    model.settings = replace(model.settings, parts=False)
    plain = model.log_probability(census.patterns)
    assert with_parts > spearman(plain, census.counts) + 0.2
    without = fit(replace(drawn, parts=None), settings)
    np.testing.assert_allclose(without.log_probability(census.patterns), plain)

"""Calibration: what is worth how much is found from what was hidden, and models keep it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nbinom, spearmanr

from grade.estimators import fit, load_estimator, preset
from grade.estimators.evidence import calibration, posterior
from grade.estimators.evidence.calibration import (
    Calibration,
    Rehearsal,
    calibrate,
    log_likelihood,
    log_scale,
    log_shape_of,
)
from grade.estimators.models.batches import TrainingData
from grade.estimators.models.network import NetworkEstimator
from grade.estimators.training.splits import hidden_occurrences
from grade.evaluation.ranking import spearman
from grade.sampling import sample
from grade.sampling.census import take_census
from grade.sources import load


def rehearsal(
    weights: list[float],
    constant: float,
    classes: int,
    size: float,
    shape: float | None = None,
    seed: int = 0,
    whole: bool = False,
) -> Rehearsal:
    """Classes with features, and how often each was shown and hidden (or all hidden); those that were neither are
    unknown.

    With a shape, each class has a gamma-distributed factor of its own, of mean 1.
    """
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(classes, 3)) * [2.0, 1.0, 1.0]
    rate = size * np.exp(constant + features @ weights)
    if shape is not None:
        rate *= generator.gamma(shape, 1 / shape, classes)
    shares = (0.0, 1.0) if whole else (0.8, 0.2)
    shown, hidden = (generator.poisson(share * rate).astype(float) for share in shares)
    known = shown + hidden > 0
    sizes = (share * size for share in shares)
    return Rehearsal(features[known, 0], features[known, 1:], shown[known], hidden[known], *sizes)


TRUTH = [0.5, 0.2, 0.8]


@pytest.mark.parametrize("shape", [0.5, 1.0, 4.0])
def test_the_true_values_are_found_although_many_classes_were_never_seen(shape: float) -> None:
    one = rehearsal(TRUTH, -8.0, 40_000, 3_000.0, shape)
    assert len(one.shown) < 0.65 * 40_000
    found = calibrate([one], 3_000.0)
    assert found.weights == pytest.approx(TRUTH, abs=0.07)
    assert found.shape == pytest.approx(shape, rel=0.2)
    assert found.constant == pytest.approx(-8.0, abs=0.15)


def test_classes_that_were_hidden_whole_tell_as_well() -> None:
    """With few occurrences hidden the weights are hardly known; a fifth of the classes hidden whole tells them."""
    few = rehearsal(TRUTH, -8.0, 500, 3_000.0, 1.0)
    more = rehearsal(TRUTH, -8.0, 5_000, 3_000.0, 1.0, 1, whole=True)
    errors = [
        np.abs(np.subtract(calibrate(some, 3_000.0).weights, TRUTH)).max() for some in ([few], [few, more])
    ]
    assert errors[1] < 0.06 < errors[0]


def test_several_rehearsals_are_one_body_of_evidence() -> None:
    parts = [rehearsal(TRUTH, -8.0, 500, 3_000.0, 1.0, seed) for seed in range(60)]
    errors = [
        np.abs(np.subtract(calibrate(some, 3_000.0).weights, TRUTH)).max() for some in (parts[:1], parts)
    ]
    assert errors[1] < 0.1 < errors[0]


def test_few_classes_of_huge_counts_do_not_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Poisson distribution, which is the limit of large shapes, is led astray by the same counts."""
    rehearsals = [rehearsal(TRUTH, -8.0, 20_000, 3_000.0, 0.3, seed, whole=True) for seed in range(1, 5)]
    shown = rehearsal(TRUTH, -8.0, 500, 3_000.0, 0.3)

    def errors() -> list[float]:
        fits = [calibrate([one, shown], 3_000.0) for one in rehearsals]
        return [float(np.abs(np.subtract(found.weights, TRUTH)).max()) for found in fits]

    assert max(errors()) < 0.06
    monkeypatch.setattr(calibration, "SHAPES", (12.0, 12.0))
    assert np.mean(errors()) > 0.1


def test_an_overconfident_model_is_taken_back() -> None:
    """Its logarithms are five times too large, and so is their spread, which must not make it resist."""
    one = rehearsal([1.0, 0.0, 0.0], -8.0, 20_000, 3_000.0, 1.0)
    found = calibrate([replace(one, log_probability=5 * one.log_probability)], 3_000.0)
    assert found.weights[0] == pytest.approx(0.2, abs=0.04)
    assert found.weights[1:] == pytest.approx([0.0, 0.0], abs=0.1)


@pytest.mark.parametrize("shape", [None, 0.5])
def test_no_weight_is_negative(shape: float | None) -> None:
    one = rehearsal([0.5, -0.5, 0.2], -8.0, 20_000, 3_000.0, shape)
    assert min(calibrate([one], 3_000.0).weights) == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_little_data_leaves_the_model_alone(seed: int) -> None:
    """Three classes or ten, each seen once or twice: nothing against the model."""
    generator = np.random.default_rng(seed)
    for classes in (3, 10):
        features = generator.normal(-6, 1, classes), generator.normal(3, 1, (classes, 2))
        shown = generator.integers(0, 3, classes).astype(float)
        shown[0] = 1.0
        found = calibrate([Rehearsal(*features, shown, np.where(shown == 0, 1.0, 0.0), 240.0, 60.0)], 300.0)
        assert found.weights == pytest.approx([1.0, 0.0, 0.0], abs=0.3)
        assert np.isfinite(found.score(*features, shown)).all()


@pytest.mark.parametrize("value", [3.3, 2.7182818, 8.1234567])
def test_what_is_the_same_for_all_classes_gets_no_weight(value: float) -> None:
    """Other patterns, for which it is not the same, must not be scored by a rounding error."""
    one = rehearsal([1.0, 0.3, 0.0], -8.0, 20_000, 3_000.0, 1.0)
    alike = np.full(len(one.shown), value)
    found = calibrate([replace(one, evidence=np.column_stack([one.evidence[:, 0], alike]))], 3_000.0)
    assert found.weights == pytest.approx([1.0, 0.3, 0.0], abs=0.1)
    assert found.weights[2] < 1e-6
    # A model that tells no classes apart keeps its weight, which then says nothing of them.
    assert calibrate([replace(one, log_probability=-alike)], 3_000.0).weights[0] == pytest.approx(1.0)


@pytest.mark.parametrize("shape", [0.5, 2.0, 8.0])
def test_a_model_alone_keeps_its_weight_and_its_shape_is_found(shape: float) -> None:
    one = rehearsal([1.0, 0.0, 0.4], -8.0, 4_000, 20_000.0, shape)
    assert calibrate([one], 20_000.0, weigh=False).weights == pytest.approx((1.0, 0.0, 0.0), abs=1e-12)
    one = rehearsal([1.0, 0.0, 0.0], -8.0, 8_000, 20_000.0, shape)
    assert calibrate([one], 20_000.0, weigh=False).shape == pytest.approx(shape, rel=0.15)


def test_a_model_that_knows_all_is_worth_more_than_any_count() -> None:
    assert calibrate([rehearsal([1.0, 0.0, 0.0], -8.0, 2_000, 20_000.0)], 20_000.0).shape > 100


def test_a_model_that_repeats_what_it_was_shown_is_worth_less_than_it_seems() -> None:
    """It knows the counts that it was shown, and of others no more than these say."""
    generator = np.random.default_rng(0)
    true = generator.gamma(0.5, 1.0, 3_000)
    true /= true.sum()
    shown, hidden = (generator.poisson(size * true).astype(float) for size in (8_000, 2_000))
    known = shown + hidden > 0
    repeated = np.log((shown + 0.05) / (shown + 0.05).sum())
    one = Rehearsal(repeated[known], np.zeros((known.sum(), 2)), shown[known], hidden[known], 8_000, 2_000)
    seen = one.shown > 0
    seeming = np.exp(log_shape_of(one.log_probability[seen], one.shown[seen]))
    assert calibrate([one], 10_000.0).shape < 0.2 * seeming


@pytest.mark.parametrize("shape", [0.5, 2.0, 8.0])
def test_the_shape_of_counts_that_were_seen(shape: float) -> None:
    one = rehearsal([1.0, 0.0, 0.0], -8.0, 4_000, 200_000.0, shape)
    seen = one.shown > 0
    assert np.exp(log_shape_of(one.log_probability[seen], one.shown[seen])) == pytest.approx(shape, rel=0.1)


def test_what_was_seen_is_expected_as_often_as_it_was_but_for_the_singletons() -> None:
    values, counts = np.log([0.5, 0.3, 0.1, 0.1]), np.array([6.0, 3.0, 1.0, 1.0])
    assert np.exp(values + log_scale(values, counts)).sum() == pytest.approx(9)


@pytest.mark.parametrize("size", [100.0, 1_000.0, 10_000.0])
@pytest.mark.parametrize("seed", range(3))
def test_together_they_rank_better_than_model_or_counts_alone(size: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    believed = generator.lognormal(0, 1.5, 600)
    believed /= believed.sum()
    true = believed * generator.gamma(1.5, 1 / 1.5, 600)
    shown, hidden = (generator.poisson(share * size * true).astype(float) for share in (0.8, 0.2))
    known, none = shown + hidden > 0, np.zeros((600, 2))
    one = Rehearsal(np.log(believed[known]), none[known], shown[known], hidden[known], 0.8 * size, 0.2 * size)
    both = calibrate([one], size).score(np.log(believed), none, shown + hidden)
    alone = [spearmanr(values, true)[0] for values in (believed, shown + hidden)]
    assert spearmanr(both, true)[0] > max(alone)


@pytest.mark.parametrize("before", [0.8, 0.0])
def test_the_likelihood_is_the_negative_binomial_given_what_was_shown(before: float) -> None:
    """Against scipy's distribution, without its zero where nothing was shown."""
    generator = np.random.default_rng(0)
    rate, shown = generator.lognormal(0, 2, 50), generator.integers(0, 4, 50).astype(float) * (before > 0)
    hidden = np.maximum(generator.integers(0, 4, 50), shown == 0).astype(float)
    shape, after = 1.7, 1 - before
    given = (np.log(rate), np.array(shape), shown, hidden, np.full(50, before), np.full(50, after))
    found = log_likelihood(*(torch.from_numpy(values) for values in given)).numpy()
    # The factor of a class, given what was shown, is gamma-distributed with shape r + n and rate r + before * lambda.
    success = (shape + before * rate) / (shape + (before + after) * rate)
    law = nbinom(shape + shown, success)
    expected = law.logpmf(hidden) - np.where(shown == 0, np.log1p(-law.pmf(0)), 0.0)
    # What depends on the hidden numbers alone was left out.
    constant = np.array([-np.log(np.arange(1, int(m) + 1)).sum() for m in hidden])
    np.testing.assert_allclose(found + constant, expected, rtol=1e-9)


@given(
    st.floats(0.01, 1e3),
    st.lists(st.tuples(st.floats(-20, 0), st.integers(0, 500)), min_size=1, max_size=20),
)
def test_a_correction_lies_between_the_model_and_the_count(
    shape: float, rows: list[tuple[float, int]]
) -> None:
    scores, counts = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    found = Calibration(0.3, (1.0, 0.0, 0.0), shape, 1_000.0)
    none = np.zeros((len(rows), 2))
    expected, corrected = (1_000 * np.exp(found.score(scores, none, given)) for given in (None, counts))
    np.testing.assert_allclose(expected, 1_000 * np.exp(scores + 0.3))
    assert (corrected >= np.minimum(expected, counts) * (1 - 1e-9)).all()
    assert (corrected <= np.maximum(expected, counts) * (1 + 1e-9)).all()


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


def test_networks_are_rehearsed_without_some_of_the_occurrences(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rehearsals were shown and what was hidden is the sample, and by that the model is weighed."""
    graphs = load("nas-bench-101").subset(np.arange(0, 423_624, 20))
    drawn = sample(graphs, 4, "rand-esu", density=0.4, seed=0)
    settings = preset("autoregressive", "fast", len(drawn), maximum_steps=40, folds=2, device="cpu")
    shown: dict[str, list[TrainingData]] = {}
    train_all, rehearsed = NetworkEstimator.train_all, []

    def record(self: Any, phase: str, data: list[TrainingData], steps: int, *rest: Any) -> Any:
        shown[phase] = data
        trained = train_all(self, phase, data, steps, *rest)
        assert phase != "rehearsal" or {t.step for t in trained} == {steps}
        return trained

    def remember(rehearsals: list[Rehearsal], size: float, weigh: bool = True) -> Calibration:
        rehearsed.append((rehearsals, weigh))
        return calibrate(rehearsals, size, weigh)

    monkeypatch.setattr(NetworkEstimator, "train_all", record)
    monkeypatch.setattr(posterior, "calibrate", remember)
    model = fit(drawn, settings)
    assert isinstance(model, NetworkEstimator)
    assert model.weighing.interchange
    assert list(shown) == ["trial", "rehearsal", "member"]
    assert [weigh for _, weigh in rehearsed] == [False, True]

    hidden = [hidden_occurrences([drawn], model.settings, fold)[0] for fold in range(2)]
    assert (hidden[0] + hidden[1] <= drawn.counts).all()
    _, rows = model.weighing.interchange.distinct(drawn.patterns)
    counts = np.bincount(rows, weights=drawn.counts)
    for own, data, one in zip(hidden, shown["rehearsal"], rehearsed[1][0], strict=True):
        assert own.sum() == pytest.approx(0.2 * len(drawn), abs=1)
        assert len(data.candidates) == (own < drawn.counts).sum()
        np.testing.assert_allclose(one.hidden, np.bincount(rows, weights=own))
        np.testing.assert_allclose(one.shown + one.hidden, counts)
    assert not np.array_equal(rehearsed[1][0][0].log_probability, rehearsed[1][0][1].log_probability)

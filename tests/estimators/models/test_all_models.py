"""The trained diffusion models and GraphVAE on real patterns: small networks, few steps, honest margins."""

from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from grade.errors import InputError
from grade.estimators import Estimator, fit, load_estimator, plain_settings
from grade.estimators.models.diffusion import Diffusion
from grade.estimators.models.network import NetworkEstimator
from grade.graphs import PatternTable
from grade.settings import EstimatorSettings
from tests.estimators.spaces import census_201, sample_of, settings_of, uniform_sample

MODELS = ["disco", "digress", "defog", "graphvae"]
SMALL = {
    "layers": 2,
    "width": 32,
    "edge_width": 16,
    "heads": 4,
    "dropout": 0.0,
    "batch": 64,
    "steps": 120,
    "warmup": 20,
    "learning_rate": 3e-3,
    "orders": "level",
    "rounds": 4,
    "path_steps": 5,
    "device": "cpu",
}


@cache
def trained(name: str) -> Estimator:
    table, counts = census_201(4)
    return fit(uniform_sample(table, counts, 279, 0), settings_of(name, SMALL))


@pytest.mark.parametrize("name", MODELS)
def test_it_learns_what_sampling_alone_cannot_see(name: str) -> None:
    """Counting the 279 occurrences ranks these types with rho 0.4."""
    table, counts = census_201(4)
    rows = np.arange(0, len(table), 4)
    baseline = fit(uniform_sample(table, counts, 279, 0), plain_settings("frequency"))
    score = trained(name).log_probability(table.take(rows))
    rho = spearmanr(score, counts[rows]).statistic
    assert rho > spearmanr(baseline.log_probability(table.take(rows)), counts[rows]).statistic + 0.25
    assert trained(name).evaluations == len(rows) * 4 * (1 if name == "graphvae" else 5)


@pytest.mark.parametrize("name", MODELS)
def test_a_pattern_and_its_transpose_get_different_scores(name: str) -> None:
    table, _ = census_201(4)
    rows = np.arange(40)
    transposed = PatternTable.canonical(
        table.node_types[rows],
        table.edges[rows].transpose(0, 2, 1),
        table.node_vocabulary,
        table.edge_vocabulary,
    )
    differs = transposed.keys != table.take(rows).keys
    change = trained(name).log_probability(transposed) - trained(name).log_probability(table.take(rows))
    assert differs.sum() > 20
    assert (np.abs(change[differs]) > 1e-3).all()


@pytest.mark.parametrize("name", MODELS)
def test_relabelling_and_batches_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, _ = census_201(4)
    model, rows = trained(name), np.arange(0, 2000, 100)
    whole = model.log_probability(table.take(rows))
    order = np.argsort(np.random.default_rng(3).random((len(rows), 4)), axis=1)
    relabelled = PatternTable.canonical(
        np.take_along_axis(table.node_types[rows], order, 1),
        table.edges[rows][np.arange(len(rows))[:, None, None], order[:, :, None], order[:, None, :]],
        table.node_vocabulary,
        table.edge_vocabulary,
    )
    assert model.log_probability(relabelled).tolist() == whole.tolist()
    monkeypatch.setattr(type(model), "rows_at_once", lambda self: 9)
    assert model.log_probability(table.take(rows)) == pytest.approx(whole, abs=1e-3)
    assert model.log_probability(table.take(rows[5:7])) == pytest.approx(whole[5:7], abs=1e-3)


def test_noise_of_its_own_belongs_to_the_pattern_not_to_its_row() -> None:
    table, _ = census_201(4)
    model, rows = trained("disco"), np.arange(0, 2000, 200)
    shared = model.settings
    try:
        model.settings = replace(shared, shared_noise=False)
        whole = model.log_probability(table.take(rows))
        assert model.log_probability(table.take(rows[::-1]))[::-1] == pytest.approx(whole, abs=1e-3)
        assert np.abs(whole - trained_scores(shared, table.take(rows))).max() > 1e-3
    finally:
        model.settings = shared


def test_a_fitted_model_follows_the_settings_of_its_process() -> None:
    """DeFoG-E's eta belongs to the paper's kernel alone, and can be changed after the training."""
    table, _ = census_201(4)
    patterns, model = table.take(np.arange(30)), trained("defog")
    before = model.settings
    scores = {}
    try:
        for kernel, eta in product(("paper", "bridge"), (1.0, 10.0)):
            model.settings = replace(before, kernel=kernel, eta=eta)
            scores[kernel, eta] = model.log_probability(patterns)
    finally:
        model.settings = before
    assert not np.allclose(scores["paper", 1.0], scores["paper", 10.0])
    assert np.array_equal(scores["bridge", 1.0], scores["bridge", 10.0])


def trained_scores(settings: EstimatorSettings, patterns: PatternTable) -> np.ndarray:
    model = trained("disco")
    model.settings = settings
    return model.log_probability(patterns)


@pytest.mark.parametrize("name", MODELS)
def test_a_stored_model_scores_the_same(name: str, tmp_path: Path) -> None:
    table, _ = census_201(4)
    model, patterns = trained(name), table.take(np.arange(30))
    model.save(tmp_path / "model")
    assert (
        load_estimator(tmp_path / "model").log_probability(patterns).tolist()
        == model.log_probability(patterns).tolist()
    )


@pytest.mark.parametrize("name", MODELS)
def test_one_network_for_several_sizes(name: str) -> None:
    three, four = census_201(3), census_201(4)
    settings = settings_of(name, SMALL, steps=60)
    model = fit([uniform_sample(*three, 200, 0), uniform_sample(*four, 200, 0)], settings)
    for table, counts in (three, four):
        rows = np.arange(0, len(table), max(1, len(table) // 200))
        assert spearmanr(model.log_probability(table.take(rows)), counts[rows]).statistic > 0.4


@pytest.mark.parametrize("name", MODELS)
def test_scores_stay_finite_where_training_saw_nothing_of_the_kind(name: str) -> None:
    chain, ring = [[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    table = PatternTable.canonical([[0, 0, 0]], [chain], ("seen", "unseen"))
    model = fit(
        sample_of(table, np.array([20])), settings_of(name, {**SMALL, "steps": 40, "kernel": "paper"})
    )
    strange = PatternTable.canonical([[1, 1, 1], [0, 0, 0]], [chain, ring], ("seen", "unseen"))
    scores = model.log_probability(strange)
    assert np.isfinite(scores).all()
    assert scores.max() < model.log_probability(table)[0]


@pytest.mark.parametrize("name", MODELS)
def test_bounds_keep_their_order_however_low_they_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loose bounds lie far below the uniform distribution, which must not hide what sets them apart."""
    table, _ = census_201(4)
    model, rows = trained(name), np.arange(0, 60, 20)
    assert isinstance(model, NetworkEstimator)
    bounds = torch.tensor([-900.0, -950.0, -901.0], dtype=torch.float64)
    monkeypatch.setattr(model, "log_likelihood", lambda *_: bounds)
    monkeypatch.setattr(model, "settings", replace(model.settings, orbit=False))
    assert model.probabilities(model.networks, table.take(rows)).tolist() == bounds.tolist()
    ring = np.roll(np.eye(4, dtype=int), 1, axis=1)
    outside = PatternTable.canonical([[0] * 4], [ring], table.node_vocabulary, table.edge_vocabulary)
    assert -np.inf < model.probabilities(model.networks, outside)[0] < bounds.min()


def test_marginals_are_those_of_the_sample() -> None:
    chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    table = PatternTable.canonical([[0, 0, 1], [1, 1, 1]], [chain, chain])
    model = fit(sample_of(table, np.array([3, 1])), settings_of("digress", SMALL, steps=1))
    assert isinstance(model, Diffusion)
    assert model.node_marginal.tolist() == pytest.approx([0.5, 0.5], abs=1e-3)
    assert model.edge_marginal.tolist() == pytest.approx([1 / 3, 2 / 3], abs=1e-3)  # two of three slots


def test_an_unknown_kernel_is_refused() -> None:
    table, counts = census_201(3)
    with pytest.raises(InputError, match="bridge, paper"):
        fit(uniform_sample(table, counts, 20, 0), settings_of("disco", SMALL, kernel="exact"))

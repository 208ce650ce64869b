"""What a GPU does differently, against what it must equal: compiled, resumed, and the CPU."""

import importlib.util
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from grade.estimators import fit, load_estimator
from grade.estimators.models.likelihood import path_step
from grade.estimators.models.network import NetworkEstimator
from grade.estimators.reports import TrainingReport
from grade.estimators.training import loop
from grade.estimators.training.compiling import Compiled, compiled
from grade.graphs import SubgraphSample
from grade.settings import EstimatorSettings
from tests.estimators.spaces import census_201, settings_of, uniform_sample

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

MODELS = ["autoregressive", "disco", "digress", "defog", "graphvae"]
# A large epsilon: gradients that are zero but for rounding must not be blown up to whole steps. Nothing to weigh,
# so that a fit is one training.
SMALL = {
    "layers": 2,
    "width": 32,
    "edge_width": 16,
    "heads": 4,
    "dropout": 0.0,
    "batch": 64,
    "steps": 60,
    "warmup": 5,
    "epsilon": 1e-3,
    "learning_rate": 3e-3,
    "orders": "level",
    "rounds": 4,
    "path_steps": 5,
    "device": "cuda",
}


def sample() -> SubgraphSample:
    return uniform_sample(*census_201(4), 279, 0)


def fitted(settings: EstimatorSettings, **options: Any) -> NetworkEstimator:
    model = fit(sample(), settings, **options)
    assert isinstance(model, NetworkEstimator)
    return model


def weights(model: NetworkEstimator) -> Tensor:
    """All weights end to end, on the CPU."""
    return torch.cat([p.detach().cpu().flatten() for network in model.networks for p in network.parameters()])


def assert_same_training(model: NetworkEstimator, other: NetworkEstimator) -> None:
    """The same weights but for rounding, which is far less than a few steps of training make."""
    early = weights(fitted(other.settings.changed(steps=other.settings.training.steps - 5)))
    moved = float((weights(other) - early).norm())
    assert moved > 0.01
    assert float((weights(model) - weights(other)).norm()) < 0.1 * moved


@pytest.mark.parametrize("name", ["autoregressive", "disco"])
def test_a_killed_training_goes_on_to_the_same_end(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LOG_EVERY", 10)
    settings = settings_of(name, SMALL, dropout=0.1)
    whole = fitted(settings)
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    reported: list[int] = []

    def dies(report: TrainingReport) -> None:
        reported.append(report.step)
        if report.step == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(settings, folder=tmp_path, report=dies)
    assert reported == [10, 20, 30, 40]
    reported.clear()
    resumed = fitted(settings, folder=tmp_path, report=lambda report: reported.append(report.step))
    assert reported == [40, 50, 60]  # the last checkpoint is that of step 39
    assert_same_training(resumed, whole)


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_the_cpu(name: str, tmp_path: Path) -> None:
    table, _ = census_201(4)
    patterns = table.take(np.arange(0, len(table), 10))
    for shared_noise in (True, False):
        settings = settings_of(name, {**SMALL, "order_draws": 2}, device="cpu", shared_noise=shared_noise)
        model = fitted(settings)
        model.save(tmp_path / "model")
        loaded = load_estimator(tmp_path / "model")
        assert isinstance(loaded, NetworkEstimator)
        assert loaded.device.type == "cuda"
        on_gpu, on_cpu = loaded.log_probability(patterns), model.log_probability(patterns)
        assert on_gpu == pytest.approx(on_cpu, abs=2e-3)
        assert loaded.evaluations == model.evaluations


@pytest.mark.parametrize("name", ["autoregressive", "disco", "digress", "defog"])
def test_a_compiled_network_scores_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, _ = census_201(4)
    model = fitted(settings_of(name, SMALL))
    plain, evaluations = model.log_probability(table), model.evaluations
    model.settings = replace(model.settings, compile=True)
    for limit in (model.rows_at_once(), 1024):  # type: ignore[attr-defined]  # all of these models have it
        monkeypatch.setattr(type(model), "rows_at_once", lambda self, limit=limit: limit)
        assert model.log_probability(table) == pytest.approx(plain, abs=2e-3)
        assert model.evaluations == evaluations
    if importlib.util.find_spec("triton") and (shutil.which("gcc") or shutil.which("cc")):
        used = compiled(model.networks[0] if name == "autoregressive" else path_step)
        assert used.fast is not used.plain  # it did not have to fall back


@pytest.mark.parametrize("name", ["autoregressive", "disco"])
def test_a_compiled_training_is_the_plain_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "COMPILED_STEPS", 1)
    plain = fitted(settings_of(name, SMALL))
    other = fitted(settings_of(name, SMALL, compile=True))
    assert float((weights(other) - weights(plain)).norm()) < 0.02 * float(weights(plain).norm())


@pytest.mark.parametrize("name", ["autoregressive", "disco"])
def test_bfloat16_scores_nearly_the_same(name: str) -> None:
    table, _ = census_201(4)
    model = fitted(settings_of(name, SMALL))
    plain = model.log_probability(table)
    model.settings = replace(model.settings, bfloat16=True)
    rounded = model.log_probability(table)
    assert not np.array_equal(rounded, plain)
    assert float(np.abs(rounded - plain).mean()) < 0.15 * float(plain.std())


def test_a_network_that_cannot_be_compiled_works_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        def fails(*_: Any) -> Any:
            raise RuntimeError("no compiler")

        return fails

    plain = fitted(settings_of("autoregressive", SMALL))
    monkeypatch.setattr(loop, "COMPILED_STEPS", 1)
    monkeypatch.setattr(torch, "compile", refuse)
    model = fitted(settings_of("autoregressive", SMALL, compile=True))
    assert isinstance(compiled(model.networks[0]), Compiled)
    table, _ = census_201(4)
    assert np.corrcoef(model.log_probability(table), plain.log_probability(table))[0, 1] > 0.9

"""Models fitted side by side are those of their own samples, each after its own number of steps."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from grade.estimators import fit, preset
from grade.estimators.diffusion import Diffusion
from grade.estimators.network import NetworkEstimator
from grade.estimators.side_by_side import fit_side_by_side, trainable_at_once
from grade.evaluation.ranking import spearman
from grade.graphs import SubgraphSample
from grade.settings import EstimatorSettings
from tests.estimators.spaces import census_201, uniform_sample

TABLE, COUNTS = census_201(4)
SMALL = {
    "layers": 1,
    "width": 32,
    "rounds": 4,
    "path_steps": 6,
    "device": "cpu",
    "epochs": 0.0,
    "shrink": False,
}


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NetworkEstimator, "together", property(lambda self: True))


def settings(estimator: str, steps: int, seed: int = 0) -> EstimatorSettings:
    return preset(estimator, "fast", 279, steps=steps, seed=seed, **SMALL)


def samples(*numbers: int) -> list[SubgraphSample]:
    return [uniform_sample(TABLE, COUNTS, number, seed) for seed, number in enumerate(numbers)]


def weights(model: NetworkEstimator) -> torch.Tensor:
    return torch.cat([parameter.flatten() for parameter in model.networks[0].parameters()])


@pytest.mark.parametrize("estimator", ["autoregressive", "disco", "defog", "digress", "graphvae"])
def test_each_model_learns_its_own_sample(estimator: str) -> None:
    drawn = samples(279, 150)
    models = fit_side_by_side(drawn, [settings(estimator, 60, seed) for seed in (0, 1)])
    rows = np.arange(0, len(TABLE), 4)
    for model in models:
        assert spearman(model.log_probability(TABLE.take(rows)), COUNTS[rows]) > 0.5
        assert model.fitted["steps"] == 60
    assert not torch.equal(*map(weights, models))
    if isinstance(models[0], Diffusion):
        marginals = [model.extra()["marginal.node"] for model in models]
        assert not torch.equal(*marginals)
        for model, sample in zip(models, drawn, strict=True):
            alone = fit(sample, settings(estimator, 1))
            assert isinstance(alone, Diffusion)
            assert torch.equal(model.extra()["marginal.node"], alone.extra()["marginal.node"])


def test_a_model_is_the_one_after_its_own_number_of_steps() -> None:
    """The first takes fewer steps than the second, and is what it is when both stop then."""
    drawn = samples(279, 279)
    long = fit_side_by_side(drawn, epochs := [replace(settings("disco", 0), epochs=e) for e in (10.0, 10.0)])
    assert long[0].fitted["steps"] == long[1].fitted["steps"]
    fewer = samples(140, 279)
    mixed = fit_side_by_side(fewer, epochs)
    assert mixed[0].fitted["steps"] < mixed[1].fitted["steps"] == long[1].fitted["steps"]
    cut = [replace(chosen, epochs=0.0, steps=mixed[0].fitted["steps"]) for chosen in epochs]
    assert torch.equal(weights(mixed[0]), weights(fit_side_by_side(fewer, cut)[0]))


def test_what_cannot_be_trained_at_once_is_trained_in_turn() -> None:
    drawn = samples(279, 150)
    chosen = [settings("disco", 20), settings("digress", 20)]
    together = fit_side_by_side(drawn, chosen)
    assert [type(model).__name__ for model in together] == ["Disco", "Digress"]
    for sample, own, model in zip(drawn, chosen, together, strict=True):
        alone = fit(sample, own)
        assert isinstance(alone, NetworkEstimator)
        assert torch.equal(weights(model), weights(alone))


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({}, [20, 0]),
        ({"members": 2}, [20, 20]),
        ({"schedule": "cosine"}, [20, 30]),
        ({"shrink": True}, [20, 20]),
        ({"width": 16}, [20, 20]),
    ],
)
def test_which_models_can_be_trained_at_once(changes: dict[str, object], steps: list[int]) -> None:
    first, second = samples(279, 150)
    same = settings("disco", 20)

    def models(other: EstimatorSettings) -> list[NetworkEstimator]:
        result = []
        for sample, chosen in ((first, same), (second, other)):
            model = fit(sample, replace(chosen, steps=1))
            assert isinstance(model, NetworkEstimator)
            result.append(model)
        return result

    assert trainable_at_once(models(same), [first, second], [20, 30])
    both = models(replace(same, **changes))
    if set(changes) <= {"members", "schedule", "shrink"}:
        for model in both:
            model.settings = replace(model.settings, **changes)
    assert not trainable_at_once(both, [first, second], steps)

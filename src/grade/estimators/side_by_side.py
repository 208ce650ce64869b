"""Models of several samples, fitted side by side: as `grade.estimators.stack` does for the members of one model.

For experiments that fit the same kind of model to many small samples on a GPU. Networks have to be of one shape, and
the number of their steps known; each takes its own number of steps, and the longest decides when the training ends.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from grade.estimators.base import estimators
from grade.estimators.data import TrainingData
from grade.estimators.network import NetworkEstimator, fixed_steps
from grade.estimators.stack import Stack, stacked
from grade.estimators.training import train
from grade.estimators.world import one_thread
from grade.graphs import SubgraphSample
from grade.settings import EstimatorSettings


@one_thread()
def fit_side_by_side(
    samples: Sequence[SubgraphSample], settings: Sequence[EstimatorSettings]
) -> list[NetworkEstimator]:
    """A fitted model for each sample; one after the other where they cannot be trained at once."""
    started = time.monotonic()
    models = []
    for chosen in settings:
        model = estimators[chosen.estimator]()
        assert isinstance(model, NetworkEstimator)
        models.append(model)
    data = [
        model.begin([sample], chosen) for model, sample, chosen in zip(models, samples, settings, strict=True)
    ]
    steps = [fixed_steps(chosen, len(sample)) for sample, chosen in zip(samples, settings, strict=True)]
    if not trainable_at_once(models, samples, steps):
        for model, sample, chosen in zip(models, samples, settings, strict=True):
            model.fit(sample, chosen)
        return models
    networks = train_at_once(models, data, steps)
    seconds = (time.monotonic() - started) / len(models)
    for model, sample, network, number in zip(models, samples, networks, steps, strict=True):
        model.finish([sample], [network], number, [], time.monotonic() - seconds)
    return models


def trainable_at_once(
    models: Sequence[NetworkEstimator], samples: Sequence[SubgraphSample], steps: Sequence[int]
) -> bool:
    """Whether the networks are of one shape and learn in the same way, for a known number of steps, and are all that
    the models have to learn.
    """
    alike = {
        (type(model), model.space, model.weighing.interchange, replace(model.settings, seed=0))
        for model in models
    }
    chosen = models[0].settings
    known = all(steps) and (chosen.schedule == "constant" or len(set(steps)) == 1)
    plain = chosen.members == 1 and not any(
        model.weighing.wanted([sample], chosen) for model, sample in zip(models, samples, strict=True)
    )
    return len(models) > 1 and len(alike) == 1 and known and plain and models[0].together


def train_at_once(
    models: Sequence[NetworkEstimator], data: Sequence[TrainingData], steps: Sequence[int]
) -> list[nn.Module]:
    """The averaged network of each model after its own number of steps."""
    first, joined = models[0], TrainingData.join(data)
    networks: dict[int, nn.Module] = {}

    def draw(batch: int) -> tuple[Any, ...]:
        graphs = joined.draw(batch)
        # Each model has noise of its own: its marginals are those of its sample.
        own = [
            model.draw_noise(graphs.take(torch.arange(i * batch, (i + 1) * batch, device=first.device)))
            for i, model in enumerate(models)
        ]
        return graphs, *map(torch.cat, zip(*own, strict=True))

    def keep(step: int, average: nn.Module) -> None:
        assert isinstance(average, Stack)
        for i, wanted in enumerate(steps):
            if wanted == step:
                networks[i] = average.member(i).requires_grad_(False)

    seeds = [model.settings.seed * 1_000 + i for i, model in enumerate(models)]
    train(
        lambda: Stack(first.build, seeds, first.device),
        draw,
        stacked(first.loss),
        first.settings,
        steps=max(steps),
        seed=first.settings.seed,
        device=first.device,
        after_step=keep,
    )
    return [networks[i] for i in range(len(models))]

"""Common base of all estimators with a network: fit, choice of the number of steps, scoring, storage.

A subclass gives three things: the network, the loss of a batch of ordered graphs, and the log-likelihood of
patterns.

The number of steps matters most for accuracy, and the likelihood of held-out *occurrences* cannot choose it: it still
improves while the ranking of rare patterns gets worse. So whole *patterns* are held out, with all their occurrences,
and the number of steps maximises their class likelihood. The final networks are trained on all patterns for that many
steps, one after the other from several seeds, and their probabilities are averaged. The network of this first
training, the trial, is kept until the fit is over: its scores of held-out patterns determine the weight of the
network in the posterior (`grade.estimators.evidence.posterior`).
"""

import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grade.estimators.models import orders
from grade.estimators.models.batches import Candidates, TrainingData
from grade.estimators.models.encoding import Graphs, encode, pattern_keys
from grade.estimators.protocol import (
    Samples,
    as_samples,
    checked,
    normalised,
    read_model,
    shown,
    stored_settings,
    write_model,
)
from grade.estimators.reports import FitReport, Report
from grade.estimators.space import GraphSpace
from grade.estimators.training.checkpoints import Checkpoints
from grade.estimators.training.devices import one_thread, pick_device
from grade.estimators.training.loop import Trained, train
from grade.estimators.training.splits import held_out_patterns
from grade.graphs import PatternTable, SubgraphSample
from grade.settings import EstimatorSettings, NetworkSettings, TrainingSettings

# The floor of models that give bounds of likelihoods, however loose: below any of them.
BELOW_BOUNDS = -1e6
FEWEST_PATTERNS = 10  # fewer are too few to hold some out
FEW_STEPS = 300
LARGEST_ON_CPU = 8  # nodes of patterns that are trained on in minutes

Own = TypeVar("Own", bound=NetworkSettings)


class NetworkEstimator(ABC, Generic[Own]):
    """An estimator whose distribution is a neural network's, with settings of its own."""

    settings_type: ClassVar[type[EstimatorSettings]]
    settings: Own

    # Logarithm of the weight of the uniform distribution that keeps every score finite.
    floor: ClassVar[float] = math.log(1e-9)

    def __init__(self) -> None:
        self.evaluations = 0
        self.fitted = FitReport(seconds=0.0)
        self.networks: list[nn.Module] = []
        # Of the last fit: the network of the trial, and the held-out patterns of each sample.
        self.trial: nn.Module | None = None
        self.held_out: list[NDArray[np.bool_]] = []
        # Asked once there is a trial: where the answer is no, there is nothing to train further networks for.
        self.worth: Callable[[], bool] = lambda: True

    __repr__ = shown

    # Defined by each model.

    @abstractmethod
    def build(self) -> nn.Module:
        """A new network with random weights for ``self.space`` and ``self.settings``."""

    @abstractmethod
    def loss(self, network: nn.Module, graphs: Graphs, *noise: Tensor) -> Tensor:
        """Training loss of ordered graphs, a scalar; ``noise`` is what `draw_noise` gave."""

    def draw_noise(self, graphs: Graphs) -> tuple[Tensor, ...]:
        """The random part of the loss that depends on the graphs, as tensors [n, ...]."""
        return ()

    @abstractmethod
    def log_likelihood(self, network: nn.Module, candidates: Candidates, settings: Own) -> Tensor:
        """[n] float64 log-likelihood of each pattern, without the division by |Aut| (see
        `grade.estimators.models.orders`).
        """

    def prepare(self, data: TrainingData) -> None:
        """Compute statistics of the data that the model needs besides the network, such as marginals."""
        return

    def extra(self) -> dict[str, Tensor]:
        """The statistics of `prepare`, to be stored with the model."""
        return {}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Restore the statistics that `extra` gave."""
        return

    @abstractmethod
    def validation_settings(self) -> Own:
        """Cheaper scoring for the held-out patterns."""

    # Fitting.

    @one_thread()
    def fit(
        self,
        sample: Samples,
        settings: Own,
        *,
        folder: Path | None = None,
        report: Report | None = None,
    ) -> None:
        started, samples = time.monotonic(), as_samples(sample)
        self.space = GraphSpace.of(samples)
        self.settings = for_space(settings, self.space)
        self.device = pick_device(settings.device)
        if settings.device == "auto" and self.device.type == "cpu" and self.space.capacity > LARGEST_ON_CPU:
            warnings.warn(
                f"There is no GPU, and training on patterns of {self.space.capacity} nodes may take hours; with"
                " `estimator` parts it takes seconds.",
                stacklevel=2,
            )
        checkpoints = Checkpoints(folder, self.settings, samples, report)
        everything = self.training_data(samples, [np.ones(len(s.patterns), np.bool_) for s in samples])
        self.prepare(everything)
        steps = fixed_steps(settings.training, sum(len(s) for s in samples))
        history: list[tuple[int, float]] = []
        if sum(len(s.patterns) for s in samples) < FEWEST_PATTERNS:
            steps = steps or min(FEW_STEPS, settings.training.maximum_steps)
        elif not steps or settings.evidence:
            self.held_out = held_out_patterns(samples, settings.seed)
            shown = self.training_data(samples, [~held for held in self.held_out])
            validate = None if steps else self.held_out_loss(samples)
            done = self.train(
                "trial",
                shown,
                steps or settings.training.maximum_steps,
                validate,
                settings.seed + 1000,
                checkpoints,
            )
            self.trial, steps, history = done.network, done.step, done.history
        members = [
            self.train(f"member-{i}", everything, steps, None, settings.seed + i, checkpoints)
            for i in range(settings.training.members if self.trial is None or self.worth() else 0)
        ]
        self.networks = [member.network for member in members]
        self.fitted = FitReport(
            steps=steps,
            parameters=sum(p.numel() for p in (self.trial or self.networks[0]).parameters()),
            seconds=time.monotonic() - started,
            held_out=history,
        )

    def held_out_loss(self, samples: list[SubgraphSample]) -> Callable[[nn.Module], float]:
        """Minus the mean class log-likelihood of the patterns that were held out."""
        settings = self.validation_settings()
        tables = [
            s.patterns.take(np.flatnonzero(held))
            for s, held in zip(samples, self.held_out, strict=True)
            if held.any()
        ]
        parts = [self.candidates(table) for table in tables]
        symmetry = sum(float(orders.log_symmetry(table, settings.orders).sum()) for table in tables)
        number = sum(map(len, tables))

        def loss(network: nn.Module) -> float:
            total = sum(float(self.log_likelihood(network, part, settings).sum()) for part in parts)
            return (symmetry - total) / number

        return loss

    def draw(self, data: TrainingData, batch: int) -> tuple[Any, ...]:
        """A batch of graphs and their noise, the arguments of `loss` besides the network."""
        graphs = data.draw(batch)
        return graphs, *self.draw_noise(graphs)

    def train(
        self,
        phase: str,
        data: TrainingData,
        steps: int,
        validate: Callable[[nn.Module], float] | None,
        seed: int,
        checkpoints: Checkpoints,
    ) -> Trained:
        done = checkpoints.load(phase, self.build)
        if done is None:
            done = train(
                self.build,
                partial(self.draw, data),
                self.loss,
                self.settings.training,
                steps=steps,
                seed=seed,
                device=self.device,
                bfloat16=self.settings.bfloat16,
                compile=self.settings.compile,
                validate=validate,
                checkpoint=checkpoints.checkpoint(phase),
                phase=phase,
                report=checkpoints.report(phase),
            )
            checkpoints.save(phase, done)
        done.network.to(self.device).eval().requires_grad_(False)
        return done

    def training_data(self, samples: list[SubgraphSample], shown: list[NDArray[np.bool_]]) -> TrainingData:
        """The training patterns; each size gets the same share of the batches."""
        tables, shares = [], []
        for sample, rows in zip(samples, map(np.flatnonzero, shown), strict=True):
            if len(rows):
                weights = normalised(sample)[rows]
                tables.append(self.candidates(sample.patterns.take(rows)))
                shares.append(weights / weights.sum())
        cumulative = np.cumsum(np.concatenate(shares))
        return TrainingData(
            Candidates.join(tables), torch.from_numpy(cumulative / cumulative[-1]).to(self.device)
        )

    def candidates(self, patterns: PatternTable, graphs: Graphs | None = None) -> Candidates:
        """The patterns ready to be scored; ``graphs`` are the same patterns, if they are encoded already."""
        if graphs is None:
            graphs, _ = encode(self.space, patterns, self.device)
        return Candidates(
            graphs,
            orders.precedence(graphs.edges, graphs.sizes, self.settings.orders),
            torch.from_numpy(orders.count_orders(patterns, self.settings.orders)).to(self.device),
            pattern_keys(patterns, self.device),
        )

    # Scoring.

    def log_probability(self, patterns: PatternTable) -> NDArray[np.float64]:
        """[n] log-probability of each class."""
        return self.probabilities(self.networks, patterns)

    @one_thread()
    def probabilities(self, networks: Sequence[nn.Module], patterns: PatternTable) -> NDArray[np.float64]:
        """[n] log-probability of each class.

        The mean of the networks' probabilities, mixed with a little of the uniform distribution over all typed
        digraphs: a pattern that the model cannot describe (a cycle or a self-loop where the sample had none) gets
        that part only.
        """
        self.space.check(patterns)
        self.evaluations = 0
        values = np.stack([self.network_values(network, patterns) for network in networks])
        mean = np.logaddexp.reduce(values, axis=0) - math.log(len(values))
        return np.asarray(np.logaddexp(mean, self.floor + self.space.log_uniform(patterns)))

    def network_values(self, network: nn.Module, patterns: PatternTable) -> NDArray[np.float64]:
        """[n] log-probability of each class under a network; -inf outside the model's space."""
        graphs, inside = encode(self.space, patterns, self.device)
        values = np.full(len(patterns), -np.inf)
        if inside.any():
            row = np.flatnonzero(inside)
            candidates = self.candidates(
                patterns.take(row), graphs.take(torch.from_numpy(row).to(self.device))
            )
            values[inside] = checked(self.log_likelihood(network, candidates, self.settings).cpu().numpy())
        return values - orders.log_symmetry(patterns, self.settings.orders) if self.settings.orbit else values

    # Storage.

    def describe(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        tensors = {name: tensor.cpu().numpy() for name, tensor in self.extra().items()}
        for i, network in enumerate(self.networks):
            tensors |= {f"network.{i}.{name}": t.cpu().numpy() for name, t in network.state_dict().items()}
        return {
            "settings": self.settings.to_json(),
            "space": self.space.to_json(),
            "fitted": self.fitted.to_json(),
        }, tensors

    def save(self, folder: Path) -> None:
        write_model(folder, *self.describe())

    @classmethod
    def restored(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        model = cls()
        model.settings = cast(Own, stored_settings(description))
        model.space = GraphSpace.from_json(description["space"])
        model.fitted = FitReport.from_json(description["fitted"])
        model.device = pick_device("auto")
        tensors = {name: torch.from_numpy(array).to(model.device) for name, array in arrays.items()}
        model.restore(tensors)
        for i in range(model.settings.training.members):
            network = model.build().to(model.device).eval().requires_grad_(False)
            prefix = f"network.{i}."
            network.load_state_dict(
                {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
            )
            model.networks.append(network)
        return model

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls.restored(*read_model(folder))


def for_space(settings: Own, space: GraphSpace) -> Own:
    """The settings with an order family that contains every matrix of the space.

    Where patterns have cycles, some matrices of a class are in no linear order, and yet the network gives them a share
    of its probability: those of all classes would add up to less than one.
    """
    if settings.orders == "linear" and not space.acyclic:
        return replace(settings, orders="all")
    return settings


def fixed_steps(settings: TrainingSettings, occurrences: int) -> int:
    """The number of steps that the settings ask for; 0 if held-out patterns are to decide."""
    if settings.epochs > 0:
        return max(1, math.ceil(settings.epochs * occurrences / settings.batch))
    return settings.steps

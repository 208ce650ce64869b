"""What all estimators with a network share: fit, choice of the number of steps, ensemble, scoring, storage.

A subclass gives three things: the network, the loss of a batch of ordered graphs, and the log-likelihood of
patterns.

How many steps to train is where most accuracy is won or lost, and the likelihood of held-out *occurrences*
does not tell (it still improves while the ranking of rare types gets worse). So whole *types* are held out,
a share of them with all their occurrences, and the number of steps is the one at which the class likelihood
of those unseen types is best. The final networks are trained on all types for that many steps, from several
seeds, and their probabilities are averaged. What else is known is weighed by rehearsals, in which
*occurrences* are hidden.

A network knows only one of the node types that are interchangeable: all patterns that it is shown or asked for have
these merged. How scores come from its probabilities is in `grade.estimators.evidence.posterior`.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grade.errors import InputError
from grade.estimators.evidence.posterior import FEWEST_TYPES, Weighing
from grade.estimators.models import orders
from grade.estimators.models.batches import Candidates, TrainingData, normalised
from grade.estimators.models.encoding import Graphs, GraphSpace, pattern_keys
from grade.estimators.protocol import Samples, as_samples, read_model, write_model
from grade.estimators.training.checkpoints import Checkpoints
from grade.estimators.training.devices import one_thread, pick_device
from grade.estimators.training.loop import Report, Trained, train
from grade.estimators.training.splits import held_out_types, hidden_occurrences
from grade.graphs import PatternTable, SubgraphSample
from grade.settings import EstimatorSettings

# The floor of models that give bounds of likelihoods, however loose: below any of them.
BELOW_BOUNDS = -1e6


class NetworkEstimator(ABC):
    """An estimator whose distribution is a neural network's."""

    # Logarithm of the weight of the uniform distribution that keeps every score finite.
    floor: ClassVar[float] = math.log(1e-9)

    def __init__(self) -> None:
        self.settings = EstimatorSettings()
        self.evaluations = 0
        self.fitted: dict[str, Any] = {}
        self.networks: list[nn.Module] = []

    # What a model defines.

    @abstractmethod
    def build(self) -> nn.Module:
        """A new network with random weights for ``self.space`` and ``self.settings``."""

    @abstractmethod
    def loss(self, network: nn.Module, graphs: Graphs, *noise: Tensor) -> Tensor:
        """Training loss of ordered graphs, a scalar; ``noise`` is what `draw_noise` gave."""

    def draw_noise(self, graphs: Graphs) -> tuple[Tensor, ...]:
        """What of the loss's randomness depends on the model's data, as tensors [n, ...]."""
        return ()

    @abstractmethod
    def log_likelihood(
        self, network: nn.Module, candidates: Candidates, settings: EstimatorSettings
    ) -> Tensor:
        """[n] float64 log-likelihood of each pattern, without the division by |Aut| (see
        `grade.estimators.models.orders`).
        """

    def prepare(self, data: TrainingData) -> None:
        """Learn what the model needs to know of the data besides the network (marginals, say)."""
        return

    def extra(self) -> dict[str, Tensor]:
        """What `prepare` learned, to be stored with the model."""
        return {}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take back what `extra` gave."""
        return

    def validation_settings(self) -> EstimatorSettings:
        """Cheaper scoring for the held-out types."""
        return replace(self.settings, order_draws=min(self.settings.order_draws, 4))

    # Fitting.

    @one_thread()
    def fit(
        self,
        sample: Samples,
        settings: EstimatorSettings,
        *,
        folder: Path | None = None,
        report: Report | None = None,
        threads: int = 1,
    ) -> None:
        started = time.monotonic()
        samples = as_samples(sample)
        everything = self.begin(samples, settings)
        phases = Checkpoints(folder, settings, samples, report)
        weights = [normalised(s) / len(s) for s in samples]
        steps, trials = fixed_steps(settings, sum(len(s) for s in samples)), []
        if not steps and sum(len(s.patterns) for s in samples) < FEWEST_TYPES:
            steps = min(300, settings.maximum_steps)
        if not steps:
            trials = self.trials(samples, weights, phases)
            steps, _ = best_common_step(trials)
        if self.weighing.wanted(samples, settings):
            self.rehearse(samples, trials, steps, phases)
        seeds = [settings.seed + i for i in range(settings.members)]
        members = self.train_all("member", [everything] * len(seeds), steps, None, seeds, phases)
        networks = [member.network for member in members]
        self.finish(samples, networks, steps, trials, started, report)

    def begin(self, samples: list[SubgraphSample], settings: EstimatorSettings) -> TrainingData:
        """All that comes before the training."""
        if not 0 < settings.held_out < 1 or settings.folds < 1 or settings.folds * settings.held_out > 1:
            raise InputError(
                f"{settings.folds} folds cannot hold out a share of {settings.held_out:g} each; set held_out above 0"
                " and below 1, and folds to at most 1 / held_out."
            )
        self.settings = settings
        self.space = GraphSpace.of(samples)
        self.device = pick_device(settings.device)
        self.weighing = Weighing.of(samples, settings)
        everything = self.training_data(samples, [normalised(s) / len(s) for s in samples])
        self.prepare(everything)
        return everything

    def finish(
        self,
        samples: list[SubgraphSample],
        networks: list[nn.Module],
        steps: int,
        trials: list[Trained],
        started: float,
        report: Report | None = None,
    ) -> None:
        """All that comes after it."""

        def tell(what: str, share: float) -> None:
            if report is not None:
                report({"phase": what, "step": share, "steps": 1.0})

        self.networks = networks
        self.weighing.settle(partial(self.probabilities, networks), self.settings, tell)
        names = self.space.node_vocabulary
        self.fitted = {
            "steps": steps,
            "parameters": sum(p.numel() for p in networks[0].parameters()),
            "seconds": time.monotonic() - started,
            "held_out": [trial.history for trial in trials],
            **self.weighing.to_json(),
            "left_out": self.weighing.left_out(samples, self.settings),
            "interchangeable": [
                [names[kind] if names else str(kind) for kind in members]
                for members in self.weighing.interchange.classes
            ],
        }

    def trials(
        self, samples: list[SubgraphSample], weights: list[NDArray[np.float64]], phases: Checkpoints
    ) -> list[Trained]:
        """For each fold, train without a share of the types and follow their class likelihood."""
        settings = self.validation_settings()

        def held_out_loss(tables: list[PatternTable]) -> Callable[[nn.Module], float]:
            merged = [self.weighing.interchange.distinct(table) for table in tables]
            parts = [self.candidates(table) for table, _ in merged]
            symmetry = np.concatenate([orders.log_symmetry(table, settings.orders) for table, _ in merged])
            numbers = np.concatenate([np.bincount(rows) for _, rows in merged])
            shares = torch.from_numpy(numbers / numbers.sum())

            def loss(network: nn.Module) -> float:
                values = torch.cat([self.log_likelihood(network, part, settings) for part in parts])
                return -float((values.cpu() - torch.from_numpy(symmetry)) @ shares)

            return loss

        data, losses = [], []
        for fold in range(settings.folds):
            held = held_out_types(samples, self.settings, fold)
            data.append(self.training_data(samples, [w * ~h for w, h in zip(weights, held, strict=True)]))
            rows = [(s.patterns, np.flatnonzero(h)) for s, h in zip(samples, held, strict=True) if h.any()]
            losses.append(held_out_loss([table.take(index) for table, index in rows]))
        seeds = [settings.seed + 1000 + fold for fold in range(settings.folds)]
        return self.train_all("trial", data, settings.maximum_steps, losses, seeds, phases)

    def rehearse(
        self, samples: list[SubgraphSample], trials: list[Trained], steps: int, phases: Checkpoints
    ) -> None:
        """Find what the model, the counts of parts and those of the sample are worth: for each fold, train without a
        share of the occurrences, for as long as the final networks.
        """
        folds = range(self.settings.folds)
        hidden = [hidden_occurrences(samples, self.settings, fold) for fold in folds]
        data = [
            self.training_data(
                samples, [normalised(s) * (1 - h / s.counts) for s, h in zip(samples, own, strict=True)]
            )
            for own in hidden
        ]
        seeds = [self.settings.seed + 2000 + fold for fold in folds]
        trained = self.train_all("rehearsal", data, steps, None, seeds, phases)
        models, of_trials = (
            [partial(self.probabilities, [one.network]) for one in some] for some in (trained, trials)
        )
        held_out = [held_out_types(samples, self.settings, fold) for fold in range(len(trials))]
        self.weighing.calibrate(samples, hidden, models, held_out, of_trials)

    def train_all(
        self,
        phase: str,
        data: list[TrainingData],
        steps: int,
        validate: list[Callable[[nn.Module], float]] | None,
        seeds: list[int],
        phases: Checkpoints,
    ) -> list[Trained]:
        """Train a network from each seed, one after the other."""
        return [
            self.train(f"{phase}-{i}", part, steps, validate[i] if validate else None, seed, phases)
            for i, (part, seed) in enumerate(zip(data, seeds, strict=True))
        ]

    def draw(self, data: TrainingData, batch: int) -> tuple[Any, ...]:
        """A batch of graphs, and their noise: what `loss` takes besides the network."""
        graphs = data.draw(batch)
        return graphs, *self.draw_noise(graphs)

    def train(
        self,
        phase: str,
        data: TrainingData,
        steps: int,
        validate: Callable[[nn.Module], float] | None,
        seed: int,
        phases: Checkpoints,
    ) -> Trained:
        done = phases.load(phase, self.build)
        if done is None:
            done = train(
                self.build,
                partial(self.draw, data),
                self.loss,
                self.settings,
                steps=steps,
                seed=seed,
                device=self.device,
                validate=validate,
                checkpoint=phases.checkpoint(phase),
                report=phases.report(phase),
            )
            phases.save(phase, done)
        done.network.to(self.device).eval().requires_grad_(False)
        return done

    def training_data(
        self, samples: list[SubgraphSample], weights: list[NDArray[np.float64]]
    ) -> TrainingData:
        """The types with a positive weight; each size gets the same share of the batches."""
        rows = [np.flatnonzero(w > 0) for w in weights]
        learned = [
            (self.weighing.interchange.merged(s.patterns.take(r)), w[r])
            for s, w, r in zip(samples, weights, rows, strict=True)
        ]
        learned = [(table, own) for table, own in learned + self.parts_to_learn() if len(table)]
        cumulative = np.cumsum(np.concatenate([own / own.sum() for _, own in learned]))
        return TrainingData(
            Candidates.join([self.candidates(table) for table, _ in learned]),
            torch.from_numpy(cumulative / cumulative[-1]).to(self.device),
        )

    def parts_to_learn(self) -> list[tuple[PatternTable, NDArray[np.float64]]]:
        """The largest parts and how often they occur, unless a sample is of their size.

        They are smaller than what the model is for, but made in the same way, and all of them are known.
        """
        parts, space = self.weighing.merged_parts, self.space
        if parts is None or not self.settings.learn_parts:
            return []
        if parts.size in space.sizes or parts.size > space.capacity:
            return []
        table, weights = parts.counts.tables[parts.size], parts.counts.weights[parts.size]
        known = (table.node_types.max(1) < space.node_types) & (table.edges.max((1, 2)) < space.edge_types)
        rows = np.flatnonzero(known & space.encode(table)[1])
        return [(table.take(rows), weights[rows])]

    def candidates(self, patterns: PatternTable, graphs: Graphs | None = None) -> Candidates:
        """The patterns ready to be scored; ``graphs`` are the same patterns, if they are encoded already."""
        if graphs is None:
            graphs, _ = self.space.encode(patterns, self.device)
        return Candidates(
            graphs,
            orders.precedence(graphs.edges, graphs.sizes, self.settings.orders),
            torch.from_numpy(orders.count_orders(patterns, self.settings.orders)).to(self.device),
            pattern_keys(patterns, self.device),
        )

    # Scoring.

    @one_thread()
    def log_probability(self, patterns: PatternTable) -> NDArray[np.float64]:
        """[n] log-probability of each class, with what else is known (`grade.estimators.evidence.posterior`)."""
        self.space.check(patterns)
        self.evaluations = 0
        return self.weighing.score(patterns, partial(self.probabilities, self.networks), self.settings)

    def probabilities(self, networks: Sequence[nn.Module], patterns: PatternTable) -> NDArray[np.float64]:
        """[n] log-probability of each class of merged types.

        The mean of the networks' probabilities, mixed with a little of the uniform distribution over all typed
        digraphs: what the model cannot describe (a cycle or a self-loop where the sample had none) has that part only.
        """
        values = np.stack([self.network_values(network, patterns) for network in networks])
        mean = np.logaddexp.reduce(values, axis=0) - math.log(len(values))
        return np.asarray(np.logaddexp(mean, self.floor + self.space.log_uniform(patterns)))

    def network_values(self, network: nn.Module, patterns: PatternTable) -> NDArray[np.float64]:
        """[n] log-probability of each class under a network; -inf outside the model's space."""
        graphs, inside = self.space.encode(patterns, self.device)
        values = np.full(len(patterns), -np.inf)
        if inside.any():
            row = np.flatnonzero(inside)
            candidates = self.candidates(
                patterns.take(row), graphs.take(torch.from_numpy(row).to(self.device))
            )
            values[inside] = self.log_likelihood(network, candidates, self.settings).cpu().numpy()
        return values - orders.log_symmetry(patterns, self.settings.orders) if self.settings.orbit else values

    # Storage.

    def save(self, folder: Path) -> None:
        tensors = {name: tensor.cpu().numpy() for name, tensor in self.extra().items()}
        for i, network in enumerate(self.networks):
            tensors |= {f"network.{i}.{name}": t.cpu().numpy() for name, t in network.state_dict().items()}
        description = {
            "settings": asdict(self.settings),
            "space": self.space.to_json(),
            "fitted": self.fitted,
        }
        write_model(folder, description, tensors | self.weighing.to_arrays())

    @classmethod
    def load(cls, folder: Path) -> Self:
        description, arrays = read_model(folder)
        model = cls()
        model.settings = EstimatorSettings(**description["settings"])
        model.space = GraphSpace.from_json(description["space"])
        model.fitted = description["fitted"]
        model.device = pick_device("auto")
        model.weighing = Weighing.load(arrays, model.fitted, model.settings)
        tensors = {name: torch.from_numpy(array).to(model.device) for name, array in arrays.items()}
        model.restore(tensors)
        for i in range(model.settings.members):
            network = model.build().to(model.device).eval().requires_grad_(False)
            prefix = f"network.{i}."
            network.load_state_dict(
                {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
            )
            model.networks.append(network)
        return model


def fixed_steps(settings: EstimatorSettings, occurrences: int) -> int:
    """The number of steps that the settings ask for; 0 if held-out types are to decide."""
    if settings.epochs > 0:
        return max(1, math.ceil(settings.epochs * occurrences / settings.batch))
    return settings.steps


def best_common_step(trials: Sequence[Trained]) -> tuple[int, float]:
    """The step with the lowest mean loss over all trials, among the steps that all trials reached."""
    tables = [dict(trial.history) for trial in trials]
    common = set.intersection(*(set(table) for table in tables))
    means = {step: sum(table[step] for table in tables) / len(tables) for step in common}
    step = min(means, key=lambda s: (means[s], s))
    return step, means[step]

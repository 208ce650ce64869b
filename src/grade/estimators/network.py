"""What all estimators with a network share: fit, choice of the number of steps, ensemble, scoring, storage.

A subclass gives three things: the network, the loss of a batch of ordered graphs, and the log-likelihood of
patterns.

How many steps to train is where most accuracy is won or lost, and the likelihood of held-out *occurrences*
does not tell (it still improves while the ranking of rare types gets worse). So whole *types* are held out,
a share of them with all their occurrences, and the number of steps is the one at which the class likelihood
of those unseen types is best. The final networks are trained on all types for that many steps, from several
seeds, and their probabilities are averaged.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grade.estimators import orbit
from grade.estimators.base import Samples, as_samples, read_model, write_model
from grade.estimators.calibration import Calibration, calibrate
from grade.estimators.data import Candidates, TrainingData, normalised
from grade.estimators.encoding import Graphs, GraphSpace, pattern_keys
from grade.estimators.phases import Phases
from grade.estimators.stack import Stack
from grade.estimators.training import Report, Trained, train
from grade.estimators.world import World, one_thread, pick_device
from grade.graphs import PatternTable, SubgraphSample
from grade.graphs.counts import Counts
from grade.graphs.interchange import MOST_EDGE_TYPES, Interchange
from grade.graphs.parts import PartCounts
from grade.settings import EstimatorSettings

FLOOR = math.log(1e-9)  # weight of the uniform distribution that keeps every score finite
FEWEST_TYPES = 10  # with fewer types, holding some out says nothing


class NetworkEstimator(ABC):
    """An estimator whose distribution is a neural network's."""

    def __init__(self) -> None:
        self.settings = EstimatorSettings()
        self.evaluations = 0
        self.fitted: dict[str, Any] = {}
        self.networks: list[nn.Module] = []
        self.parts: PartCounts | None = None
        self.interchange = Interchange()
        self.even_parts: PartCounts | None = None  # the same for the patterns of an orbit
        self.calibrations: dict[int, Calibration] = {}  # by number of nodes

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
        `grade.estimators.orbit`).
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
    ) -> None:
        started = time.monotonic()
        samples = as_samples(sample)
        everything = self.begin(samples, settings)
        phases = Phases(folder, settings, samples, report, World.join(self.device))
        weights = [normalised(s) / len(s) for s in samples]
        steps, trials = fixed_steps(settings, sum(len(s) for s in samples)), []
        if not steps and sum(len(s.patterns) for s in samples) < FEWEST_TYPES:
            steps = min(300, settings.maximum_steps)
        if not steps:
            trials = self.trials(samples, weights, phases)
            steps, _ = best_common_step(trials)
            self.calibrate(samples, trials)
        seeds = [settings.seed + i for i in range(settings.members)]
        members = self.train_all("member", [everything] * len(seeds), steps, None, seeds, phases)
        self.finish([member.network for member in members], steps, trials, time.monotonic() - started)

    def begin(self, samples: list[SubgraphSample], settings: EstimatorSettings) -> TrainingData:
        """All that comes before the training."""
        self.settings = settings
        self.space = GraphSpace.of(samples)
        self.device = pick_device(settings.device)
        self.counts = Counts({s.size: s.patterns for s in samples}, {s.size: normalised(s) for s in samples})
        self.parts = max(
            (s.parts for s in samples if s.parts is not None), key=lambda p: p.size, default=None
        )
        self.interchange, self.even_parts = self.interchangeable()
        everything = self.training_data(samples, [normalised(s) / len(s) for s in samples])
        self.prepare(everything)
        return everything

    def finish(self, networks: list[nn.Module], steps: int, trials: list[Trained], seconds: float) -> None:
        """All that comes after it."""
        self.networks = networks
        self.fitted = {
            "steps": steps,
            "parameters": sum(p.numel() for p in networks[0].parameters()),
            "seconds": seconds,
            "held_out": [trial.history for trial in trials],
            "calibration": {str(k): asdict(value) for k, value in self.calibrations.items()},
            "interchangeable": [
                [
                    self.space.node_vocabulary[kind] if self.space.node_vocabulary else str(kind)
                    for kind in members
                ]
                for members in self.interchange.classes
            ],
        }

    def trials(
        self, samples: list[SubgraphSample], weights: list[NDArray[np.float64]], phases: Phases
    ) -> list[Trained]:
        """For each fold, train without a share of the types and follow their class likelihood."""
        settings = self.validation_settings()

        def held_out_loss(tables: list[PatternTable]) -> Callable[[nn.Module], float]:
            parts = [self.candidates(table) for table in tables]
            symmetry = np.concatenate([orbit.log_symmetry(table, settings.orders) for table in tables])

            def loss(network: nn.Module) -> float:
                values = torch.cat([self.log_likelihood(network, part, settings) for part in parts])
                return -float((values.cpu() - torch.from_numpy(symmetry)).mean())

            return loss

        data, losses = [], []
        for fold in range(settings.folds):
            held = self.held_out(fold, samples)
            data.append(self.training_data(samples, [w * ~h for w, h in zip(weights, held, strict=True)]))
            rows = [(s.patterns, np.flatnonzero(h)) for s, h in zip(samples, held, strict=True) if h.any()]
            losses.append(held_out_loss([table.take(index) for table, index in rows]))
        seeds = [settings.seed + 1000 + fold for fold in range(settings.folds)]
        return self.train_all("trial", data, settings.maximum_steps, losses, seeds, phases)

    def interchangeable(self) -> tuple[Interchange, PartCounts | None]:
        """The interchangeable types, where counts of parts tell and the settings want to use it, and the counts of
        parts that do not tell them apart.
        """
        if self.parts is None or not self.settings.interchange or self.space.edge_types > MOST_EDGE_TYPES:
            return Interchange(), self.parts
        found = Interchange.of(self.parts, below=self.space.node_types)
        return found, found.evened(self.parts)

    def held_out(self, fold: int, samples: list[SubgraphSample]) -> list[NDArray[np.bool_]]:
        """Which types of each sample the trial of this fold is not shown.

        Types that arise from them by exchanges may be shown, as they are for types that are not in the sample.
        """
        generator = np.random.default_rng([self.settings.seed, 1])
        share, held = self.settings.held_out, []
        for sample in samples:
            place = (generator.permutation(len(sample.patterns)) + 0.5) / len(sample.patterns)
            held.append((place >= fold * share) & (place < (fold + 1) * share))
        return held

    def calibrate(self, samples: list[SubgraphSample], trials: list[Trained]) -> None:
        """Weigh the model against the counts of parts, by the types that the trials were not shown."""
        if self.even_parts is None or not self.settings.parts:
            return
        for i, sample in enumerate(samples):
            rows = [np.flatnonzero(self.held_out(fold, samples)[i]) for fold in range(len(trials))]
            values = [
                self.member_values([trial.network], sample.patterns.take(held))[0]
                for trial, held in zip(trials, rows, strict=True)
            ]
            seen = np.concatenate(rows)
            if len(seen) < FEWEST_TYPES:
                continue
            counts = sample.counts[seen].astype(np.float64)
            self.calibrations[sample.size] = calibrate(
                np.concatenate(values),
                self.even_parts.evidence(sample.patterns.take(seen)),
                counts,
                len(sample) * counts / normalised(sample)[seen],
            )

    @property
    def together(self) -> bool:
        """Whether networks are trained at once; on a CPU, which has no idle time to fill, they are not."""
        return self.device.type == "cuda"

    def train_all(
        self,
        phase: str,
        data: list[TrainingData],
        steps: int,
        validate: list[Callable[[nn.Module], float]] | None,
        seeds: list[int],
        phases: Phases,
    ) -> list[Trained]:
        """Train a network from each seed: one after the other, or all at once on a GPU."""
        if not self.together or phases.world.size > 1 or len(seeds) == 1:

            def one(i: int) -> Trained:
                def loss(network: nn.Module, batch: int) -> Tensor:
                    graphs = data[i].draw(batch)
                    return self.loss(network, graphs, *self.draw_noise(graphs))

                check = validate[i] if validate else None
                return self.train(f"{phase}-{i}", self.build, loss, steps, check, seeds[i], phases)

            return [one(i) for i in range(len(seeds))]

        same = all(part is data[0] for part in data)
        joined, batches = (data[0], len(data)) if same else (TrainingData.join(data), 1)

        def loss(stack: Any, batch: int) -> Tensor:
            graphs = joined.draw(batch, batches)
            value: Tensor = stack.loss(self.loss, graphs, *self.draw_noise(graphs))
            return value

        def mean_loss(stack: Any) -> float:
            values = [check(network) for check, network in zip(validate or [], stack.members(), strict=True)]
            return sum(values) / len(values)

        def build() -> nn.Module:
            return Stack(self.build, seeds, self.device)

        check = mean_loss if validate else None
        done = self.train(f"{phase}s", build, loss, steps, check, seeds[0], phases)
        assert isinstance(done.network, Stack)
        return [
            Trained(network.requires_grad_(False), done.step, done.value, done.history)
            for network in done.network.members()
        ]

    def train(
        self,
        phase: str,
        build: Callable[[], nn.Module],
        loss: Callable[[Any, int], Tensor],
        steps: int,
        validate: Callable[[nn.Module], float] | None,
        seed: int,
        phases: Phases,
    ) -> Trained:
        done = phases.load(phase, build)
        if done is None:
            done = train(
                build,
                loss,
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
        tables = [s.patterns.take(r) for s, r in zip(samples, rows, strict=True)]
        parts = [w[r] / w[r].sum() / len(samples) for w, r in zip(weights, rows, strict=True) if len(r)]
        cumulative = np.cumsum(np.concatenate(parts))
        return TrainingData(
            Candidates.join([self.candidates(table) for table in tables if len(table)]),
            torch.from_numpy(cumulative / cumulative[-1]).to(self.device),
            self.space.exchange(self.interchange.classes, self.device) if self.interchange else None,
        )

    def candidates(self, patterns: PatternTable, graphs: Graphs | None = None) -> Candidates:
        """The patterns ready to be scored; ``graphs`` are the same patterns, if they are encoded already."""
        if graphs is None:
            graphs, _ = self.space.encode(patterns, self.device)
        return Candidates(
            graphs,
            orbit.precedence(graphs.edges, graphs.sizes, self.settings.orders),
            torch.from_numpy(orbit.count_orders(patterns, self.settings.orders)).to(self.device),
            pattern_keys(patterns, self.device),
        )

    # Scoring.

    @one_thread()
    def log_probability(self, patterns: PatternTable) -> NDArray[np.float64]:
        """[n] log-probability of each class.

        The mean of the networks' probabilities, with the sample's counts where the settings give them
        weight, mixed with 1e-9 of the uniform distribution over all typed digraphs: what the model cannot
        describe (a cycle or a self-loop where the sample had none) has that part only. Where the sample came
        with counts of small parts, both are weighed as the calibration found (`grade.estimators.calibration`).
        """
        self.evaluations = 0
        values = self.member_values(self.networks, patterns)
        result: NDArray[np.float64] = np.logaddexp.reduce(values, axis=0) - math.log(len(values))
        if self.settings.counts > 0:
            counts, total = self.counts.of(patterns)
            with np.errstate(divide="ignore"):
                result = np.logaddexp(result, np.log(self.settings.counts * counts / total))
            result -= math.log1p(self.settings.counts)
        result = np.logaddexp(result, FLOOR + self.space.log_uniform(patterns))
        return self.weighed(result, patterns) if self.settings.parts else result

    def weighed(self, log_probability: NDArray[np.float64], patterns: PatternTable) -> NDArray[np.float64]:
        """The score that the model and the counts of parts give together.

        What makes patterns of one orbit differ is chance, of which the model knows nothing: it is the difference
        between a pattern's own parts and those of its orbit on average, joined.
        """
        calibration = self.calibrations.get(patterns.size)
        if calibration is None or self.parts is None or self.even_parts is None:
            return log_probability
        evidence = self.even_parts.evidence(patterns)
        result = calibration.score(log_probability, evidence)
        if self.interchange:
            # Rounded, so that where there is no difference rounding makes none.
            result = result + (self.parts.evidence(patterns)[:, 0] - evidence[:, 0]).round(6)
        return result

    def member_values(self, networks: Sequence[nn.Module], patterns: PatternTable) -> NDArray[np.float64]:
        """[networks, n] log-probability of each class under each network; -inf outside the model's space.

        Patterns that arise from each other by exchanging interchangeable types are equally likely, so only one of
        them is evaluated: by each network another one, for none has learned that they are exactly.
        """
        if not self.interchange:
            return np.stack([self.network_values(network, patterns) for network in networks])
        representatives = self.interchange.representatives(patterns)
        _, first, orbits = np.unique(representatives.keys, return_index=True, return_inverse=True)
        distinct = representatives.take(first)
        values = [
            self.network_values(network, self.interchange.turned(distinct, i))
            for i, network in enumerate(networks)
        ]
        return np.stack(values)[:, orbits]

    def network_values(self, network: nn.Module, patterns: PatternTable) -> NDArray[np.float64]:
        """[n] what a network says of the patterns as they are."""
        graphs, inside = self.space.encode(patterns, self.device)
        values = np.full(len(patterns), -np.inf)
        if inside.any():
            row = np.flatnonzero(inside)
            candidates = self.candidates(
                patterns.take(row), graphs.take(torch.from_numpy(row).to(self.device))
            )
            values[inside] = self.log_likelihood(network, candidates, self.settings).cpu().numpy()
        return values - orbit.log_symmetry(patterns, self.settings.orders) if self.settings.orbit else values

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
        tensors |= self.counts.to_arrays()
        if self.parts is not None:
            tensors |= self.parts.counts.to_arrays("parts")
        write_model(folder, description, tensors)

    @classmethod
    def load(cls, folder: Path) -> Self:
        description, arrays = read_model(folder)
        model = cls()
        model.settings = EstimatorSettings(**description["settings"])
        model.space = GraphSpace.from_json(description["space"])
        model.fitted = description["fitted"]
        model.device = pick_device("auto")
        model.counts = Counts.from_arrays(arrays)
        parts = Counts.from_arrays(arrays, "parts")
        model.parts = PartCounts(parts) if parts.tables else None
        model.interchange, model.even_parts = model.interchangeable()
        model.calibrations = {
            int(k): Calibration(value["constant"], tuple(value["weights"]))
            for k, value in model.fitted.get("calibration", {}).items()
        }
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

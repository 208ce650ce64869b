"""The posterior: the counts of parts, the counts of the sample and a network combined.

For the patterns of each size with a sample:

exact counts of parts        a first estimate (`grade.estimators.evidence.part_model`)
the network                  corrects it, if that predicts held-out patterns better than the parts alone
the sample's own counts      enter last, by the Gamma-Poisson posterior (`grade.estimators.evidence.rates`)

The network is trained on the same sample. A fifth of the patterns is held out of its trial. Among all possible patterns
that the trial has not seen, the sample shows exactly these. Parts alone, and parts with the network, predict which they
are. The network gets no weight if it adds less likelihood than the price of a weight, or if its weight would be small:
held-out patterns are frequent ones, and a network that hardly predicts these ranks the rare ones at random. The
posterior is then that of parts and sample.

Exchangeable node types (`grade.estimators.evidence.exchangeable`) are merged, if the merged types predict a held-out
fifth of the occurrences better than separate types do. Most merged patterns are in the sample, whose counts then say
more than a network: none is trained.
"""

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from grade.estimators.evidence.candidate_patterns import Candidates, candidates
from grade.estimators.evidence.exchangeable import ExchangeableTypes, MergedParts
from grade.estimators.evidence.part_model import FEWEST_SEEN, PartModel, fit_part_model
from grade.estimators.evidence.raking import Raking
from grade.estimators.evidence.rates import Rates, fit_rates
from grade.estimators.protocol import (
    Estimator,
    Samples,
    as_samples,
    checked,
    estimators,
    normalised,
    read_model,
    shown,
    stored_settings,
    write_model,
)
from grade.estimators.reports import FitReport, Report, SizeReport
from grade.estimators.space import GraphSpace
from grade.graphs import PatternTable, SubgraphSample
from grade.graphs.counts import Counts
from grade.graphs.part_counts import PartCounts
from grade.settings import EstimatorSettings

LEAST_WEIGHT = 0.25  # of a network
SHOWN = 0.8  # share of the occurrences that exchangeable types are fitted to; the rest is held out
MOST_ASKED = (
    4_000  # patterns to fit the network's weight on; a tenth where each takes hundreds of evaluations
)
ONE = np.ones(1)

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SizeModel:
    """The model of patterns of one size, with exchangeable types merged."""

    merged: MergedParts
    seen: Counts  # in the sample, of merged patterns
    parts: PartModel
    occurrences: float  # in the sample
    network: tuple[float, float, float] = (
        0.0,
        1.0,
        0.0,
    )  # constant, weight of the parts, weight of the network

    def log_expected(self, merged: PatternTable, log_probability: Values | None) -> Values:
        """[n] log of the expected count of each merged pattern in the sample."""
        expected = self.parts.log_expected(merged)
        if log_probability is None or self.network[2] == 0:
            return expected
        constant, own, network = self.network
        return np.asarray(constant + own * expected + network * log_probability)

    def log_share(self, patterns: PatternTable, estimator: Estimator | None) -> Values:
        """[n] log of the expected share of each pattern among all occurrences."""
        merged, rows = self.merged.types.distinct(patterns)
        asked = estimator is not None and self.network[2] > 0
        values = estimator.log_probability(merged) if estimator is not None and asked else None
        expected = self.parts.rates.updated(self.log_expected(merged, values), self.seen.of(merged)[0])
        share: Values = expected[rows] + self.merged.log_share(patterns) - np.log(self.occurrences)
        return share


class Posterior:
    """An estimator that combines another one with the counts of parts and of the sample; or these alone."""

    settings_type: ClassVar[type[EstimatorSettings]] = EstimatorSettings  # of the other estimator

    def __init__(self, estimator: Estimator | None = None) -> None:
        self.settings = EstimatorSettings()
        self.estimator = estimator
        self.evaluations = 0
        self.fitted = FitReport(seconds=0.0)
        self.parts: PartCounts | None = None
        self.counts = Counts({}, {})
        self.sizes: dict[int, SizeModel] = {}

    __repr__ = shown

    def fit(
        self,
        sample: Samples,
        settings: EstimatorSettings,
        *,
        folder: Path | None = None,
        report: Report | None = None,
    ) -> None:
        started, samples = time.monotonic(), as_samples(sample)
        self.settings, self.space = settings, GraphSpace.of(samples)
        counted = [s.parts for s in samples if s.parts is not None]
        self.parts = max(counted, key=lambda p: (p.size, p.neighbours is not None), default=None)
        self.counts = Counts({s.size: s.patterns for s in samples}, {s.size: normalised(s) for s in samples})
        known: dict[int, Candidates | None] = {}
        if self.parts is not None:
            types = self.exchangeable_types(samples)
            for s in samples:
                self.sizes[s.size], known[s.size] = self.size_model(s.size, types, self.counts)
        learned = self.fitted
        if any(model.merged.types for model in self.sizes.values()):
            self.estimator = None
        if self.estimator is not None:
            learned = self.fit_network(samples, known, settings, folder, report)
        self.fitted = replace(
            learned,
            seconds=time.monotonic() - started,
            posterior={k: self.summary(k) for k in self.counts.tables},
        )

    def size_model(
        self, k: int, types: ExchangeableTypes, counts: Counts
    ) -> tuple[SizeModel, Candidates | None]:
        """Parts and sample of one size, and the merged patterns that can occur."""
        assert self.parts is not None
        merged = MergedParts(types, self.parts.up_to(k - 1))
        seen = types.merged_counts(counts)
        known = candidates(merged.parts, seen, k)
        model = fit_part_model(merged.parts, k, seen, known)
        return SizeModel(merged, seen, model, float(counts.weights[k].sum())), known

    def exchangeable_types(self, samples: list[SubgraphSample]) -> ExchangeableTypes:
        """The classes that the counts of parts suggest, if they survive a hold-out: if merged types predict held-out
        occurrences of the largest size better than separate types do.
        """
        assert self.parts is not None
        none, found = ExchangeableTypes(), ExchangeableTypes.of(self.parts)
        last = max(samples, key=lambda s: s.size)
        k = last.size
        known = candidates(self.parts.up_to(k - 1), self.counts, k) if found else None
        if known is None or len(last.patterns) < FEWEST_SEEN:
            return none
        generator = np.random.default_rng([self.settings.seed, 2])
        shown = generator.binomial(last.counts, SHOWN)
        table = {k: last.patterns}
        hidden = Counts(table, {k: (last.counts - shown).astype(np.float64)}).of(known.patterns)[0]
        evidence = []
        for types in (none, found):
            model, _ = self.size_model(k, types, Counts(table, {k: shown.astype(np.float64)}))
            expected = model.log_share(known.patterns, None)[:, None]
            evidence.append(fit_rates(expected, hidden, known.multiplicity, ONE, fixed=True).evidence)
        price = len(found.classes) * np.log(len(last.patterns))
        return found if evidence[1] - evidence[0] > price else none

    def fit_network(
        self,
        samples: list[SubgraphSample],
        known: dict[int, Candidates | None],
        settings: EstimatorSettings,
        folder: Path | None,
        report: Report | None,
    ) -> FitReport:
        """Train the network and return the report of its fit. Drop it if it predicts nothing."""
        estimator: Any = self.estimator

        def worth() -> bool:
            for i, sample in enumerate(samples):
                if sample.size in self.sizes:
                    self.weigh_network(i, sample, known[sample.size], settings)
            return self.asked

        estimator.worth = worth
        estimator.fit(samples, settings, folder=folder, report=report)
        learned: FitReport = estimator.fitted
        if not self.asked:
            self.estimator = None
        return learned

    @property
    def asked(self) -> bool:
        """Whether the network contributes to the score of any size."""
        sizes = [self.sizes.get(k) for k in self.counts.tables]
        return any(model is None or model.network[2] > 0 for model in sizes)

    def weigh_network(
        self, place: int, sample: SubgraphSample, known: Candidates | None, settings: EstimatorSettings
    ) -> None:
        """Fit the weight of the network beside the parts, on the held-out patterns."""
        trial, held = getattr(self.estimator, "trial", None), getattr(self.estimator, "held_out", [])
        if known is None or trial is None or not held[place].any():
            return
        model, k = self.sizes[sample.size], sample.size
        shown = sample.patterns.take(np.flatnonzero(~held[place]))
        hidden = known.take(np.flatnonzero(shown.find(known.patterns) < 0))
        costly = settings.estimator not in ("autoregressive",)
        asked = hidden.fewer(MOST_ASKED // (10 if costly else 1), settings.seed)
        own = model.parts.log_expected(asked.patterns)
        network = self.estimator.probabilities([trial], asked.patterns)  # type: ignore[union-attr]  # it has a trial
        alone = fit_rates(own[:, None], asked.counts, asked.multiplicity, ONE, fixed=True)
        both = fit_rates(
            np.column_stack([own, network]),
            asked.counts,
            asked.multiplicity,
            np.array([alone.weights[0], 0.0]),
        )
        if both.evidence <= alone.evidence or both.weights[1] < LEAST_WEIGHT:
            return
        # Only a fifth of the patterns was held out: counts among them are a fifth of those among all.
        share = float(held[place].mean())
        weights = (both.constant - np.log(share), both.weights[0], both.weights[1])
        self.sizes[k] = SizeModel(model.merged, model.seen, model.parts, model.occurrences, weights)

    def summary(self, k: int) -> SizeReport:
        """The weights of the evidence on patterns of one size."""
        if k not in self.sizes:
            return SizeReport()
        model = self.sizes[k]
        names = self.space.node_vocabulary
        return SizeReport(
            parts=dict(zip(("joined", "rarest", "mean"), model.parts.weights, strict=True)),
            raked=model.parts.raking is not None,
            network=model.network[2],
            shape=model.parts.rates.shape,
            exchangeable=[
                [names[kind] if names else str(kind) for kind in members]
                for members in model.merged.types.classes
            ],
        )

    def log_probability(self, patterns: PatternTable) -> Values:
        """[n] log of the expected share of each pattern among all occurrences of its size."""
        self.space.check(patterns)
        if patterns.size in self.sizes:
            result = self.sizes[patterns.size].log_share(patterns, self.estimator)
        elif self.estimator is not None:
            result = self.estimator.log_probability(patterns)
        else:
            counts, total = self.counts.of(patterns)
            result = np.log(np.maximum(counts, 0.5) / total)
        self.evaluations = 0 if self.estimator is None else self.estimator.evaluations
        return checked(result)

    # Storage.

    def describe(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        description: dict[str, Any] = {
            "posterior": True,
            "settings": self.settings.to_json(),
            "space": self.space.to_json(),
            "fitted": self.fitted.to_json(),
            "sizes": {
                str(k): {
                    "types": model.merged.types.classes,
                    "largest": model.parts.largest,
                    "weights": model.parts.weights,
                    "rates": asdict(model.parts.rates),
                    "network": model.network,
                }
                for k, model in self.sizes.items()
            },
        }
        arrays = self.counts.to_arrays() | ({} if self.parts is None else self.parts.to_arrays())
        for k, model in self.sizes.items():
            if model.parts.raking is not None:
                arrays[f"raking.{k}"] = model.parts.raking.logarithms
        if self.estimator is not None:
            description["estimator"], own = self.estimator.describe()
            arrays |= {f"estimator/{name}": array for name, array in own.items()}
        return description, arrays

    def save(self, folder: Path) -> None:
        write_model(folder, *self.describe())

    @classmethod
    def restored(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        model = cls()
        model.settings = stored_settings(description)
        model.space = GraphSpace.from_json(description["space"])
        model.fitted = FitReport.from_json(description["fitted"])
        model.counts, model.parts = Counts.from_arrays(arrays), PartCounts.from_arrays(arrays)
        for name, values in description["sizes"].items():
            model.sizes[int(name)] = model.restored_size(int(name), values, arrays)
        if "estimator" in description:
            prefix = "estimator/"
            own = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            model.estimator = estimators[model.settings.estimator].restored(description["estimator"], own)
        return model

    def restored_size(self, k: int, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SizeModel:
        assert self.parts is not None
        types = ExchangeableTypes(tuple(map(tuple, values["types"])))
        merged = MergedParts(types, self.parts.up_to(k - 1))
        raking = None
        if f"raking.{k}" in arrays and merged.parts.neighbours is not None:
            raking = Raking(merged.parts.neighbours.tables[k - 1], arrays[f"raking.{k}"])
        rates = Rates(**{**values["rates"], "weights": tuple(values["rates"]["weights"])})
        parts = PartModel(merged.parts, values["largest"], tuple(values["weights"]), raking, rates)
        occurrences = float(self.counts.weights[k].sum())
        return SizeModel(
            merged, types.merged_counts(self.counts), parts, occurrences, tuple(values["network"])
        )

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls.restored(*read_model(folder))

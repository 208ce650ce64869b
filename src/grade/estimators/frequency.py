"""Frequency: the share of each pattern in the sample itself, the sampling-only baseline of the paper.

A pattern that was not drawn counts as half an occurrence of weight one: a finite score below all others,
the same for all of them, so that they tie as they do in the paper's tables (its P_i = 0).
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from grade.estimators.protocol import Samples, as_samples, estimators, read_model, shown, write_model
from grade.estimators.reports import FitReport, Report
from grade.estimators.space import GraphSpace
from grade.graphs import PatternTable
from grade.graphs.counts import Counts
from grade.settings import EstimatorSettings

UNSEEN = 0.5


@dataclass(frozen=True, kw_only=True)
class FrequencySettings(EstimatorSettings):
    """This estimator has no settings of its own."""

    estimator: ClassVar[str] = "frequency"


@estimators.register("frequency")
class Frequency:
    """p(class) = weight of the class in the sample / weight of the sample."""

    settings_type: ClassVar[type[EstimatorSettings]] = FrequencySettings
    evaluations = 0

    def __init__(self) -> None:
        self.settings: EstimatorSettings = FrequencySettings()
        self.fitted = FitReport(seconds=0.0)

    __repr__ = shown

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
        self.settings = settings
        self.space = GraphSpace.of(samples)
        # Weights are known up to a factor; with a mean of one, they add up to the number of occurrences.
        self.counts = Counts(
            {s.size: s.patterns for s in samples},
            {s.size: s.weighted_counts * (len(s) / s.weighted_counts.sum()) for s in samples},
        )
        self.fitted = FitReport(seconds=time.monotonic() - started)

    def log_probability(self, patterns: PatternTable) -> NDArray[np.float64]:
        self.space.check(patterns)
        counts, total = self.counts.of(patterns)
        result: NDArray[np.float64] = np.log(np.where(counts > 0, counts, UNSEEN) / total)
        return result

    def describe(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {
            "settings": self.settings.to_json(),
            "space": self.space.to_json(),
            "fitted": self.fitted.to_json(),
        }, self.counts.to_arrays()

    def save(self, folder: Path) -> None:
        write_model(folder, *self.describe())

    @classmethod
    def restored(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> "Frequency":
        estimator = cls()
        estimator.settings = FrequencySettings.from_json(description["settings"])
        estimator.space = GraphSpace.from_json(description["space"])
        estimator.fitted = FitReport.from_json(description["fitted"])
        estimator.counts = Counts.from_arrays(arrays)
        return estimator

    @classmethod
    def load(cls, folder: Path) -> "Frequency":
        return cls.restored(*read_model(folder))

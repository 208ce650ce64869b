"""Frequency: the share of each pattern in the sample itself, the sampling-only baseline of the paper.

A pattern that was not drawn counts as half an occurrence of weight one: a finite score below all others,
the same for all of them, so that they tie as they do in the paper's tables (its P_i = 0).
"""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.estimators.base import Samples, as_samples, estimators, read_model, write_model
from grade.estimators.encoding import GraphSpace
from grade.estimators.training import Report
from grade.graphs import PatternTable
from grade.settings import EstimatorSettings

UNSEEN = 0.5


@estimators.register("frequency")
class Frequency:
    """p(class) = weight of the class in the sample / weight of the sample."""

    evaluations = 0

    def __init__(self) -> None:
        self.settings = EstimatorSettings(estimator="frequency")
        self.fitted: dict[str, Any] = {}

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
        self.fitted = {"seconds": time.monotonic() - started}

    def log_probability(self, patterns: PatternTable) -> NDArray[np.float64]:
        self.space.check(patterns)
        counts, total = self.counts.of(patterns)
        result: NDArray[np.float64] = np.log(np.where(counts > 0, counts, UNSEEN) / total)
        return result

    def save(self, folder: Path) -> None:
        description = {
            "settings": asdict(self.settings),
            "space": self.space.to_json(),
            "fitted": self.fitted,
        }
        write_model(folder, description, self.counts.to_tensors())

    @classmethod
    def load(cls, folder: Path) -> "Frequency":
        description, tensors = read_model(folder)
        estimator = cls()
        estimator.settings = EstimatorSettings(**description["settings"])
        estimator.space = GraphSpace.from_json(description["space"])
        estimator.fitted = description["fitted"]
        estimator.counts = Counts.from_tensors(tensors)
        return estimator


class Counts:
    """The weight of each pattern in samples of one or several sizes."""

    def __init__(self, tables: dict[int, PatternTable], weights: dict[int, NDArray[np.float64]]) -> None:
        self.tables, self.weights = tables, weights

    def of(self, patterns: PatternTable) -> tuple[NDArray[np.float64], float]:
        """([n] weight of each pattern, 0 where it was not drawn; weight of all patterns of that size)."""
        table, weights = self.tables[patterns.size], self.weights[patterns.size]
        if len(patterns) == 0:
            return np.zeros(0), float(weights.sum())
        sort = np.argsort(table.keys)
        place = np.searchsorted(table.keys[sort], patterns.keys).clip(max=len(table) - 1)
        row = sort[place]
        return np.where(table.keys[row] == patterns.keys, weights[row], 0.0), float(weights.sum())

    def to_tensors(self) -> dict[str, NDArray[Any]]:
        tensors: dict[str, NDArray[Any]] = {}
        for size, table in self.tables.items():
            tensors[f"counts.{size}.node_types"] = table.node_types.astype(np.int32)
            tensors[f"counts.{size}.edges"] = table.edges
            tensors[f"counts.{size}.automorphisms"] = table.automorphisms
            tensors[f"counts.{size}.weights"] = self.weights[size]
        return tensors

    @classmethod
    def from_tensors(cls, tensors: dict[str, NDArray[Any]]) -> "Counts":
        sizes = sorted(int(name.split(".")[1]) for name in tensors if name.endswith(".weights"))
        tables = {
            size: PatternTable(
                tensors[f"counts.{size}.node_types"].astype(np.uint16),
                tensors[f"counts.{size}.edges"],
                tensors[f"counts.{size}.automorphisms"],
            )
            for size in sizes
        }
        return cls(tables, {size: tensors[f"counts.{size}.weights"] for size in sizes})

"""Weighing: from a model's probabilities to scores, with all else that is known of the patterns.

model's probability of a class of merged types           networks (`grade.estimators.network`)
weighed with the counts of its parts                     `grade.estimators.calibration`
corrected by how often the sample shows it               `grade.estimators.shrinkage`
divided among the classes that merge into it             `grade.graphs.interchange`
and shifted by what their own parts are ahead of others  `grade.graphs.parts`

Each step is there only where the settings want it and the sample came with what it needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.estimators.calibration import Calibration, calibrate
from grade.estimators.data import normalised
from grade.estimators.shrinkage import Shrinkage, shrink
from grade.graphs import PatternTable, SubgraphSample
from grade.graphs.counts import Counts
from grade.graphs.interchange import ExpectedCounts, Interchange
from grade.graphs.parts import PartCounts
from grade.settings import EstimatorSettings

FEWEST_TYPES = 10  # with fewer types, holding some out says nothing

Values = NDArray[np.float64]
Model = Callable[[PatternTable], Values]
"""[n] log-probability of each class of merged types."""


class Weighing:
    """What is known besides the model: the sample's counts, those of parts, and how they are weighed."""

    def __init__(self, counts: Counts, parts: PartCounts | None, settings: EstimatorSettings) -> None:
        self.parts = parts
        self.interchange = Interchange()
        if parts is not None and settings.interchange:
            self.interchange = Interchange.of(parts)
        self.counts = counts
        self.merged_counts = self.interchange.merged_counts(counts)
        self.merged_parts: PartCounts | None = None
        self.expected_parts: PartCounts | None = None  # as they would occur if types were given at random
        if parts is not None:
            self.merged_parts = PartCounts(self.interchange.merged_counts(parts.counts))
            self.expected_parts = PartCounts(ExpectedCounts(parts.counts, self.interchange))
        # By number of nodes; shrinkages are of the model alone, and weighed.
        self.calibrations: dict[int, Calibration] = {}
        self.shrinkages: dict[int, tuple[Shrinkage, Shrinkage]] = {}

    @classmethod
    def of(cls, samples: Sequence[SubgraphSample], settings: EstimatorSettings) -> "Weighing":
        counts = Counts({s.size: s.patterns for s in samples}, {s.size: normalised(s) for s in samples})
        parts = [s.parts for s in samples if s.parts is not None]
        return cls(counts, max(parts, key=lambda p: p.size, default=None), settings)

    # Fitting.

    def calibrate(
        self,
        samples: Sequence[SubgraphSample],
        held_out: Sequence[Sequence[NDArray[np.bool_]]],
        models: Sequence[Model],
    ) -> None:
        """Weigh models against the counts of parts, by the classes that they were not shown.

        ``held_out`` tells, for each model and each sample, which types the model was not shown. Other types that merge
        into the same class may have been shown; these say nothing here.
        """
        if self.merged_parts is None:
            return
        for i, sample in enumerate(samples):
            merged = self.interchange.merged(sample.patterns)
            hidden = [
                np.flatnonzero(held[i] & ~np.isin(merged.keys, merged.keys[~held[i]])) for held in held_out
            ]
            rows = np.concatenate(hidden)
            if len(rows) < FEWEST_TYPES:
                continue
            values = [model(merged.take(own)) for model, own in zip(models, hidden, strict=True)]
            counts = sample.counts[rows].astype(np.float64)
            share = np.exp(self.interchange.log_share(sample.patterns, merged)[rows])
            self.calibrations[sample.size] = calibrate(
                np.concatenate(values),
                self.merged_parts.evidence(merged.take(rows)),
                counts,
                share * len(sample) * counts / normalised(sample)[rows],
            )

    def shrink(self, model: Model) -> None:
        """Find how many occurrences the model is worth, by the classes that were seen."""
        for size, table in self.merged_counts.tables.items():
            values, counts = model(table), self.merged_counts.weights[size]
            calibration = self.calibrations.get(size)
            alone = shrink(values, counts)
            weighed = shrink(
                self.calibrated(values, table), counts, calibration.shape if calibration is not None else None
            )
            self.shrinkages[size] = alone, weighed

    # Scoring.

    def score(self, patterns: PatternTable, model: Model, settings: EstimatorSettings) -> Values:
        """[n] what all together say of the patterns."""
        merged, rows = self.interchange.distinct(patterns) if self.interchange else (patterns, None)
        result = model(merged)
        if settings.parts:
            result = self.calibrated(result, merged)
        # Without the orbit correction, scores are of single matrices, and counts are of classes.
        if settings.shrink and settings.orbit and patterns.size in self.shrinkages:
            shrinkage = self.shrinkages[patterns.size][settings.parts]
            canonical = PatternTable.canonical(
                merged.node_types, merged.edges
            )  # in whatever order nodes were given
            result = shrinkage.score(result, self.merged_counts.of(canonical)[0])
        if rows is None:
            return result
        result = result[rows] - self.interchange.log_ways(patterns)
        if settings.orbit:
            result += np.log(merged.automorphisms[rows] / patterns.automorphisms)
        return result + self.ahead(patterns) if settings.parts else result

    def calibrated(self, values: Values, merged: PatternTable) -> Values:
        """[n] the model's values, weighed with the counts of parts."""
        calibration = self.calibrations.get(merged.size)
        if calibration is None or self.merged_parts is None:
            return values
        return calibration.score(values, self.merged_parts.evidence(merged))

    def ahead(self, patterns: PatternTable) -> Values:
        """[n] how much each pattern is ahead of others that merge with it. That is chance, of which the model knows
        nothing: the difference between its parts as they occur and as they are expected, joined.
        """
        if self.parts is None or self.expected_parts is None:
            return np.zeros(len(patterns))
        difference: Values = (self.parts.evidence(patterns) - self.expected_parts.evidence(patterns))[:, 0]
        return difference.round(6)  # so that where there is no difference rounding makes none

    # Storage.

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        parts = {} if self.parts is None else self.parts.counts.to_arrays("parts")
        return self.counts.to_arrays() | parts

    def to_json(self) -> dict[str, Any]:
        return {
            "calibration": {str(k): asdict(value) for k, value in self.calibrations.items()},
            "shrinkage": {str(k): [asdict(value) for value in pair] for k, pair in self.shrinkages.items()},
        }

    @classmethod
    def load(
        cls, arrays: dict[str, NDArray[Any]], values: dict[str, Any], settings: EstimatorSettings
    ) -> "Weighing":
        """Read back what `to_arrays` and `to_json` gave, among other things."""
        parts = Counts.from_arrays(arrays, "parts")
        result = cls(Counts.from_arrays(arrays), PartCounts(parts) if parts.tables else None, settings)
        for k, value in values["calibration"].items():
            result.calibrations[int(k)] = Calibration(**{**value, "weights": tuple(value["weights"])})
        for k, (alone, weighed) in values["shrinkage"].items():
            result.shrinkages[int(k)] = Shrinkage(**alone), Shrinkage(**weighed)
        return result

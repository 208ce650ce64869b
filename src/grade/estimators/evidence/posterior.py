"""Weighing: from a model's probabilities to scores, with all else that is known of the patterns.

model's probability of a class of merged types           networks (`grade.estimators.models.network`)
weighed with the counts of its parts, and corrected by
how often the sample shows it                            `grade.estimators.evidence.calibration`
made to agree with the neighbours of all parts           `grade.estimators.evidence.raking`
divided among the classes that merge into it             `grade.estimators.evidence.exchangeable`
and shifted by what their own parts are ahead of others  `grade.graphs.part_counts`

Each step is there only where the settings want it and the sample came with what it needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.estimators.evidence.apriori import possible_patterns
from grade.estimators.evidence.calibration import Calibration, Rehearsal, calibrate
from grade.estimators.evidence.exchangeable import ExpectedCounts, Interchange, are_drawn, too_many_types
from grade.estimators.evidence.raking import Agreement, agree
from grade.estimators.models.batches import normalised
from grade.graphs import PatternTable, SubgraphSample
from grade.graphs.counts import Counts
from grade.graphs.node_deletions import connected_parts
from grade.graphs.part_counts import PartCounts
from grade.settings import EstimatorSettings

FEWEST_TYPES = 10  # with fewer types, hiding some says nothing
AT_ONCE = 5_000  # patterns scored between two reports
CALIBRATIONS = ("calibration_alone", "calibration")  # names in a stored model

Values = NDArray[np.float64]
Model = Callable[[PatternTable], Values]
"""[n] log-probability of each class of merged types."""
Tell = Callable[[str, float], None]
"""Receives what is done, and the share of it that is done already."""


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
        self.drawn = True  # whether patterns that merge differ by chance, or only where they are symmetric
        if parts is not None:
            self.drawn = not self.interchange or are_drawn(parts, self.interchange)
            beside = parts.neighbours
            self.merged_parts = PartCounts(
                self.interchange.merged_counts(parts.counts),
                None if beside is None else self.interchange.merged_counts(beside),
            )
            self.expected_parts = PartCounts(ExpectedCounts(parts.counts, self.interchange))
        # By number of nodes: of the model alone, and weighed with its parts.
        self.calibrations: dict[int, tuple[Calibration, Calibration]] = {}
        # By number of nodes, and whether counts of the sample are used; None where agreement is out of reach.
        self.agreements: dict[tuple[int, bool], Agreement | None] = {}

    @classmethod
    def of(cls, samples: Sequence[SubgraphSample], settings: EstimatorSettings) -> "Weighing":
        counts = Counts({s.size: s.patterns for s in samples}, {s.size: normalised(s) for s in samples})
        parts = [s.parts for s in samples if s.parts is not None]
        most = max(parts, key=lambda p: (p.size, p.neighbours is not None), default=None)
        return cls(counts, most, settings)

    # Fitting.

    def wanted(self, samples: Sequence[SubgraphSample], settings: EstimatorSettings) -> bool:
        """Whether there is something to weigh, and samples that can tell how."""
        return self.weighs(settings) and any(len(s.patterns) >= FEWEST_TYPES for s in samples)

    def weighs(self, settings: EstimatorSettings) -> bool:
        """Whether there is something to weigh the model with. Without the orbit correction, scores are of single
        matrices, and counts are of classes.
        """
        return settings.orbit and (settings.shrink or (settings.parts and self.parts is not None))

    def calibrate(
        self,
        samples: Sequence[SubgraphSample],
        hidden: Sequence[Sequence[NDArray[np.int64]]],
        models: Sequence[Model],
        held_out: Sequence[Sequence[NDArray[np.bool_]]],
        trials: Sequence[Model],
    ) -> None:
        """Weigh models against the counts of parts and of the sample, by occurrences that they were not shown.

        ``hidden`` tells, for each model and each sample, how many occurrences of each type the model was not shown;
        ``held_out`` which types a trial was not shown at all. These say nothing where types are merged, for a trial was
        shown others of the same class.
        """
        for i, sample in enumerate(samples):
            if len(sample.patterns) < FEWEST_TYPES or not all(own[i].any() for own in hidden):
                continue
            table, rows = self.interchange.distinct(sample.patterns)
            each, size = normalised(sample) / sample.counts, float(len(sample))
            evidence = self.evidence(table)
            rehearsals = []
            for model, own in zip(models, hidden, strict=True):
                seen, unseen = np.zeros(len(table)), np.zeros(len(table))
                np.add.at(seen, rows, each * (sample.counts - own[i]))
                np.add.at(unseen, rows, each * own[i])
                rehearsals.append(
                    Rehearsal(model(table), evidence, seen, unseen, float(seen.sum()), float(unseen.sum()))
                )
            alone = calibrate(rehearsals, size, weigh=False)
            if self.merged_parts is None:
                self.calibrations[sample.size] = alone, alone
                continue
            for trial, whole in zip(trials, held_out, strict=True) if not self.interchange else ():
                types = sample.patterns.take(np.flatnonzero(whole[i]))
                counts = normalised(sample)[whole[i]]
                rehearsals.append(
                    Rehearsal(trial(types), self.evidence(types), np.zeros(len(types)), counts, 0.0, size)
                )
            self.calibrations[sample.size] = alone, calibrate(rehearsals, size)

    def settle(
        self, model: Model, settings: EstimatorSettings, tell: Tell = lambda what, share: None
    ) -> None:
        """Find all that scoring needs the final model for."""
        for size in self.calibrations:
            if self.agrees(size, settings):
                self.agreement(size, model, settings, tell)

    def evidence(self, merged: PatternTable) -> Values:
        """[n, 2] what the parts say of classes of merged types; nothing, if they were not counted."""
        if self.merged_parts is None:
            return np.zeros((len(merged), 2))
        return self.merged_parts.evidence(merged)

    def left_out(self, samples: Sequence[SubgraphSample], settings: EstimatorSettings) -> list[str]:
        """Sentences on what the settings want and the samples do not allow."""
        found = []
        if self.parts is not None and settings.interchange and too_many_types(self.parts):
            found.append("interchangeable types were not looked for: there are too many types to compare")
        for k in [sample.size for sample in samples] if self.weighs(settings) else []:
            counted = settings.agree and settings.parts and self.parts is not None
            if k not in self.calibrations:
                found.append(
                    f"scores at k = {k} are the model's alone: the sample shows too few types to weigh by"
                )
            elif counted and not self.agrees(k, settings):
                found.append(
                    f"scores at k = {k} do not agree with the neighbours of parts: those of {k - 1} nodes were not"
                    " counted with the sample"
                )
        return found

    # Scoring.

    def score(self, patterns: PatternTable, model: Model, settings: EstimatorSettings) -> Values:
        """[n] what all together say of the patterns."""
        merged, rows = self.interchange.distinct(patterns) if self.interchange else (patterns, None)
        result = self.weighed(merged, model, settings)
        if self.agrees(patterns.size, settings):
            agreement = self.agreement(patterns.size, model, settings)
            result = result if agreement is None else result + agreement.shift(merged)
        if rows is None:
            return result
        result = result[rows] - self.interchange.log_ways(patterns)
        if settings.orbit:
            result += np.log(merged.automorphisms[rows] / patterns.automorphisms)
        return result + self.ahead(patterns, merged.take(rows)) if settings.parts else result

    def weighed(self, merged: PatternTable, model: Model, settings: EstimatorSettings) -> Values:
        """[n] what the model, the parts and the sample's counts say of classes of merged types, each by itself."""
        result = model(merged)
        if not self.weighs(settings) or merged.size not in self.calibrations:
            return result
        counts = None
        if settings.shrink:
            # In whatever order the nodes were given.
            canonical = PatternTable.canonical(merged.node_types, merged.edges)
            counts = self.merged_counts.of(canonical)[0]
        evidence = self.evidence(merged) if settings.parts else np.zeros((len(merged), 2))
        return self.calibrations[merged.size][settings.parts].score(result, evidence, counts)

    def agrees(self, size: int, settings: EstimatorSettings) -> bool:
        """Whether scores of patterns of that size are shares, and the neighbours of their parts are known."""
        beside = None if self.merged_parts is None else self.merged_parts.neighbours
        return (
            settings.agree
            and settings.parts
            and self.weighs(settings)
            and size in self.calibrations
            and beside is not None
            and size - 1 in beside.tables
        )

    def agreement(
        self, size: int, model: Model, settings: EstimatorSettings, tell: Tell = lambda what, share: None
    ) -> Agreement | None:
        """What makes the shares of all possible patterns agree with the neighbours of their parts; found once."""
        key = size, settings.shrink
        if key not in self.agreements:
            self.agreements[key] = self.find_agreement(size, model, settings, tell)
        return self.agreements[key]

    def find_agreement(
        self, size: int, model: Model, settings: EstimatorSettings, tell: Tell
    ) -> Agreement | None:
        assert self.merged_parts is not None  # for what `agrees` says
        assert self.merged_parts.neighbours is not None
        parts = self.merged_parts.neighbours  # those without neighbours are in no larger pattern
        patterns = possible_patterns(parts, size, progress=partial(tell, "possible patterns"))
        if patterns is None:
            return None
        table, neighbours = parts.tables[size - 1], parts.weights[size - 1]
        shares = np.zeros(len(patterns))
        for begin in range(0, len(patterns), AT_ONCE):
            tell("agreement", begin / len(patterns))
            some = np.arange(begin, min(begin + AT_ONCE, len(patterns)))
            shares[some] = self.weighed(patterns.take(some), model, settings)
        seen, counts = self.merged_counts.tables[size], self.merged_counts.weights[size]
        parts_each = float(np.average((connected_parts(seen, table) >= 0).sum(1), weights=counts))
        return agree(shares, patterns, table, neighbours, parts_each, self.calibrations[size][1].size)

    def ahead(self, patterns: PatternTable, merged: PatternTable) -> Values:
        """[n] how much each pattern is ahead of others that merge with it, of which the model knows nothing: the
        difference between its parts as they occur and as they are expected, joined. Where types were not drawn, only
        patterns that merge into a symmetric one differ, whatever their parts do.
        """
        if self.parts is None or self.expected_parts is None:
            return np.zeros(len(patterns))
        difference: Values = (self.parts.evidence(patterns) - self.expected_parts.evidence(patterns))[:, 0]
        if not self.drawn:
            difference = np.where(merged.automorphisms > 1, difference, 0.0)
        return difference.round(6)  # so that where there is no difference rounding makes none

    # Storage.

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        parts = {} if self.parts is None else self.parts.to_arrays()
        found = {
            f"agreement.{size}.{int(shrink)}": np.zeros(0) if agreement is None else agreement.logarithms
            for (size, shrink), agreement in self.agreements.items()
        }
        return self.counts.to_arrays() | parts | found

    def to_json(self) -> dict[str, Any]:
        agreed = {str(k): found is not None for (k, _), found in self.agreements.items()}
        return {
            name: {str(k): asdict(pair[place]) for k, pair in self.calibrations.items()}
            for place, name in enumerate(CALIBRATIONS)
        } | {"agreement": agreed}

    @classmethod
    def load(
        cls, arrays: dict[str, NDArray[Any]], values: dict[str, Any], settings: EstimatorSettings
    ) -> "Weighing":
        """Read back what `to_arrays` and `to_json` gave, among other things."""
        result = cls(Counts.from_arrays(arrays), PartCounts.from_arrays(arrays), settings)
        alone, weighed = (
            {
                int(k): Calibration(**{**value, "weights": tuple(value["weights"])})
                for k, value in values[name].items()
            }
            for name in CALIBRATIONS
        )
        result.calibrations = {k: (alone[k], weighed[k]) for k in alone}
        beside = None if result.merged_parts is None else result.merged_parts.neighbours
        for name in arrays:
            if beside is not None and name.startswith("agreement."):
                size, shrink = map(int, name.split(".")[1:])
                known = Agreement(beside.tables[size - 1], arrays[name]) if len(arrays[name]) else None
                result.agreements[size, bool(shrink)] = known
        return result

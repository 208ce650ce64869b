"""Candidates: all patterns that can occur, those in the sample and those not in it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grade.estimators.evidence.apriori import possible_patterns
from grade.graphs import PatternTable
from grade.graphs.counts import Counts
from grade.graphs.node_deletions import connected_parts
from grade.graphs.part_counts import PartCounts

FEW = 1_500  # parts to grow patterns from, where growing all takes long
MOST = 3_000_000  # ways to put a node beside a part: a few seconds


@dataclass(frozen=True, eq=False)
class Candidates:
    """Patterns of one size that can occur, and how often a sample shows each."""

    patterns: PatternTable
    counts: NDArray[np.float64]  # [n]
    multiplicity: NDArray[np.float64]  # [n] how many patterns each stands for
    whole: bool  # whether these are all

    def __len__(self) -> int:
        return len(self.patterns)

    def take(self, rows: NDArray[np.int64], factor: NDArray[np.float64] | float = 1.0) -> "Candidates":
        return Candidates(
            self.patterns.take(rows), self.counts[rows], self.multiplicity[rows] * factor, self.whole
        )

    def fewer(self, most: int, seed: int) -> "Candidates":
        """All that were seen, and a random choice of the others: at most ``most`` together."""
        unseen = np.flatnonzero(self.counts == 0)
        kept = max(most - (len(self) - len(unseen)), len(self) - len(unseen))
        if kept >= len(unseen):
            return self
        chosen = np.random.default_rng([seed, 5]).choice(unseen, kept, replace=False)
        rows = np.sort(np.concatenate([np.flatnonzero(self.counts > 0), chosen]))
        return self.take(rows, np.where(self.counts[rows] > 0, 1.0, len(unseen) / kept))


def candidates(parts: PartCounts, seen: Counts, k: int) -> Candidates | None:
    """All patterns that can occur, by the counts of their parts of k - 1 nodes. Where there are too many, those that
    contain one of a random choice of parts. None where no parts of k - 1 nodes were counted.
    """
    # Parts without neighbours are in no larger pattern.
    beside = parts.neighbours
    known = beside if beside is not None and k - 1 in beside.tables else parts.counts
    if k - 1 not in known.tables or k < 3:
        return None
    table = known.tables[k - 1]
    found = possible_patterns(known, k, MOST) if len(table) <= 100_000 else None
    whole = found is not None
    if found is None:
        share = min(1.0, FEW / len(table))
        chosen = np.flatnonzero(np.random.default_rng(len(table)).random(len(table)) < share)
        found = possible_patterns(known, k, MOST, chosen)
        if found is None:
            return None
    own = seen.tables[k]
    if whole:
        counts = seen.of(found)[0]
        return Candidates(found, counts, np.ones(len(found)), True)
    # A pattern was found with the probability that one of its parts was chosen; those that were seen are all there.
    found = found.take(np.flatnonzero(seen.of(found)[0] == 0))
    number = (connected_parts(found, table) >= 0).sum(1)
    both = PatternTable.concatenate([own, found]).unique()
    multiplicity = Counts({k: found}, {k: 1 / (1 - (1 - share) ** number)}).of(both)[0]
    counts = seen.of(both)[0]
    return Candidates(both, counts, np.where(counts > 0, 1.0, multiplicity), False)

"""What parts and sample say together about patterns of one size, without a network.

A score is a weighted sum of the sources (`grade.estimators.evidence.part_sources`). Which sum is best differs from
set to set, and two things tell:

- which patterns of k nodes the sample shows, among those that can occur (`grade.estimators.evidence.rates`);
- the counts of the largest patterns that were counted, by their own smaller parts. All of them are known exactly, those
  of the rarest too, of which a sample shows nothing.

One source alone is taken unless a sum of several has more evidence: a higher likelihood of what the sample shows and
does not show, less a price for each weight. Then it is the mean of the two sums that explain best what the sample
shows, and what was counted. The score is raked to what is known of all parts (`grade.estimators.evidence.raking`)
where the sample speaks for that.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from grade.estimators.evidence.candidate_patterns import Candidates
from grade.estimators.evidence.part_sources import SOURCES, affordable_size, part_sources
from grade.estimators.evidence.raking import Raking, rake
from grade.estimators.evidence.rates import Rates, fit_rates
from grade.graphs import PatternTable
from grade.graphs.counts import Counts
from grade.graphs.node_deletions import connected_parts
from grade.graphs.part_counts import PartCounts

RIDGE = 1e-3  # standard deviations, for each pattern counted: it only decides between equal sources
FEWEST_SEEN = 10  # patterns in a sample that can choose between sums
MOST_RAKED = 100_000  # patterns: seconds

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PartModel:
    """A score of patterns of one size, and how often a sample is expected to show a pattern with that score."""

    parts: PartCounts
    largest: int  # nodes of the parts that are looked at
    weights: tuple[float, ...]  # of the sources
    raking: Raking | None
    rates: Rates  # by the score

    def score(self, patterns: PatternTable) -> Values:
        """[n] an estimate of the logarithm of each pattern's count, up to a constant."""
        score: Values = part_sources(patterns, self.parts.counts, self.largest) @ np.array(self.weights)
        if self.raking is None:
            return score
        # What is less is noise, and would part patterns that tie.
        return np.asarray((score + self.raking.shift(patterns)).round(2))

    def log_expected(self, patterns: PatternTable) -> Values:
        """[n] log of how often the sample is expected to show each pattern."""
        return self.rates.log_expected(self.score(patterns)[:, None])


def fit_part_model(parts: PartCounts, k: int, seen: Counts, known: Candidates | None) -> PartModel:
    """The model with the most evidence, by the patterns of k nodes that were ``seen`` among those ``known``."""
    largest = affordable_size(k, parts.size)
    below = weights_below(parts, k - largest)
    if known is None or len(seen.tables[k]) < FEWEST_SEEN:
        weights = np.eye(len(SOURCES))[0] if below is None else below
        table = seen.tables[k]
        score = part_sources(table, parts.counts, largest) @ weights
        # Nothing tells how many patterns were not seen: what was seen is expected as often as it was.
        constant = np.log(seen.weights[k].sum()) - np.logaddexp.reduce(score)
        return PartModel(parts, largest, tuple(weights.tolist()), None, Rates(float(constant), (1.0,), 1.0))

    sources = part_sources(known.patterns, parts.counts, largest)
    seen_each, stands_for = known.counts, known.multiplicity

    def rates_of(weights: Values) -> Rates:
        return fit_rates((sources @ weights)[:, None], seen_each, stands_for, np.ones(1), fixed=True)

    singles = [(weights, rates_of(weights)) for weights in np.eye(len(SOURCES))]
    weights, rates = max(singles, key=lambda pair: pair[1].evidence)
    free = fit_rates(sources, seen_each, stands_for, weights * rates.weights[0])
    if free.evidence > rates.evidence:
        weights = np.array(free.weights)
        if below is not None:
            weights = (weights + below * rates_of(below).weights[0]) / 2
        rates = rates_of(weights)
    raking = raked(parts, k, known, sources @ weights, seen)
    if raking is not None:
        score = (sources @ weights + raking.shift(known.patterns)).round(2)
        after = fit_rates(score[:, None], seen_each, stands_for, np.ones(1), fixed=True)
        if after.evidence > rates.evidence:
            return PartModel(parts, largest, tuple(weights.tolist()), raking, after)
    return PartModel(parts, largest, tuple(weights.tolist()), None, rates)


def raked(parts: PartCounts, k: int, known: Candidates, score: Values, seen: Counts) -> Raking | None:
    """What rakes the score, where all patterns that can occur are known, and the neighbours of their parts."""
    beside = parts.neighbours
    if not known.whole or len(known) > MOST_RAKED or beside is None or k - 1 not in beside.tables:
        return None
    table, neighbours = beside.tables[k - 1], beside.weights[k - 1]
    own = (connected_parts(seen.tables[k], table) >= 0).sum(1)
    each = float(np.average(own, weights=seen.weights[k]))
    return rake(score - np.logaddexp.reduce(score), known.patterns, table, neighbours, each)


def weights_below(parts: PartCounts, gap: int) -> Values | None:
    """[sources] the weights with which patterns of the largest size that was counted follow from their parts, which are
    smaller by ``gap`` nodes; None where nothing that small tells anything.
    """
    size = parts.size
    smaller = affordable_size(size, max(2, size - gap))
    if size < 3 or len(parts.counts.tables[size]) < FEWEST_SEEN:
        return None
    table = parts.counts.tables[size]
    sources = part_sources(table, parts.counts, smaller)
    wanted = np.log(parts.counts.weights[size])
    away = sources - sources.mean(0)
    ridge = np.diag(RIDGE * away.std(0) * np.sqrt(len(table)))
    found, _ = nnls(
        np.vstack([away, ridge]), np.concatenate([wanted - wanted.mean(), np.zeros(len(SOURCES))])
    )
    return found if found.any() else None

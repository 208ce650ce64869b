"""The model of parts and sample for patterns of one size, without a network.

A score is a weighted sum of the sources (`grade.estimators.evidence.part_sources`). The best sum differs from set to
set. Two sources of evidence choose it:

- which patterns of k nodes the sample shows, among those that can occur (`grade.estimators.evidence.rates`);
- the counts of the largest counted patterns, predicted from their own smaller parts. All of these are known exactly,
also the rarest, which no sample shows.

A single source is used unless a sum has more evidence: a higher likelihood of the patterns seen and unseen, less a
price for each weight (Schwarz's criterion). The sum is then the mean of the best fit to the sample and the best fit
to the counts. The score is raked to the counts of parts (`grade.estimators.evidence.raking`) where that raises the
evidence.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, nnls
from scipy.special import digamma, polygamma

from grade.estimators.evidence.candidate_patterns import Candidates
from grade.estimators.evidence.part_sources import SOURCES, affordable_size, part_sources
from grade.estimators.evidence.raking import Raking, rake
from grade.estimators.evidence.rates import SHAPES, Rates, fit_rates
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
    """A score of patterns of one size, and the expected count in a sample as a function of the score."""

    parts: PartCounts
    largest: int  # nodes of the largest parts used
    weights: tuple[float, ...]  # of the sources
    raking: Raking | None
    rates: Rates  # by the score

    def score(self, patterns: PatternTable) -> Values:
        """[n] an estimate of the logarithm of each pattern's count, up to a constant."""
        score: Values = part_sources(patterns, self.parts.counts, self.largest) @ np.array(self.weights)
        if self.raking is None:
            return score
        # Smaller differences are noise, and would break ties.
        return np.asarray((score + self.raking.shift(patterns)).round(2))

    def log_expected(self, patterns: PatternTable) -> Values:
        """[n] log of the expected count of each pattern in the sample."""
        return self.rates.log_expected(self.score(patterns)[:, None])


def fit_part_model(parts: PartCounts, k: int, seen: Counts, known: Candidates | None) -> PartModel:
    """The model with the most evidence, given which of the ``known`` patterns of k nodes were ``seen``."""
    largest = affordable_size(k, parts.size)
    below = weights_below(parts, k - largest)
    if known is None or len(seen.tables[k]) < FEWEST_SEEN:
        weights = np.eye(len(SOURCES))[0] if below is None else below
        table = seen.tables[k]
        score = part_sources(table, parts.counts, largest) @ weights
        rates = rates_of_seen(score, seen.weights[k])
        return PartModel(parts, largest, tuple(weights.tolist()), None, rates)

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


def rates_of_seen(score: Values, counts: Values) -> Rates:
    """The rates where the unseen patterns are too many to list: by moments, from patterns seen twice or more.

    log n - score has the mean a + digamma(r) - log r and the variance trigamma(r), if n is the expected count times a
    gamma-distributed factor of mean 1 and shape r. A sum over all patterns would be that of the highest score alone.
    """
    often = counts >= 2
    if often.sum() < FEWEST_SEEN:
        often = counts > 0
    away = np.log(counts[often]) - score[often]
    variance = float(away.var())
    least, largest = np.exp(SHAPES)
    if variance <= polygamma(1, largest):
        shape = largest
    elif variance >= polygamma(1, least):
        shape = least
    else:
        shape = brentq(lambda r: polygamma(1, r) - variance, least, largest)
    return Rates(float(away.mean() - digamma(shape) + np.log(shape)), (1.0,), float(shape))


def raked(parts: PartCounts, k: int, known: Candidates, score: Values, seen: Counts) -> Raking | None:
    """The raking of the score; None unless all possible patterns are known, and the neighbours of their parts."""
    beside = parts.neighbours
    if not known.whole or len(known) > MOST_RAKED or beside is None or k - 1 not in beside.tables:
        return None
    table, neighbours = beside.tables[k - 1], beside.weights[k - 1]
    own = (connected_parts(seen.tables[k], table) >= 0).sum(1)
    each = float(np.average(own, weights=seen.weights[k]))
    return rake(score - np.logaddexp.reduce(score), known.patterns, table, neighbours, each)


def weights_below(parts: PartCounts, gap: int) -> Values | None:
    """[sources] the weights that best predict the largest counted patterns from parts that are ``gap`` nodes smaller;
    None where there are too few patterns or no such parts.
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

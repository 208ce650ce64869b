"""Rates: expected counts of patterns in a sample, fitted to the counts in it.

A pattern with the features x is expected

    mu = exp(a + w x)        times among the N occurrences of a sample,

times a random factor of each pattern, gamma-distributed with mean 1 and shape r, for everything that the features do
not explain. Its count n then follows a negative binomial distribution (the Gamma-Poisson model of empirical Bayes),
with posterior mean mu (r + n) / (r + mu). For a frequent pattern the count dominates, for an unseen one the features.

Constant, weights and shape maximise the likelihood over all possible patterns, seen and unseen. Counts above one are
censored to 'more than one': otherwise the few most frequent patterns, whose ranks are certain, would dominate the fit
for the many rare ones. Where many patterns were seen more than once, little would be left of the counts, and they are
used as they are. No weight is negative, and a weak prior pulls the weights towards given ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

PULL = 0.5  # of a weight, per unit of its feature's standard deviation
STEEPEST = 25.0  # logarithms of rates beyond this overflow
MANY_SEEN = 0.25  # share of the patterns seen more than once, above which counts are not censored
SHAPES = (-3.0, 6.0)  # least and largest logarithm of the shape

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """The constant a, the weights w, and the shape r."""

    constant: float
    weights: tuple[float, ...]
    shape: float
    evidence: float = 0.0  # log-likelihood less half the logarithm of the data for each weight (Schwarz 1978)

    def log_expected(self, features: Values) -> Values:
        """[n] log mu."""
        return np.asarray(self.constant + features @ np.array(self.weights))

    def updated(self, log_expected: Values, counts: Values) -> Values:
        """[n] log of the posterior mean of each pattern, given its count."""
        return np.asarray(
            log_expected + np.log(self.shape + counts) - np.logaddexp(np.log(self.shape), log_expected)
        )


def fit_rates(
    features: Values, counts: Values, multiplicity: Values, centre: Values, fixed: bool = False
) -> Rates:
    """The rates with the highest likelihood.

    Parameters
    ----------
    features
        [n, f] of all patterns that can occur
    counts
        [n] how often each was seen
    multiplicity
        [n] the number of patterns that each represents (1 where none was left out)
    centre
        [f] centre of the prior of the weights, up to a common factor; where ``fixed``, they are its multiples
    """
    seen = float((counts > 0).sum())
    given = features @ centre[:, None] if fixed else features
    towards = np.ones(1) if fixed else centre
    middle = np.average(given, axis=0, weights=multiplicity)
    spread = np.sqrt(np.average((given - middle) ** 2, axis=0, weights=multiplicity))
    spread[spread < 1e-6] = 1.0  # the same for all patterns: its weight must not be made of rounding errors
    scaled = (given - middle) / spread
    many = float(multiplicity[counts > 1].sum()) > MANY_SEEN * float(multiplicity.sum())
    log_likelihood = uncensored if many else censored

    def loss(point: Values) -> tuple[float, Values]:
        value, slopes = log_likelihood(point, scaled, counts, multiplicity)
        away = point[1:-1] - towards * spread
        if fixed:  # one weight, whose size the sample decides alone
            away = 0.02 * away
        value -= PULL * float(away @ away) + 0.5 * point[-1] ** 2
        slopes[1:-1] -= 2 * PULL * away * (0.02 if fixed else 1.0)
        slopes[-1] -= point[-1]
        return -value, -slopes

    start = np.concatenate([[np.log(max(seen, 1.0) / multiplicity.sum())], towards * spread, [0.0]])
    bounds = [(None, None), *[(0.0, None)] * len(spread), SHAPES]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}).x
    likelihood, _ = log_likelihood(found, scaled, counts, multiplicity)
    weights = found[1:-1] / spread
    constant = float(found[0] - weights @ middle)
    evidence = likelihood - 0.5 * len(weights) * float(np.log(max(seen, 2.0)))
    if fixed:
        weights = weights[0] * centre
    return Rates(constant, tuple(float(w) for w in weights), float(np.exp(found[-1])), evidence)


def uncensored(point: Values, scaled: Values, counts: Values, multiplicity: Values) -> tuple[float, Values]:
    """The log-likelihood of the counts, and its derivatives; ``point`` is (a, w ..., log r)."""
    shape = np.exp(point[-1])
    log_rate = np.clip(point[0] + scaled @ point[1:-1], -STEEPEST, STEEPEST)
    total = np.logaddexp(point[-1], log_rate)  # log of r + mu
    value = gammaln(counts + shape) - gammaln(shape) - gammaln(counts + 1)
    value += shape * (point[-1] - total) + counts * (log_rate - total)
    slope = (counts - (counts + shape) * np.exp(log_rate - total)) * multiplicity
    bend = digamma(counts + shape) - digamma(shape) + point[-1] - total + 1 - (counts + shape) / np.exp(total)
    slopes = np.concatenate([[slope.sum()], scaled.T @ slope, [(bend * multiplicity).sum() * shape]])
    return float(value @ multiplicity), slopes


def censored(point: Values, scaled: Values, counts: Values, multiplicity: Values) -> tuple[float, Values]:
    """`uncensored`, of counts of 0, 1 or more."""
    shape = np.exp(point[-1])
    log_rate = np.clip(point[0] + scaled @ point[1:-1], -STEEPEST, STEEPEST)
    rate = np.exp(log_rate)
    q = rate / (shape + rate)
    log_none = -shape * np.log1p(rate / shape)
    log_one = log_none + np.log(shape) + log_rate - np.log(shape + rate)
    none, one = np.exp(log_none), np.exp(log_one)
    # 1 - none - one loses all its digits where the rate is small; the first term of its series is used there.
    more = np.where(rate < 1e-4, rate**2 * (1 + 1 / shape) / 2, np.maximum(1 - none - one, 1e-300))
    slope_none, slope_one = -shape * q, 1 - q - shape * q
    bend_none = np.log1p(-q) + q
    bend_one = bend_none + 1 / shape - 1 / (shape + rate)
    slope_more = np.where(rate < 1e-4, 2.0, -(none * slope_none + one * slope_one) / more)
    bend_more = np.where(
        rate < 1e-4, -1 / (shape**2 * (1 + 1 / shape)), -(none * bend_none + one * bend_one) / more
    )
    chosen = [counts == 0, counts < 1.5]  # counts of weighted occurrences are not whole
    value = np.select(chosen, [log_none, log_one], np.log(more))
    slope = np.select(chosen, [slope_none, slope_one], slope_more) * multiplicity
    bend = np.select(chosen, [bend_none, bend_one], bend_more) * multiplicity
    slopes = np.concatenate([[slope.sum()], scaled.T @ slope, [bend.sum() * shape]])
    return float(value @ multiplicity), slopes

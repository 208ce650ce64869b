"""Raking: the smallest change of the scores that makes them agree with the exact counts of parts.

An occurrence of a part t of k - 1 nodes together with one of its neighbours is an occurrence of a pattern c of k
nodes, and each occurrence of c arises in this way once for each of its m(c, t) parts t. The total number M(t) of
neighbours of all occurrences of t is counted with the parts (`grade.graphs.part_counts`), and is linear in the
unknown counts:

    sum over c of m(c, t) N(c) = M(t)

The expected shares p(c) of all possible patterns (`grade.estimators.evidence.apriori`) are changed as little as
possible (in Kullback-Leibler divergence) so that this holds. Each share is then multiplied by one factor for each of
its parts:

    log q(c) = log p(c) + constant + sum over its parts t of lambda(t)

as iterative proportional fitting would (Deming and Stephan 1940); lambda is the minimum of a convex function.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from grade.graphs import PatternTable
from grade.graphs.node_deletions import connected_parts

RIDGE = 1e-3  # of lambda, in occurrences: few, to bound lambda where no pattern explains a count
STEEPEST = 30.0  # exponents beyond this overflow

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Raking:
    """The factors of parts."""

    parts: PatternTable  # [t]
    logarithms: Values  # [t + 1] lambda, and the constant

    def shift(self, patterns: PatternTable) -> Values:
        """[n] log q - log p of each pattern."""
        return of_parts(self.logarithms, connected_parts(patterns, self.parts))


def rake(
    log_shares: Values,
    patterns: PatternTable,
    parts: PatternTable,
    neighbours: Values,
    parts_each: float,
) -> Raking:
    """Find the factors.

    Parameters
    ----------
    log_shares
        [n] of all patterns that are possible; expected, and perhaps not quite 1 in all
    neighbours
        [t] M of each part
    parts_each
        mean number of connected parts of an occurrence; the sum of M divided by it is the number of occurrences
    """
    rows = connected_parts(patterns, parts)  # [n, k], -1 where the rest is not connected
    size = neighbours.sum() / parts_each  # occurrences in all
    target = np.append(neighbours, size)
    ridge = np.append(np.full(len(parts), RIDGE), 0.0)
    scale = 1 / np.sqrt(target + ridge)  # about the curvature: steps of all parts are of one size

    def loss(point: Values) -> tuple[float, Values]:
        values = point * scale
        counts = np.exp(np.minimum(log_shares + np.log(size) + of_parts(values, rows), STEEPEST))
        sums = np.bincount(rows.ravel() + 1, np.repeat(counts, rows.shape[1]), len(parts) + 1)
        sums = np.append(sums[1:], counts.sum())
        gradient = sums - target + ridge * values
        return float(counts.sum() - target @ values + ridge @ values**2 / 2), gradient * scale

    options = {"maxiter": 1000, "maxfun": 5000, "ftol": 1e-12, "gtol": 1e-4}
    found = minimize(loss, np.zeros(len(target)), jac=True, method="L-BFGS-B", options=options)
    return Raking(parts, found.x * scale)


def of_parts(values: Values, rows: NDArray[np.int64]) -> Values:
    """[n] sum of the values of each pattern's parts, -1 standing for none, and the constant, which is the last."""
    return np.asarray(np.append(values[:-1], 0.0)[rows].sum(1) + values[-1])

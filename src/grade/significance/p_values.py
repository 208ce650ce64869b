"""From counts over an ensemble to z-scores, empirical p-values and q-values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scores:
    """Counts of patterns [n] against their counts over the draws of a null model."""

    observed: Floats  # [n] whole numbers, or estimates
    mean: Floats  # [n] over the draws
    deviation: Floats  # [n] standard deviation over the draws
    z: Floats  # [n] (observed - mean) / deviation; infinite, or NaN, where the deviation is 0
    p_over: Floats  # [n] probability of as many or more
    p_under: Floats  # [n] probability of as many or fewer
    p: Floats  # [n] two-sided
    q: Floats  # [n] Benjamini-Hochberg; NaN where the pattern was not tested
    tested: NDArray[np.bool_]  # [n]

    def __repr__(self) -> str:
        return f"Scores({len(self.observed):,} patterns, {int(self.tested.sum()):,} tested)"

    @property
    def log_ratio(self) -> Floats:
        """[n] base-2 logarithm of (observed + 1) / (mean + 1)."""
        return np.log2(self.observed + 1) - np.log2(self.mean + 1)

    @property
    def over(self) -> NDArray[np.bool_]:
        """[n] whether more occurrences were observed than the draws have on average."""
        return self.observed > self.mean

    @property
    def profile(self) -> Floats:
        """[n] the significance profile: z-scores scaled to length 1 (Milo et al. 2004); 0 where z is not finite."""
        finite = np.where(np.isfinite(self.z), self.z, 0.0)
        length = np.linalg.norm(finite)
        return finite / length if length else finite


def score(
    observed: Floats,
    mean: Floats,
    variance: Floats,
    at_least: NDArray[np.uint64],
    at_most: NDArray[np.uint64],
    most: NDArray[np.uint64] | Floats,
    draws: int,
    least: float,
) -> Scores:
    """Scores from the number of draws [n] with at least, and with at most, the observed count.

    Patterns are tested that reach ``least`` occurrences in the set or in some draw. This treats the set and the draws
    alike, so that under the null hypothesis the p-values of the rest stay valid.
    """
    deviation = np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (observed - mean) / deviation
    p_over, p_under = (1 + at_least.astype(float)) / (draws + 1), (1 + at_most.astype(float)) / (draws + 1)
    p = np.minimum(2 * np.minimum(p_over, p_under), 1.0)
    tested = np.maximum(observed, most.astype(float)) >= least
    q = np.full(len(p), np.nan)
    q[tested] = benjamini_hochberg(p[tested])
    return Scores(observed, mean, deviation, z, p_over, p_under, p, q, tested)


def benjamini_hochberg(p: Floats) -> Floats:
    """q-values: the smallest false discovery rate at which each hypothesis is rejected.

    Benjamini and Hochberg, "Controlling the False Discovery Rate", 1995: q_(i) = min over j >= i of p_(j) n / j.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.5])).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    order = np.argsort(p)
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    q = np.empty(len(p))
    q[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return q

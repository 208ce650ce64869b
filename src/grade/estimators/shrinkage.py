"""Shrinkage: what a model expects of a pattern, corrected by how often the sample shows it (empirical Bayes).

A class is expected lambda times in the sample and was seen n times. What the model does not know of it is a factor,
taken to be gamma-distributed with mean 1 and shape r, so that n follows a negative binomial distribution. Given n, the
factor's mean is

    (r + n) / (r + lambda)

A class that was seen often is thus known by its count, one that was seen once or never by the model, and r says how
many occurrences the model is worth. It is the value of the highest likelihood of the classes that were seen: of their
counts, none of which is zero. The model was trained on these, so that they tell how well it repeats what it was shown;
classes that were held out from it (`grade.estimators.calibration`) tell how well it knows others. It has to rank both,
and where both are known, the geometric mean of the two values is taken.

Scores tell how much more often one class is expected than another, but not how often: that is known of all classes
together that were seen. In a sample of N occurrences, of which n_1 are of classes that were seen once, the classes that
were not seen make up about n_1 / N of the set (Good and Turing), so those that were seen are expected N - n_1 times.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

SHAPES = (-5.0, 8.0)  # least and largest logarithm of the shape
PULL = 0.5  # of the logarithm of the shape, towards a shape of 1: where nothing was seen twice, nothing else tells


@dataclass(frozen=True)
class Shrinkage:
    """How many occurrences a score of 0 stands for, and how many the model is worth."""

    log_scale: float
    shape: float

    def score(self, scores: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """[n] the scores, corrected by the counts."""
        expected = np.exp(scores + self.log_scale)
        result: NDArray[np.float64] = scores + np.log((self.shape + counts) / (self.shape + expected))
        return result


def shrink(
    scores: NDArray[np.float64], counts: NDArray[np.float64], held_out: float | None = None
) -> Shrinkage:
    """Fit to the classes that were seen: their scores [n] and counts [n], all positive; ``held_out`` is the shape that
    classes showed of which the model did not know.
    """
    once = float(counts[counts <= 1].sum())
    seen = max(float(counts.sum()) - once, 1.0)
    log_scale = np.log(seen) - np.logaddexp.reduce(scores)
    expected = np.exp(scores + log_scale)

    def loss(log_shape: float) -> float:
        shape = np.exp(log_shape)
        unseen = -shape * np.log1p(expected / shape)  # log of the chance of no occurrence
        likelihood = (
            gammaln(counts + shape)
            - gammaln(shape)
            + counts * np.log(expected / (expected + shape))
            + unseen
            - np.log(-np.expm1(unseen))
        )
        return float(PULL * log_shape**2 - likelihood.sum())

    shape = float(np.exp(minimize_scalar(loss, bounds=SHAPES, method="bounded").x))
    return Shrinkage(float(log_scale), shape if held_out is None else float(np.sqrt(shape * held_out)))

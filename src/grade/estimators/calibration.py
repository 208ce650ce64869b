"""Calibration: the model's probability and the counts of a pattern's parts, combined into one score.

How much each is worth differs from set to set, and the sample itself tells. A class c is expected lambda_c times in
the sample, with

    log lambda_c = a + b_1 log p_model(c) + b_2 joined(c) + b_3 rarest(c)

(`grade.graphs.parts` has the last two). What these do not explain is a factor of each class, taken to be
gamma-distributed with mean 1 and shape r, so that the number of its occurrences n_c follows a negative binomial
distribution; of the classes that were seen, that distribution without its zero. A plain Poisson distribution (r
infinite) would be ruled by the few classes of huge counts, which it takes to be known exactly. Weights and shape are
those of the highest likelihood. The classes are those that the model was not trained on, for on its own training
data a model is surer than it deserves. No true count is looked at.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

PULL = 20.0  # strength of the pull towards the model alone, which holds where few classes were seen twice
ALIKE = 1e-6  # standard deviation below which a feature is the same for all classes
STEEPEST = 25.0  # log-rates beyond this overflow
FEWEST_REPEATED = 10  # classes seen more than once, below which the shape is not known
SHAPES = (-5.0, 6.0)  # least and largest logarithm of the shape


@dataclass(frozen=True)
class Calibration:
    """The weights of log p_model, joined and rarest in the score, the constant, and the shape r if it is known."""

    constant: float
    weights: tuple[float, ...]
    shape: float | None

    def score(
        self, log_probability: NDArray[np.float64], evidence: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """[n] log of the expected share of each class in a sample."""
        features = np.column_stack([log_probability, evidence])
        result: NDArray[np.float64] = self.constant + features @ np.array(self.weights)
        return result


def calibrate(
    log_probability: NDArray[np.float64],
    evidence: NDArray[np.float64],
    counts: NDArray[np.float64],
    exposure: NDArray[np.float64],
) -> Calibration:
    """Fit the weights to classes that were seen but not trained on.

    ``counts`` [n] are the occurrences of each class in the sample, all positive; ``exposure`` [n] the
    occurrences that a class of share 1 would have had (the size of the sample, over the class's sampling weight).
    No weight is negative: a part that occurs more often never makes a pattern rarer.
    """
    features = np.column_stack([log_probability, evidence])  # [n, 3]
    centre, spread = features.mean(0), features.std(0)
    # What is the same for all classes tells nothing: its weight must not be made of rounding errors.
    spread[spread < ALIKE] = 1.0
    scaled = (features - centre) / spread
    alone = np.zeros(scaled.shape[1])
    alone[0] = spread[0]  # the weight 1 of the model, in scaled units
    # The model's weight itself is pulled, however far apart its probabilities are: an overconfident model must not
    # resist the more. The parts' share of the score is, so that one with a wide range needs the more evidence.
    strength = np.full(scaled.shape[1], PULL)
    strength[0] /= spread[0] ** 2

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        constant, weights, shape = values[0], values[1:-1], np.exp(values[-1])
        rate_log = np.clip(constant + scaled @ weights + np.log(exposure), -STEEPEST, STEEPEST)
        rate = np.exp(rate_log)
        unseen = -shape * np.log1p(rate / shape)  # log of the chance of no occurrence
        seen = -np.expm1(unseen)
        likelihood = (
            gammaln(counts + shape)
            - gammaln(shape)
            + counts * (rate_log - np.log(rate + shape))
            + unseen
            - np.log(seen)
        )
        # d log(seen) = exp(unseen) / seen * -d unseen
        truncated = 1 + np.exp(unseen) / seen
        slope = counts * shape / (rate + shape) - truncated * rate * shape / (rate + shape)
        unseen_slope = unseen / shape + rate / (rate + shape)  # d unseen / d shape
        shape_slope = (
            digamma(counts + shape) - digamma(shape) - counts / (rate + shape) + truncated * unseen_slope
        )
        pull = weights - alone
        gradient = np.concatenate(
            [
                [-slope.sum()],
                -slope @ scaled + 2 * strength * pull,
                [-shape * shape_slope.sum() + values[-1]],
            ]
        )
        # The shape is pulled to 1, weakly.
        penalty = float(strength @ pull**2) + 0.5 * float(values[-1]) ** 2
        return -float(likelihood.sum()) + penalty, gradient

    start = np.concatenate([[centre[0]], alone, [0.0]])
    bounds = [(None, None), *[(0.0, None)] * scaled.shape[1], SHAPES]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 2000}).x
    weights = found[1:-1] / spread
    # Where hardly any class was seen twice, the shape is but what it is pulled to.
    shape = float(np.exp(found[-1])) if (counts > 1).sum() >= FEWEST_REPEATED else None
    return Calibration(float(found[0] - weights @ centre), tuple(float(w) for w in weights), shape)

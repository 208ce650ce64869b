"""Calibration: the model's probability and the counts of a pattern's parts, combined into one score.

How much each is worth differs from set to set, and the sample itself tells. A class c that is drawn at rate
lambda_c shows up in the sample n_c ~ Poisson(lambda_c) times; of the classes that were seen, n_c follows the
Poisson distribution without its zero. So in

    log lambda_c = a + b_1 log p_model(c) + b_2 joined(c) + b_3 rarest(c)

(`grade.graphs.parts` has the last two) the weights are those of the highest likelihood

    sum over c of n_c log lambda_c - log(exp(lambda_c) - 1),

a concave function. The classes are those that the model was not trained on, for on its own training data a
model is surer than it deserves. No true count is looked at.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

PULL = 10.0  # strength of the pull towards the model alone, which holds where few classes were seen twice
STEEPEST = 50.0  # log-rates beyond this overflow


@dataclass(frozen=True)
class Calibration:
    """The weights of log p_model, joined and rarest in the score, and the constant."""

    constant: float
    weights: tuple[float, ...]

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
    centre, spread = features.mean(0), features.std(0) + 1e-9
    scaled = (features - centre) / spread
    alone = np.zeros(scaled.shape[1])
    alone[0] = spread[0]  # the weight 1 of the model, in scaled units

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        rate_log = np.clip(values[0] + scaled @ values[1:] + np.log(exposure), -STEEPEST, STEEPEST)
        rate = np.exp(np.minimum(rate_log, 20.0))
        positive = -np.expm1(-rate)  # the chance of being seen at all
        likelihood = counts * rate_log - rate - np.log(positive)
        slope = counts - rate / positive  # the count minus its mean, given that it is not zero
        pull = values[1:] - alone
        gradient = np.concatenate([[-slope.sum()], -slope @ scaled + 2 * PULL * pull])
        return -float(likelihood.sum()) + PULL * float(pull @ pull), gradient

    start = np.concatenate([[centre[0]], alone])
    bounds = [(None, None)] + [(0.0, None)] * scaled.shape[1]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 2000}).x
    weights = found[1:] / spread
    return Calibration(float(found[0] - weights @ centre), tuple(float(w) for w in weights))

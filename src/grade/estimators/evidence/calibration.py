"""Calibration: a model's probability, the counts of a pattern's parts and the sample's own counts in one score.

How much each is worth differs from set to set, and the sample itself tells: some of its occurrences are hidden, a model
is trained on the others, and the best combination is the one that foretells the hidden ones. It looks at no true count.

A class c is expected to have the share p_c of all occurrences, with

    log p_c = a + b_1 log p_model(c) + b_2 joined(c) + b_3 rarest(c)

(`grade.graphs.part_counts` has the last two). What these do not explain is a factor of each class, taken to be
gamma-distributed with mean 1 and shape r. Once the class was seen n times among N occurrences, its share is expected
to be

    p_c (r + n) / (r + N p_c)

(empirical Bayes): one that was seen often is known by its count, one that was seen once or never by the model and its
parts, and r says how many occurrences these are worth. How often the class is among M hidden occurrences then follows a
negative binomial distribution of shape r + n and M times that mean; of a class that was not seen before, without its
zero, for classes that were never seen are unknown. Constant, weights and shape are those of the highest likelihood.

The model has learned from the occurrences that were counted, as it will have in the end, so r says what they are worth
beside it. Where little was hidden, r is what the counts that the model was shown say of it; that is too much, for it
repeats what it was shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from torch import Tensor

PULL = 5.0  # strength of the pull towards the model alone, which holds where little was hidden
ALIKE = 1e-6  # standard deviation below which a feature is the same for all classes
STEEPEST = 25.0  # log-rates beyond this overflow
SHAPES = (-5.0, 8.0)  # least and largest logarithm of the shape

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """The constant a, the weights b of log p_model, joined and rarest, the shape r, and the size N of the sample."""

    constant: float
    weights: tuple[float, ...]
    shape: float
    size: float

    def score(self, log_probability: Values, evidence: Values, counts: Values | None = None) -> Values:
        """[n] log of the expected share of each class in a sample; ``counts`` [n] is how often it was seen."""
        expected = self.constant + np.column_stack([log_probability, evidence]) @ np.array(self.weights)
        if counts is None:
            return np.asarray(expected)
        return np.asarray(
            expected + np.log((self.shape + counts) / (self.shape + np.exp(expected + np.log(self.size))))
        )


@dataclass(frozen=True)
class Rehearsal:
    """What a model of some occurrences of a sample says about classes, and how often it was shown them or not.

    The classes are all that the sample shows; or some that were hidden whole, for which nothing else was looked at and
    ``shown_size`` is 0.
    """

    log_probability: Values  # [n]
    evidence: Values  # [n, 2] of their parts
    shown: Values  # [n] occurrences that the model has learned from ...
    hidden: Values  # [n] ... and that it has not
    shown_size: float  # of how many
    hidden_size: float


def calibrate(rehearsals: Sequence[Rehearsal], size: float, weigh: bool = True) -> Calibration:
    """Fit the combination to what was hidden in the rehearsals, all of one sample of ``size`` occurrences.

    Without ``weigh``, the model is taken as it is and parts are left out: constant and shape are fitted. No weight is
    negative: a part that occurs more often never makes a pattern rarer.
    """
    features = np.concatenate(
        [np.column_stack([r.log_probability, r.evidence * weigh]) for r in rehearsals]  # [n, 3]
    )
    shown, hidden = (
        np.concatenate([np.asarray(getattr(r, name), np.float64) for r in rehearsals])
        for name in ("shown", "hidden")
    )
    before, after = (
        np.concatenate([np.full(len(r.shown), getattr(r, name) / size) for r in rehearsals])
        for name in ("shown_size", "hidden_size")
    )
    counts = tuple(torch.from_numpy(column) for column in (shown, hidden, before, after))

    centre, spread = features.mean(0), features.std(0)
    # What is the same for all classes tells nothing: its weight must not be made of rounding errors.
    spread[spread < ALIKE] = 1.0
    scaled = torch.from_numpy((features - centre) / spread)
    alone = np.zeros(len(spread))
    alone[0] = spread[0]  # the weight 1 of the model, in scaled units
    # The model's weight itself is pulled, however far apart its probabilities are: an overconfident model must not
    # resist the more. The parts' share of the score is, so that one with a wide range needs the more evidence.
    strength = np.full(len(spread), PULL)
    strength[0] /= spread[0] ** 2
    pulled_to, pull = torch.from_numpy(alone), torch.from_numpy(strength)
    learned = shown > 0
    log_shape_shown = log_shape_of(features[learned, 0], shown[learned])

    # What was shown is expected about as often as it was. Were it far more, nothing but the counts would matter.
    log_seen = log_scale(np.zeros(1), shown[learned])
    rows, log_before = torch.from_numpy(np.flatnonzero(learned)), torch.from_numpy(np.log(before[learned]))

    def loss(point: Values) -> tuple[float, Values]:
        values = torch.from_numpy(point).requires_grad_()
        constant, weights, log_shape = values[0], values[1:-1], values[-1]
        log_rate = constant + scaled @ weights + np.log(size)
        likelihood = log_likelihood(log_rate, log_shape.exp(), *counts).sum()
        pulls = (
            (pull * (weights - pulled_to).square()).sum()
            + PULL * ((log_rate[rows] + log_before).logsumexp(0) - log_seen).square()
            + 0.5 * (log_shape - log_shape_shown).square()
        )
        (gradient,) = torch.autograd.grad(pulls - likelihood, values)
        return float((pulls - likelihood).detach()), gradient.numpy()

    scale = log_scale(features[learned, 0] + np.log(before[learned]), shown[learned])
    start = np.concatenate([[centre[0] + scale - np.log(size)], alone, [0.0]])
    free = [(0.0, None)] * len(spread) if weigh else [(value, value) for value in alone]
    bounds = [(None, None), *free, SHAPES]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 2000}).x
    weights = found[1:-1] / spread
    return Calibration(
        constant=float(found[0] - weights @ centre),
        weights=tuple(float(w) for w in weights),
        shape=float(np.exp(found[-1])),
        size=size,
    )


def log_likelihood(
    log_rate: Tensor, shape: Tensor, shown: Tensor, hidden: Tensor, before: Tensor, after: Tensor
) -> Tensor:
    """[n] log of the chance of each class's ``hidden`` occurrences given those ``shown``, but for a constant.

    ``log_rate`` is of what is expected of the whole sample, of which a share ``before`` was shown and ``after`` hidden.
    """
    rate = log_rate.clamp(-STEEPEST, STEEPEST).exp()
    own_shape = shape + shown
    mean = after * rate * own_shape / (shape + before * rate)
    none = -own_shape * torch.log1p(mean / own_shape)  # log of the chance of no occurrence
    result = (
        torch.lgamma(hidden + own_shape)
        - torch.lgamma(own_shape)
        + hidden * (mean / (mean + own_shape)).log()
        + none
    )
    return result - torch.where(shown > 0, 0.0, torch.log(-torch.expm1(none)))


def log_shape_of(log_probability: Values, counts: Values) -> float:
    """log r by the counts [n] of classes that the model was shown, all positive; pulled to 0, weakly."""
    log_rate = torch.from_numpy(log_probability + log_scale(log_probability, counts))
    nothing, all_of_it = torch.zeros(len(counts)).double(), torch.ones(len(counts)).double()

    def loss(log_shape: float) -> float:
        shape = torch.tensor(log_shape).double().exp()
        likelihood = log_likelihood(
            log_rate, shape, nothing, torch.from_numpy(counts), nothing, all_of_it
        ).sum()
        return 0.5 * log_shape**2 - float(likelihood)

    return float(minimize_scalar(loss, bounds=SHAPES, method="bounded").x)


def log_scale(log_probability: Values, counts: Values) -> float:
    """log of how many occurrences a probability of 1 stands for, by classes that were seen and their counts.

    Those of classes that were not seen are about as many as of classes that were seen once (Good and Turing), so those
    that were seen are expected as often as they were but for so many.
    """
    seen = max(float(counts[counts > 1].sum()), 1.0)
    return float(np.log(seen) - np.logaddexp.reduce(log_probability))

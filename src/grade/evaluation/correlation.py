"""How well an estimator ranks patterns: rank correlation of its scores with exact counts."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, spearmanr

from grade.errors import InputError
from grade.estimators.protocol import Estimator
from grade.graphs import PatternTable


@dataclass(frozen=True)
class Evaluation:
    """The figures of one evaluation."""

    spearman: float
    kendall: float  # tau-b
    patterns: int
    evaluations_per_pattern: float  # network evaluations
    seconds: float  # for scoring


def spearman(scores: NDArray[np.float64], counts: NDArray[np.generic]) -> float:
    """Spearman's rho, ties at their mean rank.

    >>> round(spearman(np.array([1.0, 2.0, 2.0]), np.array([10, 30, 20])), 3)
    0.866
    """
    check(scores, counts)
    return float(spearmanr(scores, counts).statistic)


def kendall(scores: NDArray[np.float64], counts: NDArray[np.generic]) -> float:
    """Kendall's tau-b, which corrects for ties.

    >>> round(kendall(np.array([1.0, 2.0, 2.0]), np.array([10, 30, 20])), 3)
    0.816
    """
    check(scores, counts)
    return float(kendalltau(scores, counts).statistic)


def check(scores: NDArray[np.float64], counts: NDArray[np.generic]) -> None:
    """Refuse values without a rank correlation, for which scipy would return NaN."""
    if scores.shape != counts.shape:
        raise InputError(f"{len(scores)} scores cannot be compared with {len(counts)} counts.")
    if np.isnan(scores).any():
        raise InputError("A score is not a number, so the patterns cannot be ranked.")
    if len(scores) < 2 or scores.min() == scores.max() or counts.min() == counts.max():
        raise InputError("A ranking needs at least two different scores and two different counts.")


def evaluate(estimator: Estimator, patterns: PatternTable, counts: NDArray[np.generic]) -> Evaluation:
    """Score all patterns of a census and compare with their counts."""
    begin = time.perf_counter()
    scores = estimator.log_probability(patterns)
    seconds = time.perf_counter() - begin
    return Evaluation(
        spearman(scores, counts),
        kendall(scores, counts),
        len(patterns),
        estimator.evaluations / max(len(patterns), 1),
        seconds,
    )

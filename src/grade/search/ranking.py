"""The scores by which a search ranks its candidates.

The default is ``coverage``: overlapping occurrences around hubs lead every list of counts, while a pattern that
covers many nodes can be acted on. ``occurrences`` is the paper's objective.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from grade.costs import Savings
from grade.errors import InputError
from grade.graphs import GraphSet, PatternTable
from grade.progress import NEVER, Deadline
from grade.search.beam import START, Score
from grade.search.candidates import Counted
from grade.search.supports import Supports

LogProbability = Callable[[PatternTable], NDArray[np.float64]]

CHUNK = 256  # candidates scored between two looks at the clock
FIRST = 1000  # patterns to fit the accuracy of counts and estimates on
ROUNDS = 20  # of reweighted least squares; they settle in fewer
OUTLYING = 3.0  # standard deviations, beyond which a pattern says no more
MOST_FACTOR = 4.0  # of counting errors above the stated ones; the rest is the estimator's
TAILS = 3.0  # degrees of freedom of the estimator's errors
LEAST_SPREAD = 1e-6  # of an estimator without errors

RANKINGS = {
    "occurrences": "number of occurrences, the paper's frequency",
    "graphs": "number of graphs that contain the pattern",
    "disjoint": "number of occurrences that share no node",
    "coverage": "number of nodes in some occurrence",
    "saving": "savings by fusing the disjoint occurrences: bytes kept from memory, or measured seconds",
    "mni": "fewest nodes that can stand for one node of the pattern (minimum image-based support)",
    "estimator": "number of occurrences, shrunk towards the estimator's expectation where it is uncertain",
    "probability": "the estimator's log-probability alone, as in the paper",
}


def ranking(
    name: str,
    graphs: GraphSet,
    beam: int,
    log_probability: Mapping[int, LogProbability] | None = None,
    deadline: Deadline = NEVER,
    supports: Supports | None = None,
    by_graph: bool = False,
    savings: Savings | None = None,
) -> Score:
    """The score by this name. Scores of an estimator come from ``log_probability``, by size, until the deadline.

    ``by_graph`` divides the occurrences in each graph by its number of nodes, so that no large graph leads by itself;
    covered nodes are weighted as the occurrences are.
    Equal supports rank by the number of occurrences, and equal numbers by the pattern's key.
    """
    saved = (savings or Savings(graphs)) if name == "saving" else None
    counted = supports or Supports(graphs, deadline=deadline)
    if name not in RANKINGS:
        raise InputError(f"There is no ranking named {name!r}; known: {', '.join(RANKINGS)}.")

    def score(lists: Counted) -> NDArray[np.float64]:
        counts = lists.counts
        if by_graph and (name == "occurrences" or needs_estimator(name)):
            counts = lists.per_node(graphs)
        if name == "occurrences" or (needs_estimator(name) and lists.patterns.size == START):
            return counts  # of 3 nodes they are exact: no estimator could do better
        if name == "coverage" and by_graph:  # as far as occurrences say where the covered nodes lie
            worth = lists.per_node(graphs) / np.maximum(lists.counts, 1e-300)
            return counted.of(name, lists) * worth
        if name in ("graphs", "disjoint", "coverage", "mni"):
            return counted.of(name, lists) + tie_break(lists.counts)
        if saved is not None:
            listed = lists.lists()
            means = saved.of_lists(lists.patterns, listed.offsets, listed.occurrences)
            return np.asarray(means * counted.of("disjoint", lists), np.float64)
        assert log_probability is not None
        scores = in_chunks(log_probability[lists.patterns.size], lists.patterns, deadline)
        if name == "probability":
            return scores
        return posterior_mean(counts, lists.relative_variances(), scores)

    return score


def posterior_mean(
    counts: NDArray[np.float64], variances: NDArray[np.float64], log_probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    """[m] mean of the logarithm of each count, from an unbiased one of known relative variance v and a prior.

    The prior is the estimator's log-probability and a constant, log N ~ Normal(c + log p, s^2), and the measured
    logarithm has the variance f v around log N: occurrences that grew from the same ones make f more than 1. The
    squared distances of measured from expected logarithms are attributed to counting as far as possible, f v by
    weighted least squares through the origin; s^2 is the rest. Lists of one length leave it open whose error a
    distance is, and where lists are short it is mostly that of the counts. Constant, s^2 and f are found on the
    patterns that the estimator puts first: of others, mostly those are listed that happened to be met. Where counts
    are exact this ranks as they do.

    An estimator is far off for some patterns: its errors follow Student's t, so the s^2 of a pattern grows with its own
    distance, and a precise count prevails over an expectation far away from it.

    >>> posterior_mean(np.array([8.0, 8.0, 2.0]), np.zeros(3), np.array([0.0, 5.0, 9.0])).round(2).tolist()
    [2.08, 2.08, 0.69]
    """
    if len(counts) == 0:
        return np.zeros(0)
    measured = np.log(np.maximum(counts, 1e-300))
    first = np.argsort(-log_probability, kind="stable")[:FIRST]
    away, stated = (measured - log_probability)[first], variances[first]
    spread, factor, constant = 1.0, 1.0, 0.0
    for _ in range(ROUNDS):
        expected = spread + factor * stated
        weights = expected**-2.0
        constant = float(np.average(away, weights=1 / expected))
        squares = np.minimum((away - constant) ** 2, OUTLYING**2 * expected)
        by_counting = float(weights @ (squares * stated)) / max(float(weights @ stated**2), 1e-300)
        factor = min(max(by_counting, 1.0), MOST_FACTOR)
        spread = max(float(np.average(squares - factor * stated, weights=weights)), LEAST_SPREAD)
    noise, expected_log = factor * variances, log_probability + constant
    own = spread * (TAILS + (measured - expected_log) ** 2 / (spread + noise)) / (TAILS + 1)
    return np.asarray((measured * own + expected_log * noise) / (own + noise))


def in_chunks(
    log_probability: LogProbability, patterns: PatternTable, deadline: Deadline
) -> NDArray[np.float64]:
    """[n] scores, with looks at the clock in between; the same chunks with and without a deadline."""
    scores = []
    for begin in range(0, len(patterns), CHUNK):
        deadline.check()
        scores.append(log_probability(patterns.take(np.arange(begin, min(begin + CHUNK, len(patterns))))))
    return np.concatenate(scores) if scores else np.zeros(0)


def needs_estimator(name: str) -> bool:
    return name in ("estimator", "probability")


def tie_break(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks of counts, scaled to less than a unit: supports are whole numbers and often equal."""
    ranks = np.unique(counts, return_inverse=True)[1]
    return np.asarray(ranks / max(2 * len(counts), 1))

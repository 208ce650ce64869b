"""What is done with levels, the patterns of one size each, outside the search."""

import numpy as np

from grade.errors import InputError
from grade.graphs import SubgraphSample
from grade.search import Constraints, Level, OccurrenceLists


def most_frequent(sample: SubgraphSample, constraints: Constraints) -> Level:
    """The baseline: the patterns of the sample by their weighted frequency in it."""
    lists = OccurrenceLists.group(
        sample.patterns,
        sample.pattern_ids,
        sample.occurrences,
        sample.weights,
        np.zeros(len(sample.patterns), bool),
    )
    accepted = np.flatnonzero(constraints.accepts(lists.patterns))
    if len(accepted) == 0:
        raise InputError(
            "No pattern of the sample satisfies the constraints; draw more --samples or relax one of them."
        )
    order = accepted[np.argsort(-lists.counts[accepted], kind="stable")]
    return Level(lists.take(order), lists.counts[order], len(lists), len(sample), 0.0)


def best_so_far(levels: list[Level], constraints: Constraints) -> list[Level]:
    """Up to the largest size with a pattern that satisfies all constraints: others were kept to grow further."""
    while levels and not constraints.accepts(levels[-1].lists.patterns).any():
        levels = levels[:-1]
    if not levels:
        raise InputError(
            "The time budget ran out before a pattern was found that satisfies the constraints; raise"
            " --time-budget, and the run goes on."
        )
    return levels

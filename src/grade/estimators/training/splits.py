"""Held-out splits: patterns that a network is not trained on. They depend on the seed alone."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grade.graphs import SubgraphSample

HELD_OUT = 0.2  # share of the patterns


def held_out_patterns(samples: Sequence[SubgraphSample], seed: int) -> list[NDArray[np.bool_]]:
    """[patterns] of each sample: which patterns, with all their occurrences, are held out."""
    generator = np.random.default_rng([seed, 1])
    held = []
    for sample in samples:
        number = len(sample.patterns)
        chosen = np.zeros(number, np.bool_)
        chosen[generator.permutation(number)[: round(HELD_OUT * number)]] = True
        held.append(chosen)
    return held

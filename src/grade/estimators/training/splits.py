"""What of its samples a network is not shown, so that it can be asked about it: other parts of them in each fold.

All of it follows from the seed of the settings, not from what was drawn before.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grade.graphs import SubgraphSample
from grade.settings import EstimatorSettings


def held_out_types(
    samples: Sequence[SubgraphSample], settings: EstimatorSettings, fold: int
) -> list[NDArray[np.bool_]]:
    """[types] of each sample: which types, with all their occurrences, the trial of this fold is not shown."""
    generator = np.random.default_rng([settings.seed, 1])
    return [drawn(len(sample.patterns), fold, settings.held_out, generator) for sample in samples]


def hidden_occurrences(
    samples: Sequence[SubgraphSample], settings: EstimatorSettings, fold: int
) -> list[NDArray[np.int64]]:
    """[types] of each sample: how many occurrences of each type the rehearsal of this fold is not shown."""
    generator = np.random.default_rng([settings.seed, 2])
    hidden = []
    for sample in samples:
        types = np.repeat(np.arange(len(sample.patterns)), sample.counts.astype(np.int64))
        own = types[drawn(len(types), fold, settings.held_out, generator)]
        hidden.append(np.bincount(own, minlength=len(sample.patterns)))
    return hidden


def drawn(number: int, fold: int, share: float, generator: np.random.Generator) -> NDArray[np.bool_]:
    """[number] which of so many things are drawn for this fold: a share of them, other ones for each fold.

    >>> folds = [drawn(10, fold, 0.2, np.random.default_rng(0)) for fold in range(5)]
    >>> sum(folds[1:], folds[0].astype(int)).tolist()
    [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """
    place = (generator.permutation(number) + 0.5) / number
    result: NDArray[np.bool_] = (place >= fold * share) & (place < (fold + 1) * share)
    return result

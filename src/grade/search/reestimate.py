"""Counting the winners again with fresh seeds, so that having won does not flatter them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grade import _core
from grade.graphs import GraphSet
from grade.search.beam import START, Bounds, Level, derived
from grade.search.constraints import Constraints
from grade.search.expand import connected_parts, grow
from grade.search.occurrences import OccurrenceLists


def reestimate(
    graphs: GraphSet,
    levels: list[Level],
    rows: ArrayLike,
    *,
    constraints: Constraints,
    bounds: Bounds,
    seed: int,
    replicates: int = 4,
    threads: int = 1,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unbiased counts of patterns of the last level, and their standard errors.

    The search keeps patterns because their counts came out high, so its own counts of what it kept lean upwards. Here
    the kept patterns are fixed (those of each size that lead to the wanted ones) and new seeds draw new lists. Given
    the kept patterns, each replicate is unbiased, so their mean is, and their spread gives its error.

    Parameters
    ----------
    levels : all levels of a finished search, sizes 3 .. k
    rows : the patterns of ``levels[-1]`` to count again
    """
    wanted = [levels[-1].lists.patterns.take(rows)]
    for level in reversed(levels[:-1]):
        parents = connected_parts(wanted[0], level.lists.patterns)
        wanted.insert(0, level.lists.patterns.take(np.unique(parents[parents >= 0])))
    count = _core.count_instances(graphs.core, START, threads, None)
    start = OccurrenceLists.all_of_size(graphs, START, count, threads).aligned(wanted[0])
    found = []
    for replicate in range(replicates):
        lists = start
        for step, kept in enumerate(wanted[1:], start=1):
            lists = grow(
                graphs,
                lists.thinned(bounds.list_size, derived(seed, replicate, step, 1)),
                constraints=constraints,
                steps_left=len(wanted) - step - 1,
                capacity=bounds.capacity,
                seed=derived(seed, replicate, step, 0),
                threads=threads,
            ).aligned(kept)
        found.append(lists.counts)
    values = np.stack(found)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(replicates)

"""Unbiased counts of patterns that are fixed beforehand: winners of a search counted again, or any patterns at all.

The search keeps patterns because their counts came out high, so its own counts of what it kept lean upwards. Here a
*family* of patterns of sizes 3 .. k is fixed, in which every pattern but the smallest has a connected part one node
smaller, and new seeds draw new lists: given the family, the counts of each replicate are unbiased
(grade.search.expand), so their mean is, and their spread gives its error.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grade.graphs import GraphSet, PatternTable
from grade.graphs.node_deletions import connected_parts, without
from grade.progress import NEVER, Deadline
from grade.search.beam import START, Bounds, Level, derived
from grade.search.constraints import Constraints
from grade.search.expand import grow
from grade.search.triples import triples

Family = list[PatternTable]  # of sizes 3, 4, .. k


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
    deadline: Deadline = NEVER,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unbiased counts of patterns of the last level, and their standard errors.

    Parameters
    ----------
    levels : all levels of a finished search, sizes 3 .. k
    rows : the patterns of ``levels[-1]`` to count again
    """
    family = [levels[-1].lists.patterns.take(rows)]
    for level in reversed(levels[:-1]):
        parents = connected_parts(family[0], level.lists.patterns)
        family.insert(0, level.lists.patterns.take(np.unique(parents[parents >= 0])))
    drawn = [
        draw_counts(
            graphs,
            family,
            constraints=constraints,
            bounds=bounds,
            seed=derived(seed, replicate),
            threads=threads,
            deadline=deadline,
        )[-1]
        for replicate in range(replicates)
    ]
    return mean_and_error(drawn)


def family_of(wanted: Mapping[int, PatternTable], most: int = 4000) -> Family:
    """The wanted patterns (by size) with parts of them, down to 3 nodes; every pattern keeps at least one part.

    A pattern keeps up to three of its connected parts, those that most patterns share; fewer where a size would hold
    more than ``most`` patterns.
    """
    largest = max(wanted)
    family: Family = []
    for size in range(largest, START - 1, -1):
        needed = [table for table in (wanted.get(size),) if table is not None and len(table)]
        if family:
            options = [shared_parts(family[0], keep) for keep in (3, 2, 1)]
            needed.append(next((o for o in options if len(o) <= most), options[-1]))
        family.insert(0, PatternTable.concatenate(needed).unique())
    return family


def shared_parts(patterns: PatternTable, keep: int) -> PatternTable:
    """Of each pattern the ``keep`` connected parts that most of the patterns have, ties by key."""
    found = [without(patterns, node) for node in range(patterns.size)]
    owner = np.concatenate([rows for rows, _ in found])
    parts = PatternTable.concatenate(part for _, part in found)
    _, first, which = np.unique(parts.keys, return_index=True, return_inverse=True)
    pairs = np.unique(np.stack([owner, which], axis=1), axis=0)  # a part that a pattern has twice counts once
    commonness = np.bincount(pairs[:, 1])
    order = np.lexsort((pairs[:, 1], -commonness[pairs[:, 1]], pairs[:, 0]))
    begin = np.searchsorted(pairs[order, 0], np.arange(len(patterns)))
    rank = np.arange(len(order)) - begin[pairs[order, 0]]
    return parts.take(first[np.unique(pairs[order[rank < keep], 1])])


def draw_counts(
    graphs: GraphSet,
    family: Family,
    *,
    constraints: Constraints,
    bounds: Bounds,
    seed: int,
    threads: int = 1,
    deadline: Deadline = NEVER,
) -> list[NDArray[np.float64]]:
    """One replicate: unbiased counts of all patterns of a family, in its order."""
    lists = triples(
        graphs,
        lambda patterns: family[0].find(patterns) >= 0,
        capacity=bounds.capacity,
        list_size=bounds.list_size,
        seed=derived(seed, 1, 1),  # with which the lists are thinned below
        threads=threads,
        deadline=deadline,
    ).aligned(family[0])
    found = [lists.counts]
    for step, kept in enumerate(family[1:], start=1):
        lists = grow(
            graphs,
            lists.thinned(bounds.list_size, derived(seed, step, 1)),
            constraints=constraints,
            steps_left=len(family) - step - 1,
            capacity=bounds.capacity,
            seed=derived(seed, step, 0),
            threads=threads,
            deadline=deadline,
        ).aligned(kept)
        found.append(lists.counts)
    return found


def mean_and_error(replicates: list[NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """([n] means, [n] standard errors) of independent replicates."""
    values = np.stack(replicates)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))

"""All occurrences of three nodes, from which a search starts: at once where they fit, else block by block.

A large set has too many to hold (114 million for 30 million nodes). In blocks, every pattern keeps the occurrences with
the highest priorities, as many as its list may hold and one more: the same that would be kept of all of them at once,
with the same weights (`OccurrenceLists.thinned`). The counts are those of all.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.graphs import GraphSet, PatternTable
from grade.progress import NEVER, Deadline
from grade.search.occurrence_lists import OccurrenceLists

SIZE = 3


def triples(
    graphs: GraphSet,
    wanted: Callable[[PatternTable], NDArray[np.bool_]],
    *,
    capacity: int,
    list_size: int,
    seed: int,
    threads: int = 1,
    deadline: Deadline = NEVER,
) -> OccurrenceLists:
    """The lists of the wanted patterns of three nodes.

    Where there are more occurrences than the capacity, a list holds at most one more than ``list_size``: just what
    `thinned(list_size, seed)` needs to know.
    """
    count = _core.count_instances(graphs.core, SIZE, threads, deadline.keep_going)
    if count <= capacity:
        return OccurrenceLists.all_of_size(graphs, SIZE, count, threads).where(wanted)
    held: OccurrenceLists | None = None
    root = 0
    while root < graphs.nodes:
        rows, root = _core.enumerate_block(
            graphs.core, SIZE, root, max(capacity // 8, 1), deadline.keep_going
        )
        block = OccurrenceLists.of(graphs, rows, threads).where(wanted)
        held = shortened(block if held is None else merged(held, block), list_size + 1, seed)
        deadline.check()
    assert held is not None  # a set without nodes has no more occurrences than the capacity
    return replace(held, complete=held.lengths == held.counts)


def merged(one: OccurrenceLists, other: OccurrenceLists) -> OccurrenceLists:
    """Lists of occurrences that are all different, each of weight 1; those of the first come first."""
    patterns = PatternTable.concatenate([one.patterns, other.patterns]).unique()
    counts = np.zeros(len(patterns))
    ids = []
    for lists in (one, other):
        rows = patterns.find(lists.patterns)
        counts[rows] += lists.counts
        ids.append(rows[lists.pattern_of_row])
    grouped = OccurrenceLists.group(
        patterns,
        np.concatenate(ids).astype(np.int32),
        np.concatenate([one.occurrences, other.occurrences]),
        np.concatenate([one.weights, other.weights]),
        np.zeros(len(patterns), bool),
    )
    return replace(grouped, counts=counts, exact=np.ones(len(patterns), bool))


def shortened(lists: OccurrenceLists, most: int, seed: int) -> OccurrenceLists:
    """At most so many occurrences of each pattern, those that `thinned` keeps, but with their weight of 1."""
    kept = lists.thinned(most, seed)
    return replace(kept, weights=np.ones(len(kept.weights)))

"""Estimates of a pattern's count from the exact counts N of its parts.

Three estimates of the logarithm of the count, all from connected parts of at most m nodes:

joined    parts that overlap are independent given the overlap. For a chain a-b-c-d that is
          N(abc) N(bcd) / N(bc); in general (the region-based approximation of Kikuchi, 1951)

              log N(pattern) = sum over connected node sets S of c(S) log(N(S) |Aut(S)|) - log |Aut(pattern)|

          over all S of at most m nodes, with c(S) = 1 - sum of c(R) over the sets R that contain S
rarest    a pattern is as rare as its rarest part of m nodes
mean      the mean of log N over its parts of m nodes
"""

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from grade.graphs import PatternTable
from grade.graphs.counts import Counts
from grade.graphs.node_deletions import are_connected

SOURCES = ("joined", "rarest", "mean")
UNSEEN = 0.5  # the count of a part that does not occur, so that logarithms stay finite
ROWS = 20_000  # patterns at a time, to bound memory
MOST_SETS = 2_000  # node sets used in each pattern


def affordable_size(k: int, most: int) -> int:
    """The largest m, at most ``most`` and less than k, for which a pattern of k nodes has few sets of up to m nodes.

    >>> [affordable_size(k, 5) for k in (4, 6, 10, 11, 15)]
    [3, 5, 5, 5, 4]
    """
    m = min(k - 1, most)
    while m > 1 and sum(comb(k, size) for size in range(1, m + 1)) > MOST_SETS:
        m -= 1
    return m


def part_sources(patterns: PatternTable, counts: Counts, largest: int) -> NDArray[np.float64]:
    """[n, 3] joined, rarest and mean of each pattern, from its parts of at most ``largest`` nodes."""
    found = [
        of_chunk(patterns.take(np.arange(begin, min(begin + ROWS, len(patterns)))), counts, largest)
        for begin in range(0, len(patterns), ROWS)
    ]
    return np.concatenate(found) if found else np.zeros((0, len(SOURCES)))


def of_chunk(patterns: PatternTable, counts: Counts, largest: int) -> NDArray[np.float64]:
    number = len(patterns)
    joined, rarest = -np.log(patterns.automorphisms), np.full(number, np.inf)
    total, parts = np.zeros(number), np.zeros(number)
    regions: list[tuple[frozenset[int], NDArray[np.int64]]] = []  # S and c(S), the largest sets first
    for size in range(largest, 0, -1):
        for nodes in combinations(range(patterns.size), size):
            index, members = np.array(nodes), frozenset(nodes)
            edges = patterns.edges[:, index[:, None], index]
            connected = are_connected(edges)
            rows = np.flatnonzero(connected)
            if len(rows) == 0:
                continue
            share = np.ones(number, np.int64)
            for other, theirs in regions:
                if members < other:
                    share -= theirs
            share[~connected] = 0
            regions.append((members, share))
            wanted = rows if size == largest else rows[share[rows] != 0]
            if len(wanted) == 0:
                continue
            part = PatternTable.canonical(patterns.node_types[wanted][:, index], edges[wanted])
            log_count = np.log(np.maximum(counts.of(part)[0], UNSEEN))
            joined[wanted] += share[wanted] * (log_count + np.log(part.automorphisms))
            if size == largest:
                rarest[wanted] = np.minimum(rarest[wanted], log_count)
                total[wanted] += log_count
                parts[wanted] += 1
    # Rounded, so that patterns with the same parts tie in whatever order they are summed.
    return np.stack([joined, rarest, total / parts], 1).round(9)

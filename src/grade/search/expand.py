"""One step of the search: all kept occurrences grown by one node (the paper's algorithm "Expand One Node").

Let B be the kept k-patterns. For a (k+1)-pattern C let s(C) be the number of its nodes u such that C - u is connected
and in B; it depends on C alone. An occurrence O' of C contains exactly s(C) occurrences O of patterns in B, each with
expected weight 1, so that

    W(O') = 1 / s(C) * sum of w(O) over the listed O inside O'

has expected weight 1 again. Occurrences of patterns with many ways to grow (hubs) are thinned before they are made, by
a seeded hash of the grown node set, at a rate that is known and divided by. Where one of the s(C) lists is complete and
was not thinned, every occurrence of C has been met: then the weights are set to 1 and the count is exact.

Fusible occurrences grow upward only: by a node all of whose consumers are inside. B then holds fusible patterns, and
s(C) counts the nodes u that no edge of C enters; each can have been the last to join (grade.search.fusible).
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.graphs import GraphSet, PatternTable
from grade.graphs.node_deletions import connected_parts
from grade.progress import NEVER, Deadline
from grade.search.candidates import BLOCK, Candidates, Collecting, Keeping, Wanted
from grade.search.constraints import UNLIMITED, Constraints, inner_edges
from grade.search.occurrence_lists import OccurrenceLists


def grow(
    graphs: GraphSet,
    lists: OccurrenceLists,
    keeping: Keeping,
    *,
    constraints: Constraints,
    steps_left: int,
    capacity: int,
    seed: int,
    wanted: Wanted | None = None,
    threads: int = 1,
    deadline: Deadline = NEVER,
) -> Candidates:
    """All patterns that grow from the lists by one node, counted, with a few of their occurrences.

    Parameters
    ----------
    steps_left : growth steps that follow this one, for "contains" constraints
    capacity : about how many grown occurrences may be made; more ways to grow are thinned
    wanted : which patterns to collect; those that the constraints let grow if left out
    deadline : when it passes, the work is dropped and `OutOfTime` raised
    """
    limits = (
        constraints.allowed_nodes(graphs),
        constraints.distances(graphs, steps_left + 1),
        steps_left,
        constraints.max_in_degree or UNLIMITED,
        constraints.max_out_degree or UNLIMITED,
        constraints.max_edges or UNLIMITED,
        graphs.fusible_index if constraints.fusible else None,
    )
    by_graph = np.argsort(lists.occurrences[:, 0], kind="stable")  # ids of a graph are consecutive
    occurrences = lists.occurrences[by_graph]
    owner = lists.pattern_of_row[by_graph]
    ways = _core.growth_counts(graphs.core, occurrences, *limits, threads, deadline.keep_going)
    rates = growth_rates(np.bincount(owner, ways, len(lists)).astype(np.float64), capacity)
    weights, rate_of_row = lists.weights[by_graph], rates[owner]
    met_in_full = np.append(lists.complete & (rates >= 1), False)  # -1 stands for "not in B"

    def judge(
        patterns: PatternTable,
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """s(C), whether every occurrence is met, and whether C is wanted."""
        parents = connected_parts(patterns, lists.patterns)
        if constraints.fusible:  # a fusible set stays so when a node is removed that no edge enters
            parents[inner_edges(patterns).any(axis=1)] = -1
        complete = np.any(met_in_full[parents], axis=1)
        parts = (parents >= 0).sum(axis=1)
        return parts.astype(np.float64), complete, (wanted or constraints.may_grow)(patterns)

    collecting = Collecting(graphs, lists.patterns.size + 1, keeping, judge, threads, deadline)
    for begin, end, shares in blocks(graphs.graphs_of(occurrences[:, 0]), ways * rate_of_row, BLOCK):
        for share in range(shares):
            fresh = collecting.collector.grow(
                occurrences[begin:end],
                weights[begin:end],
                rate_of_row[begin:end],
                *limits,
                share,
                shares,
                seed,
                deadline.keep_going,
            )
            collecting.collect(fresh)
    return collecting.candidates(followed=bool((rates >= 1).all()))


def blocks(
    graph_of_row: NDArray[np.int64], expected: NDArray[np.float64], most: int
) -> Iterator[tuple[int, int, int]]:
    """(first row, end, shares) of pieces of rows that are ordered by graph, each of about ``most`` grown occurrences.

    A graph lies in one piece, so that equal node sets meet; where it has more, the piece is made in several shares.

    >>> list(blocks(np.array([0, 0, 1, 2, 2]), np.array([3.0, 3.0, 4.0, 9.0, 16.0]), 10))
    [(0, 3, 1), (3, 5, 3)]
    """
    begins = np.flatnonzero(np.diff(graph_of_row, prepend=-1))
    ends = np.append(begins[1:], len(graph_of_row)).tolist()
    sums = np.add.reduceat(expected, begins).tolist() if len(begins) else []
    first, held = 0, 0.0
    for begin, end, number in zip(begins.tolist(), ends, sums, strict=True):
        if held and held + number > most:
            yield first, begin, 1
            first, held = begin, 0.0
        held += number
        if held > most:  # one graph by itself
            yield first, end, math.ceil(held / most)
            first, held = end, 0.0
    if first < len(graph_of_row):
        yield first, len(graph_of_row), 1


def growth_rates(ways: NDArray[np.float64], capacity: int) -> NDArray[np.float64]:
    """[patterns] rates that leave about ``capacity`` ways in all: 1 for patterns with few, less for those with many.

    >>> growth_rates(np.array([10.0, 100.0, 1000.0]), 210)
    array([1. , 1. , 0.1])
    """
    ascending = np.sort(ways)
    left, share = float(capacity), np.inf
    for i, number in enumerate(
        ascending
    ):  # patterns that stay under an equal share leave room for the others
        share = left / (len(ascending) - i)
        if number > share:
            break
        left -= number
        share = np.inf
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, np.where(ways > 0, share / ways, 1.0))

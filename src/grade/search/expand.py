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
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.engine import LOCAL, Crew, Engine, Part
from grade.graphs import GraphSet, PatternTable
from grade.graphs.node_deletions import connected_parts
from grade.progress import NEVER, Deadline
from grade.search.candidates import BLOCK, Candidates, Collecting, Keeping, Wanted, gathered
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
    engine: Engine = LOCAL,
    deadline: Deadline = NEVER,
) -> Candidates:
    """All patterns that grow from the lists by one node, counted, with a few of their occurrences.

    Parameters
    ----------
    steps_left
        growth steps that follow this one, for "contains" constraints
    capacity
        about how many grown occurrences may be made; more ways to grow are thinned
    wanted
        which patterns to collect; those that the constraints let grow if left out
    deadline
        when it passes, the work is dropped and `OutOfTime` raised
    """
    spread = engine.over(graphs, threads)
    by_graph = np.argsort(lists.occurrences[:, 0], kind="stable")  # ids of a graph are consecutive
    occurrences, weights, owner = (
        lists.occurrences[by_graph],
        lists.weights[by_graph],
        lists.pattern_of_row[by_graph],
    )
    nodes = graphs.node_offsets[[0, *(last for _, last in spread.bounds)]]
    cuts = np.searchsorted(occurrences[:, 0], nodes).tolist()
    rows = [slice(*pair) for pair in pairwise(cuts)]  # of each block
    limits = Limits(constraints, constraints.rarest_wish(graphs), steps_left)
    counted = spread.begin(
        count_ways, limits, own=[(occurrences[some],) for some in rows], keep_going=deadline.keep_going
    )
    ways = spread.get(counted)
    sums = np.bincount(owner, np.concatenate(ways), len(lists)).astype(np.float64)
    rates = growth_rates(sums, capacity)
    begun = Begun(lists.patterns, lists.complete & (rates >= 1), wanted or constraints.may_grow)
    return gathered(
        spread,
        grow_block,
        limits,
        begun,
        keeping,
        seed,
        size=lists.patterns.size + 1,
        keeping=keeping,
        own=[(occurrences[some], weights[some], rates[owner[some]], ways[i]) for i, some in enumerate(rows)],
        keep_going=deadline.keep_going,
        followed=bool((rates >= 1).all()),
    )


NativeLimits = tuple[NDArray[np.uint8], NDArray[np.uint8], int, int, int, int, _core.FusibleIndex | None]


@dataclass(frozen=True)
class Limits:
    """Conditions that every grown occurrence must satisfy."""

    constraints: Constraints
    wish: str | None  # the rarest type of the whole set among those that are wished for
    steps_left: int

    def of(self, part: Part) -> NativeLimits:
        """As the native core takes them, of one block of graphs."""
        constraints, graphs = self.constraints, part.graphs
        known = part.known.get("limits")  # of another step: the first of a search leaves the most
        if known is None or known.asked != (constraints, self.wish) or known.steps_left < self.steps_left:
            near = constraints.distances(graphs, self.steps_left + 1, self.wish)
            allowed = constraints.allowed_nodes(graphs)
            known = KnownLimits((constraints, self.wish), self.steps_left, allowed, near)
            part.known["limits"] = known
        return (
            known.allowed,
            known.distances,
            self.steps_left,
            constraints.max_in_degree or UNLIMITED,
            constraints.max_out_degree or UNLIMITED,
            constraints.max_edges or UNLIMITED,
            graphs.fusible_index if constraints.fusible else None,
        )


@dataclass(frozen=True, eq=False)
class KnownLimits:
    """What was found out of the nodes of a block once."""

    asked: tuple[Constraints, str | None]
    steps_left: int  # distances beyond are not told apart
    allowed: NDArray[np.uint8]  # [nodes]
    distances: NDArray[np.uint8]  # [nodes]


@dataclass(frozen=True, eq=False)
class Begun:
    """The patterns B from which a step begins."""

    patterns: PatternTable
    met_in_full: NDArray[np.bool_]  # [B] every occurrence is listed and grown in every way
    wanted: Wanted  # which patterns to collect

    def judge(
        self, patterns: PatternTable, fusible: bool, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """s(C), whether every occurrence is met, and whether C is wanted."""
        parents = connected_parts(patterns, self.patterns, threads)
        if fusible:  # a fusible set stays so when a node is removed that no edge enters
            parents[inner_edges(patterns).any(axis=1)] = -1
        met_in_full = np.append(self.met_in_full, False)  # -1 stands for "not in B"
        complete = np.any(met_in_full[parents], axis=1)
        return (parents >= 0).sum(axis=1).astype(np.float64), complete, self.wanted(patterns)


def count_ways(part: Part, crew: Crew, limits: Limits, occurrences: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """[n] in how many ways each occurrence of a block grows."""
    rows = part.local(occurrences)
    return _core.growth_counts(part.graphs.core, rows, *limits.of(part), crew.threads, crew.keep_going)


def grow_block(
    part: Part,
    crew: Crew,
    limits: Limits,
    begun: Begun,
    keeping: Keeping,
    seed: int,
    occurrences: NDArray[np.uint32],
    weights: NDArray[np.float64],
    rates: NDArray[np.float64],
    ways: NDArray[np.uint32],
) -> Collecting:
    """The occurrences that grow from the listed ones of one block of graphs, ordered by graph."""
    rows, given, fusible = part.local(occurrences), limits.of(part), limits.constraints.fusible
    size = begun.patterns.size + 1
    collecting = Collecting(
        part, crew, size, keeping, lambda patterns: begun.judge(patterns, fusible, crew.threads)
    )
    for begin, end, shares in blocks(part.graphs.graphs_of(rows[:, 0]), ways * rates, BLOCK):
        for share in range(shares):
            fresh = collecting.collector.grow(
                rows[begin:end],
                weights[begin:end],
                rates[begin:end],
                *given,
                share,
                shares,
                seed,
                crew.keep_going,
            )
            collecting.collect(fresh, end / len(rows))
    return collecting


def blocks(
    graph_of_row: NDArray[np.int64], expected: NDArray[np.float64], most: int
) -> Iterator[tuple[int, int, int]]:
    """(first row, end, shares) of pieces of rows that are ordered by graph, each of about ``most`` grown occurrences.

    A graph lies in one piece, so that equal node sets meet; where it has more, the piece is made in several shares.

    >>> list(blocks(np.array([0, 0, 1, 2, 2]), np.array([3.0, 3.0, 4.0, 9.0, 16.0]), 10))
    [(0, 3, 1), (3, 5, 3)]
    """
    if len(graph_of_row) == 0:
        return
    begins = np.flatnonzero(np.diff(graph_of_row, prepend=-1))
    ends = np.append(begins[1:], len(graph_of_row)).tolist()
    sums = np.add.reduceat(expected, begins).tolist()
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

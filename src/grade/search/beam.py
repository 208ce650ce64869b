"""Beam search over patterns of growing size (the paper's Algorithm 1).

From all 3-subgraphs, exact, to k nodes: grow the kept patterns by one node, score the candidates, keep the best. What
is kept of each size is a `Level`; levels are handed out as they are done, so that a caller can store them, and a search
can go on from the last one that was stored.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.progress import NEVER, Deadline
from grade.search.constraints import Constraints
from grade.search.expand import grow
from grade.search.occurrences import OccurrenceLists

START = 3  # the smallest size, enumerated in full
BYTES_PER_NODE = 4
BYTES_PER_OCCURRENCE = 56  # weight, hash, slots of the table, pattern id, and the copy into the result
LEAST_CAPACITY = 20_000

Score = Callable[[OccurrenceLists], NDArray[np.float64]]  # [candidates] higher is better


@dataclass(frozen=True, eq=False)
class Level:
    """What the search kept of one size, best first."""

    lists: OccurrenceLists
    scores: NDArray[np.float64]  # [kept]
    candidates: int  # patterns that were scored
    instances: int  # occurrences that were made
    seconds: float

    @property
    def size(self) -> int:
        return self.lists.patterns.size


@dataclass(frozen=True)
class Bounds:
    """How much the search may hold at a time."""

    capacity: int  # occurrences made in one step
    list_size: int  # occurrences kept for each pattern

    @classmethod
    def from_memory(cls, memory: int, k: int, beam: int, list_size: int | None = None) -> "Bounds":
        """Half of the budget for the occurrences of one step, the lists a fraction of that.

        >>> Bounds.from_memory(8 * 2**30, 8, 1000)
        Bounds(capacity=48806446, list_size=2000)
        """
        capacity = memory // (2 * (k * BYTES_PER_NODE + BYTES_PER_OCCURRENCE))
        affordable = max(capacity // (4 * beam), 1)
        return cls(capacity, min(list_size or 2000, affordable))


def beam_search(
    graphs: GraphSet,
    k: int,
    *,
    beam: int,
    score: Score,
    constraints: Constraints,
    bounds: Bounds,
    seed: int = 0,
    threads: int = 1,
    start_from: Level | None = None,
    deadline: Deadline = NEVER,
) -> Iterator[Level]:
    """Yield the kept patterns of sizes 3 .. k; after ``start_from`` if that is given.

    The last level holds only patterns that satisfy all constraints on patterns. Ties go to the smaller pattern key, so
    that the result depends on the set, the settings and the seed alone. A level that the deadline finds unfinished is
    dropped, and `OutOfTime` raised: those handed out before are the same as without it.
    """
    level = start_from
    if level is None:
        begin = time.perf_counter()
        lists = smallest(graphs, bounds, constraints, threads)
        if k == START:
            lists = lists.take(np.flatnonzero(constraints.accepts(lists.patterns)))
        level = select(lists, lists.counts, beam, bounds, seed, begin)
        yield level
    while level.size < k and len(level.lists):
        begin = time.perf_counter()
        grown = grow(
            graphs,
            level.lists,
            constraints=constraints,
            steps_left=k - level.size - 1,
            capacity=bounds.capacity,
            seed=derived(seed, level.size, 0),
            threads=threads,
            deadline=deadline,
        )
        if level.size + 1 == k:
            grown = grown.take(np.flatnonzero(constraints.accepts(grown.patterns)))
        level = select(grown, score(grown), beam, bounds, seed, begin)
        deadline.check()
        yield level


def smallest(graphs: GraphSet, bounds: Bounds, constraints: Constraints, threads: int) -> OccurrenceLists:
    """All occurrences of all 3-node patterns that may grow."""
    count = _core.count_instances(graphs.core, START, threads, None)
    if count == 0:
        raise InputError(
            f"{graphs.origin} has no connected subgraph of {START} nodes; its largest graph has {graphs.largest} nodes."
        )
    if count > max(bounds.capacity, LEAST_CAPACITY):
        needed = count * 2 * (START * BYTES_PER_NODE + BYTES_PER_OCCURRENCE)
        raise InputError(
            f"The {count:,} subgraphs of {START} nodes that the search starts from do not fit the memory budget;"
            f" raise `memory` to {needed / 2**20:,.0f}M or more."
        )
    lists = OccurrenceLists.all_of_size(graphs, START, count, threads)
    lists = lists.take(np.flatnonzero(constraints.may_grow(lists.patterns)))
    if len(lists) == 0:
        raise InputError(
            "No subgraph of 3 nodes satisfies the constraints, so no larger one does; relax one of them."
        )
    return lists


def select(
    lists: OccurrenceLists, scores: NDArray[np.float64], beam: int, bounds: Bounds, seed: int, begin: float
) -> Level:
    """The best patterns by score, their lists cut to what may be held."""
    best = np.argsort(-scores, kind="stable")[:beam]
    kept = lists.take(best).thinned(bounds.list_size, derived(seed, lists.patterns.size, 1))
    return Level(kept, scores[best], len(lists), int(lists.offsets[-1]), time.perf_counter() - begin)


def derived(seed: int, *names: int) -> int:
    """A seed for one purpose that shares nothing with those for others."""
    return int(np.random.SeedSequence([seed, *names]).generate_state(1, np.uint64)[0])

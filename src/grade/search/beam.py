"""Beam search over patterns of growing size (the paper's Algorithm 1).

From all 3-subgraphs, exact, to k nodes: grow the kept patterns by one node, score the candidates, keep the best. The
patterns kept of one size are a `Level`; levels are handed out as they are done, so that a caller can store them, and
a search can go on from the last one that was stored.
"""

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.engine import LOCAL, Engine
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.progress import NEVER, Deadline
from grade.search.candidates import Candidates, Counted, Keeping
from grade.search.constraints import UNLIMITED, Constraints
from grade.search.expand import grow
from grade.search.fusible import narrow_lists, with_wide
from grade.search.occurrence_lists import OccurrenceLists
from grade.search.supports import Supports
from grade.search.triples import triples

START = 3  # the smallest size, enumerated in full
BYTES_PER_NODE = 4
BYTES_PER_OCCURRENCE = 56  # weight, hash, slots of the table, pattern id, and the copy into the result
FEWEST_OCCURRENCES = 1000  # with fewer made in one step, a search finds nothing useful

Choice = OccurrenceLists | Candidates
Score = Callable[[Counted], NDArray[np.float64]]  # [candidates] the higher, the better


@dataclass(frozen=True, eq=False)
class Level:
    """The patterns that the search kept of one size, best first."""

    lists: OccurrenceLists
    scores: NDArray[np.float64]  # [kept]
    candidates: int  # patterns that were scored
    instances: int  # occurrences that were made
    seconds: float
    followed: bool = True  # every way to grow the kept occurrences was followed
    whole: bool = False  # every pattern of this size was a candidate, whatever was left out before

    @property
    def size(self) -> int:
        return self.lists.patterns.size


@dataclass(frozen=True)
class Bounds:
    """How much the search may hold at a time."""

    capacity: int  # occurrences made in one step
    list_size: int  # occurrences kept for each pattern
    room: int = 2**62  # bytes that patterns and lists of one size may take

    @classmethod
    def from_memory(cls, memory: int, k: int, beam: int, list_size: int | None = None) -> "Bounds":
        """Half of the budget for the occurrences of one step, the lists a fraction of that.

        >>> Bounds.from_memory(8 * 2**30, 8, 1000)
        Bounds(capacity=48806446, list_size=2000, room=4611686018427387904)
        """
        capacity = memory // (2 * (k * BYTES_PER_NODE + BYTES_PER_OCCURRENCE))
        if capacity < FEWEST_OCCURRENCES:
            needed = 2 * FEWEST_OCCURRENCES * (k * BYTES_PER_NODE + BYTES_PER_OCCURRENCE)
            raise InputError(
                f"The memory budget is too small for a search; raise `memory` to {needed:,} bytes or more."
            )
        affordable = max(capacity // (4 * beam), 1)
        return cls(capacity, min(list_size or 2000, affordable))

    def shared(self, runs: int) -> "Bounds":
        """The bounds of each of several runs that make as many occurrences together as one would.

        >>> Bounds(capacity=1000, list_size=20).shared(4)
        Bounds(capacity=250, list_size=20, room=4611686018427387904)
        """
        return replace(self, capacity=max(self.capacity // runs, 1))

    def cut(self, lists: OccurrenceLists, seed: int) -> OccurrenceLists:
        """The lists cut to one length, the longest that makes them a sixteenth of the capacity."""
        return lists.thinned(even_share(lists.lengths, self.capacity // 16), seed)

    @property
    def listed(self) -> int:
        """Fusible occurrences that may be listed in full."""
        return self.capacity // 4

    @property
    def patterns(self) -> int:
        """Patterns whose lists fit a quarter of the capacity."""
        return self.capacity // (4 * self.list_size)


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
    engine: Engine = LOCAL,
    start_from: Level | None = None,
    deadline: Deadline = NEVER,
    sizes: Collection[int] = (),
    per_node: bool = False,
) -> Iterator[Level]:
    """Yield the kept patterns of sizes 3 .. k, each size selected by ``score``; after ``start_from`` if that is given.

    Patterns with too little support are dropped at every size, since no larger one has more. Fusible patterns are
    listed in full where they fit, and then no beam decides which are seen at the next size; otherwise those with few
    inputs at every node are.

    The last level holds only patterns that satisfy all constraints on patterns; levels of the other ``sizes`` that are
    asked for hold as many of those as there may be others. Ties go to the smaller pattern key, so
    that the result depends on the set, the settings and the seed alone. A level that the deadline finds unfinished is
    dropped, and `OutOfTime` raised: those handed out before are the same as without it. ``per_node`` is for scores that
    ask for `Counted.per_node`.
    """
    supports = Supports(
        graphs, fusible=constraints.fusible, threads=threads, deadline=deadline, engine=engine
    )

    def keeping(size: int) -> Keeping:
        return Keeping(bounds.list_size, derived(seed, size, 1), bounds.room, per_node)

    def grown_from(lists: OccurrenceLists) -> Candidates:
        size = lists.patterns.size
        return grow(
            graphs,
            lists,
            keeping(size + 1),
            constraints=constraints,
            steps_left=k - size - 1,
            capacity=bounds.capacity
            // (8 if constraints.fusible else 1),  # few of them have many occurrences
            seed=derived(seed, size, 0),
            threads=threads,
            engine=engine,
            deadline=deadline,
        )

    def listed(size: int) -> tuple[OccurrenceLists | None, int]:
        """Complete lists of fusible patterns with few inputs at every node, and how many."""
        return narrow_lists(graphs, size, constraints, bounds.listed, threads, deadline)

    def candidates(size: int, level: Level | None) -> tuple[Choice, bool, bool]:
        """The lists to choose from; whether every way to grow was followed; whether every pattern is among them."""
        widest = constraints.max_in_degree or UNLIMITED
        narrow, inputs = listed(size) if constraints.fusible else (None, 0)
        if narrow is not None and inputs == widest:
            return narrow, True, True
        if level is None:
            return smallest(graphs, keeping(START), constraints, threads, deadline, engine), True, True
        smaller, inputs_before = listed(size - 1) if constraints.fusible else (None, 0)
        begun = level.lists
        if smaller is not None and inputs_before == widest:
            begun = bounds.cut(smaller, derived(seed, size, 2))
        grown = grown_from(begun)
        return grown if narrow is None else with_wide(narrow, inputs, grown), grown.followed, False

    level = start_from
    for size in range(START if level is None else level.size + 1, k + 1):
        begin = time.perf_counter()
        lists, followed, whole = candidates(size, level)
        lists = supported(lists, constraints, supports)
        if size == k:
            lists = lists.where(constraints.accepts)
        kept = max(beam, bounds.patterns) if constraints.fusible else beam
        scores = score(lists)
        best = best_rows(scores, kept, constraints.accepts(lists.patterns) if size in sizes else None)
        thin = lists.take(best).lists()
        shorter = min(bounds.list_size, lists.most - 1) if isinstance(lists, Candidates) else bounds.list_size
        thin = thin.thinned(max(shorter, 1), derived(seed, size, 1), threads)
        made, seconds = lists.instances, time.perf_counter() - begin
        level = Level(thin, scores[best], len(lists), made, seconds, followed, whole)
        del lists, thin
        _core.give_back_memory()
        deadline.check()
        yield level
        if len(level.lists) == 0:
            break


def supported(lists: Choice, constraints: Constraints, supports: Supports) -> Choice:
    """The patterns with as much support as is asked for: no larger pattern has more than its parts."""
    for name, wanted, least in (
        ("graphs", "min_graphs", constraints.min_graphs),
        ("mni", "min_mni", constraints.min_mni),
    ):
        if least <= 1 or len(lists) == 0:
            continue
        kept = lists.take(np.flatnonzero(supports.reaching(name, lists, least)))
        if len(kept) == 0:
            raise InputError(
                f"No pattern of {lists.patterns.size} nodes that satisfies the other constraints has `{wanted}`"
                f" {least}; the most is {supports.of(name, lists).max()}. Lower it, or search for smaller patterns."
            )
        lists = kept
    return lists


def smallest(
    graphs: GraphSet,
    keeping: Keeping,
    constraints: Constraints,
    threads: int,
    deadline: Deadline,
    engine: Engine,
) -> Candidates:
    """All 3-node patterns that may grow."""
    if constraints.fusible:
        raise InputError(
            f"{graphs.origin} has more fusible sets of {START} nodes than fit the memory budget; raise `memory`, or"
            " set `max_in_degree`."
        )
    lists = triples(graphs, constraints.may_grow, keeping, threads=threads, engine=engine, deadline=deadline)
    if len(lists) == 0 and _core.count_instances(graphs.core, START, threads, None) == 0:
        raise InputError(
            f"{graphs.origin} has no connected subgraph of {START} nodes; its largest graph has {graphs.largest} nodes."
        )
    if len(lists) == 0:
        raise InputError(
            "No subgraph of 3 nodes satisfies the constraints, so no larger one does; relax one of them."
        )
    return lists


def best_rows(
    scores: NDArray[np.float64], most: int, wanted: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """The rows with the best scores, best first; with ``wanted``, as many of the best wanted rows as well.

    >>> best_rows(np.array([1.0, 3.0, 2.0]), 1, np.array([True, False, False])).tolist()
    [1, 0]
    """
    order = np.argsort(-scores, kind="stable")
    if wanted is None:
        return order[:most]
    place = np.cumsum(wanted[order])
    return order[(np.arange(len(order)) < most) | (wanted[order] & (place <= most))]


def even_share(lengths: NDArray[np.int64], total: int) -> int:
    """The largest limit (at least 1) under which the lengths, each cut to it, add up to the total at most.

    >>> even_share(np.array([2, 10, 10]), 14)
    6
    """
    ascending = np.sort(lengths)
    before = np.concatenate([[0], np.cumsum(ascending)[:-1]])
    shares = (total - before) // (len(lengths) - np.arange(len(lengths)))  # if all from this one on are cut
    cut = np.flatnonzero(ascending > shares)
    return max(int(shares[cut[0]]) if len(cut) else int(ascending[-1]), 1)


def derived(seed: int, *names: int) -> int:
    """A seed for one purpose that shares nothing with those for others."""
    return int(np.random.SeedSequence([seed, *names]).generate_state(1, np.uint64)[0])

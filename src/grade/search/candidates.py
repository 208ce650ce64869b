"""Candidates of one size: sums over all their occurrences, and lists of some.

Occurrences come block by block (`grade.search.expand`, `grade.search.triples`). Of each pattern a native collector
(native/collect.hpp) keeps sums over all that came, and those with the highest priorities: as many as a list may hold
and one more, just what `OccurrenceLists.thinned` needs to choose as if it had them all. The sums are exact, so that
nothing depends on the blocks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grade import _core
from grade.engine import Crew, Part, Spread, Work
from grade.engine.parts import KeepGoing
from grade.graphs import GraphSet, PatternTable
from grade.search.occurrence_lists import OccurrenceLists

BLOCK = (
    1 << 20
)  # occurrences that are made at a time; a fixed number, so that results do not depend on the machine

Wanted = Callable[[PatternTable], NDArray[np.bool_]]
NewPatterns = tuple[int, NDArray[np.uint16], NDArray[np.uint8], NDArray[np.int64]]


class Counted(Protocol):
    """The interface between scores and patterns, whether their occurrences are listed or not."""

    @property
    def patterns(self) -> PatternTable: ...
    @property
    def counts(self) -> NDArray[np.float64]: ...
    @property
    def exact(self) -> NDArray[np.bool_]: ...
    def __len__(self) -> int: ...
    def known(
        self, name: str, graphs: GraphSet, threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]: ...
    def per_node(self, graphs: GraphSet) -> NDArray[np.float64]: ...
    def relative_variances(self) -> NDArray[np.float64]: ...
    def lists(self) -> OccurrenceLists: ...


@dataclass(frozen=True)
class Keeping:
    """Which occurrences of each pattern are kept."""

    list_size: int
    seed: int  # of the priorities, that with which the lists will be thinned
    room: int = 2**62  # bytes of patterns and lists together; beyond it all lists get shorter
    per_node: bool = False  # whether sums by graph are wanted


@dataclass(frozen=True, eq=False)
class Candidates:
    """Patterns with the sums over their occurrences, and the collector that holds those that are listed."""

    patterns: PatternTable  # [m]
    numbers: NDArray[np.uint32]  # [m] of the collector
    counts: NDArray[np.float64]  # [m] sums of the weights
    squares: NDArray[np.float64]  # [m] sums of their squares
    by_graph: NDArray[
        np.float64
    ]  # [m] sums over the graphs of the weights in each by the number of its nodes
    met: NDArray[np.int64]  # [m] occurrences that came
    graphs: NDArray[np.int64]  # [m] graphs with one of them
    coverage: NDArray[np.int64]  # [m] nodes in some; 0 where it was not known
    coverage_known: NDArray[np.bool_]  # [m]
    complete: NDArray[np.bool_]  # [m] every occurrence came
    most: int  # listed occurrences of a pattern, one more than are wanted
    collector: _core.Collector
    followed: bool = True  # every way in which the lists before these grow was followed

    def __len__(self) -> int:
        return len(self.patterns)

    @property
    def exact(self) -> NDArray[np.bool_]:
        """[m] the count is exact."""
        return self.complete

    @property
    def instances(self) -> int:
        """Occurrences that came, of all patterns."""
        return int(self.met.sum())

    def take(self, rows: ArrayLike) -> "Candidates":
        """These candidates, in this order."""
        chosen = np.asarray(rows, np.int64)
        columns = ("numbers", "counts", "squares", "by_graph", "met", "graphs", "coverage", "coverage_known")
        taken = {name: getattr(self, name)[chosen] for name in (*columns, "complete")}
        return replace(self, patterns=self.patterns.take(chosen), **taken)

    def where(self, wanted: Wanted) -> "Candidates":
        """The candidates that are wanted."""
        verdict = wanted(self.patterns)
        return self if verdict.all() else self.take(np.flatnonzero(verdict))

    def known(
        self, name: str, graphs: GraphSet, threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """([m] a lower bound of the support ``graphs`` or ``coverage``, [m] whether it is exact)."""
        exact = self.complete if name == "graphs" else self.complete & self.coverage_known
        return getattr(self, name).copy(), exact

    def per_node(self, graphs: GraphSet) -> NDArray[np.float64]:
        """[m] the sum over graphs of a pattern's occurrences in each by the number of its nodes."""
        return self.by_graph

    def relative_variances(self) -> NDArray[np.float64]:
        """[m] of the counts: 0 where they are exact, else one over the number of equal weights that a list is worth."""
        return np.where(self.exact, 0.0, self.squares / np.maximum(self.counts, 1e-300) ** 2)

    def lists(self) -> OccurrenceLists:
        """The listed occurrences, with their weights as they came."""
        offsets, occurrences, weights = self.collector.lists(self.numbers)
        return OccurrenceLists(
            self.patterns,
            offsets,
            occurrences,
            weights,
            self.counts,
            self.exact,
            self.complete & (self.met <= np.diff(offsets)),
            self.followed,
        )


Judge = Callable[[PatternTable], tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]]


class Collecting:
    """Takes in the occurrences of a block of graphs, piece by piece; gives candidates, or their arrays."""

    def __init__(self, part: Part, crew: Crew, size: int, keeping: Keeping, judge: Judge) -> None:
        """``judge`` returns for each new pattern the divisor of its weights, whether all its occurrences will come,
        and whether it is wanted.
        """
        self.graphs, self.judge, self.crew = part.graphs, judge, crew
        self.collector = collector_for(part, crew, size, keeping)

    def collect(self, fresh: NewPatterns, share: float = 0.0) -> None:
        """Take in the piece that the collector has made, after its new patterns have been judged.

        ``share`` of the block is done by then.
        """
        first, types, edges, automorphisms = fresh
        divisors, complete, wanted = self.judge(table_of(self.graphs, types, edges, automorphisms))
        self.collector.collect(
            first,
            np.ascontiguousarray(divisors, np.float64),
            np.ascontiguousarray(complete, np.uint8),
            np.ascontiguousarray(wanted, np.uint8),
            self.crew.keep_going,
        )
        self.crew.report(share)


def table_of(
    graphs: GraphSet,
    types: NDArray[np.uint16],
    edges: NDArray[np.uint8],
    automorphisms: NDArray[np.int64],
) -> PatternTable:
    return PatternTable(types, edges, automorphisms, graphs.node_vocabulary, graphs.edge_vocabulary)


def collector_for(part: Part, crew: Crew, size: int, keeping: Keeping) -> _core.Collector:
    most = min(keeping.list_size + 1, 2**31)
    return _core.Collector(
        part.graphs.core,
        size,
        most,
        keeping.room,
        keeping.seed,
        keeping.per_node,
        part.first_node,
        crew.threads,
    )


def gathered(
    spread: Spread,
    work: Work,
    *shared: Any,
    size: int,
    keeping: Keeping,
    own: Sequence[tuple[Any, ...]] | None = None,
    keep_going: KeepGoing | None = None,
    followed: bool = True,
) -> Candidates:
    """The candidates of all blocks, of each of which ``work`` makes a `Collecting`.

    The collectors of several blocks are joined as arrays, as a tree: of every pattern the sums, and again the listed
    ones with the highest priorities.
    """
    if len(spread.bounds) == 1:
        (collecting,) = spread.get(spread.begin(work, *shared, own=own, keep_going=keep_going))
        return candidates_of(spread.graphs, collecting.collector, followed)
    handles = spread.begin(parts_of, work, shared, size, keeping, own=own, keep_going=keep_going)
    _, _, parts = spread.merged(handles, join_parts, keep_going)
    return candidates_of(spread.graphs, joined([(size, keeping, parts)]), followed)


Parts = tuple[int, Keeping, dict[str, NDArray[Any]]]  # nodes of a pattern, ...


def parts_of(
    part: Part, crew: Crew, work: Work, shared: tuple[Any, ...], size: int, keeping: Keeping, *own: Any
) -> Parts:
    collecting: Collecting = work(part, crew, *shared, *own)
    return size, keeping, collecting.collector.parts()


def join_parts(several: Sequence[Parts]) -> Parts:
    """The arrays of several collectors, joined."""
    size, keeping, _ = several[0]
    return size, keeping, joined(several).parts()


def joined(several: Sequence[Parts]) -> _core.Collector:
    size, keeping, _ = several[0]
    nothing = GraphSet.from_edges(node_counts=[], node_types=[], edge_counts=[], edges=[], node_vocabulary=[])
    collector = collector_for(Part(nothing), Crew(), size, keeping)
    for _, _, parts in several:
        collector.absorb(**parts)
    return collector


def candidates_of(graphs: GraphSet, collector: _core.Collector, followed: bool) -> Candidates:
    """The wanted patterns that occur, in the order of their codes."""
    found = collector.result()
    return Candidates(
        table_of(graphs, found["node_types"], found["edges"], found["automorphisms"]),
        found["numbers"],
        found["counts"],
        found["squares"],
        found["per_node"],
        found["met"],
        found["graphs"],
        found["coverage"],
        found["coverage_known"],
        found["complete"],
        found["most"],
        collector,
        followed,
    )

"""Candidates of one size: sums over all their occurrences, and lists of some.

Occurrences come block by block (`grade.search.expand`, `grade.search.triples`). Of each pattern a native collector
(native/collect.hpp) keeps sums over all that came, and those with the highest priorities: as many as a list may hold
and one more, just what `OccurrenceLists.thinned` needs to choose as if it had them all. The sums are exact, so that
nothing depends on the blocks.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grade import _core
from grade.graphs import GraphSet, PatternTable
from grade.progress import Deadline
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


class Collecting:
    """Blocks of occurrences go in, candidates come out."""

    def __init__(
        self,
        graphs: GraphSet,
        size: int,
        keeping: Keeping,
        judge: Callable[[PatternTable], tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]],
        threads: int,
        deadline: Deadline,
    ) -> None:
        """``judge`` returns for each new pattern the divisor of its weights, whether all its occurrences will come,
        and whether it is wanted.
        """
        self.graphs, self.judge, self.deadline = graphs, judge, deadline
        most = min(keeping.list_size + 1, 2**31)
        self.collector = _core.Collector(
            graphs.core, size, most, keeping.room, keeping.seed, keeping.per_node, 0, threads
        )

    def table(
        self, types: NDArray[np.uint16], edges: NDArray[np.uint8], automorphisms: NDArray[np.int64]
    ) -> PatternTable:
        return PatternTable(
            types, edges, automorphisms, self.graphs.node_vocabulary, self.graphs.edge_vocabulary
        )

    def collect(self, fresh: NewPatterns) -> None:
        """Take in the block that the collector has made, after its new patterns have been judged."""
        first, types, edges, automorphisms = fresh
        divisors, complete, wanted = self.judge(self.table(types, edges, automorphisms))
        self.collector.collect(
            first,
            np.ascontiguousarray(divisors, np.float64),
            np.ascontiguousarray(complete, np.uint8),
            np.ascontiguousarray(wanted, np.uint8),
            self.deadline.keep_going,
        )
        self.deadline.check()

    def candidates(self, followed: bool = True) -> Candidates:
        """The wanted patterns that occur, in the order of their codes."""
        found = self.collector.result()
        return Candidates(
            self.table(found["node_types"], found["edges"], found["automorphisms"]),
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
            self.collector,
            followed,
        )

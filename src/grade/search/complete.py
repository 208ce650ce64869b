"""Complete search: every pattern that reaches a support, without beam or lists of occurrences.

The number of graphs that hold a pattern, and its minimum image-based support, are never more than those of any
connected part. So the frequent patterns of k + 1 nodes are among the joins of frequent patterns of k nodes
(native/joins.hpp), and each candidate is looked for only in the graphs that hold all its parts, by existence: hubs with
1e10 occurrences cost no more than others. Memory holds the patterns and one bit per pattern and graph.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.engine import LOCAL, Engine
from grade.errors import InputError
from grade.graphs import GraphSet, PatternTable
from grade.progress import NEVER, Deadline
from grade.search.constraints import Constraints
from grade.search.supports import NO_GRAPHS, NO_OFFSETS, STEPS, Supports

FEWEST_NODES = 2
CHUNK = 20_000  # candidates whose graphs are looked up at a time
UNBOUNDED = 2**62


@dataclass(frozen=True, eq=False)
class Frequent:
    """All patterns of one size that reach the support."""

    patterns: PatternTable
    holders: NDArray[np.uint8]  # [m, graphs / 8] bits: which graphs hold each
    graphs: NDArray[np.int64]  # [m] how many
    mni: NDArray[np.int64] | None  # [m] minimum image-based support, where that is asked for
    closed: NDArray[np.bool_]  # [m] no frequent pattern one node larger has the same support
    maximal: NDArray[np.bool_]  # [m] no frequent pattern is one node larger

    @property
    def size(self) -> int:
        return self.patterns.size

    def __len__(self) -> int:
        return len(self.patterns)

    @property
    def support(self) -> NDArray[np.int64]:
        """[m] the support that was asked for; the number of graphs where both were."""
        return self.graphs if self.mni is None else self.mni

    def take(self, rows: NDArray[np.int64]) -> "Frequent":
        mni = None if self.mni is None else self.mni[rows]
        return Frequent(
            self.patterns.take(rows),
            self.holders[rows],
            self.graphs[rows],
            mni,
            self.closed[rows],
            self.maximal[rows],
        )


def frequent_patterns(
    graphs: GraphSet,
    k: int,
    constraints: Constraints,
    *,
    memory: int = 8 * 2**30,
    look_beyond: bool = False,
    threads: int = 1,
    deadline: Deadline = NEVER,
    engine: Engine = LOCAL,
) -> Iterator[Frequent]:
    """All patterns of 2 .. k nodes with the support that the constraints ask for, size by size.

    Parameters
    ----------
    constraints
        with ``min_graphs`` or ``min_mni``; those that hold for all parts of a pattern prune, the others are left to the
        caller (`Constraints.accepts`), since smaller patterns that break them may grow
    look_beyond
        also find the patterns of k + 1 nodes, to decide which of those of k nodes are closed and maximal; otherwise all
        count as both
    """
    if constraints.fusible:
        raise InputError(
            "`complete` finds patterns by their parts, and a part of a fusible pattern need not be fusible; leave"
            " out `fusible`. Fusible patterns alone are searched in full wherever their occurrences fit."
        )
    if constraints.min_graphs <= 1 and constraints.min_mni <= 1:
        raise InputError("`complete` needs a support to reach: set `min_graphs` or `min_mni`.")
    search = Search(graphs, constraints, memory, threads, deadline, engine)
    pairs = level = search.of_two_nodes()
    for size in range(FEWEST_NODES, k + 1):
        if not len(level):
            return
        beyond = size < k or look_beyond
        larger, parts = search.one_larger(level, pairs) if beyond and size < 16 else (None, None)
        if larger is not None and parts is not None:
            level = with_verdicts(level, larger, parts)
        yield level
        if larger is None:
            return
        level = larger


def with_verdicts(level: Frequent, larger: Frequent, parts: NDArray[np.int32]) -> Frequent:
    """The level with its closed and maximal patterns marked, given the patterns one node larger."""
    closed, maximal = level.closed.copy(), level.maximal.copy()
    rows, places = np.nonzero(parts >= 0)
    part = parts[rows, places]
    maximal[part] = False
    closed[part[larger.support[rows] == level.support[part]]] = False
    return Frequent(level.patterns, level.holders, level.graphs, level.mni, closed, maximal)


class Search:
    """State shared by all steps."""

    def __init__(
        self,
        graphs: GraphSet,
        constraints: Constraints,
        memory: int,
        threads: int,
        deadline: Deadline,
        engine: Engine = LOCAL,
    ) -> None:
        self.graphs, self.constraints, self.memory = graphs, constraints, memory
        self.threads, self.deadline = threads, deadline
        self.supports = Supports(graphs, threads=threads, deadline=deadline, engine=engine)

    def of_two_nodes(self) -> Frequent:
        types, edges, automorphisms, _ = _core.census(
            self.graphs.core, FEWEST_NODES, self.threads, self.deadline.keep_going
        )
        return self.frequent(self.table(types, edges, automorphisms), None)[0]

    def one_larger(self, level: Frequent, pairs: Frequent) -> tuple[Frequent, NDArray[np.int32]]:
        """(the frequent patterns one node larger, their parts [m, size + 1] in the level)."""
        most = self.affordable(level.size + 1)
        joined = _core.join_patterns(
            level.patterns.node_types,
            level.patterns.edges,
            pairs.patterns.node_types,
            pairs.patterns.edges,
            most,
            self.threads,
            self.deadline.keep_going,
        )
        if isinstance(joined, int):  # an upper bound of their number
            enough = math.ceil(2 * joined * self.bytes_each(level.size + 1) / 2**20)
            raise InputError(
                f"More than {most:,} patterns of {level.size + 1} nodes could be frequent, which is all that `memory`"
                f" holds ({enough}M surely suffices); raise it, raise the support, or lower `k` to {level.size}."
            )
        types, edges, automorphisms, parts = joined
        candidates = self.table(types, edges, automorphisms)
        wanted = np.flatnonzero(self.constraints.may_grow(candidates))
        candidates, parts = candidates.take(wanted), parts[wanted]
        holders = np.full((len(candidates), level.holders.shape[1]), 255, np.uint8)
        for column in parts.T:
            holders &= np.where(column[:, None] >= 0, level.holders[column], np.uint8(255))
        found, rows = self.frequent(candidates, holders)
        return found, parts[rows]

    def frequent(
        self, candidates: PatternTable, holders: NDArray[np.uint8] | None
    ) -> tuple[Frequent, NDArray[np.int64]]:
        """(those of the candidates that reach the support, their rows); ``holders``: graphs that can hold each."""
        rows = np.flatnonzero(self.constraints.may_grow(candidates))
        if holders is not None:
            rows = rows[bit_counts(holders[rows]) >= self.constraints.min_graphs]
        parts = [
            self.held(candidates.take(some), None if holders is None else holders[some])
            for some in np.split(rows, range(CHUNK, len(rows), CHUNK))
        ]
        found = np.concatenate(parts)
        kept = bit_counts(found) >= self.constraints.min_graphs
        rows, found, mni = rows[kept], found[kept], None
        if self.constraints.min_mni > 1:
            mni = self.supports.mni(candidates.take(rows), self.constraints.min_mni)
            kept = mni >= self.constraints.min_mni
            rows, found, mni = rows[kept], found[kept], mni[kept]
        true = np.ones(len(rows), bool)
        return Frequent(candidates.take(rows), found, bit_counts(found), mni, true, true), rows

    def held(self, candidates: PatternTable, holders: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        """[m, graphs / 8] bits: the graphs that hold each candidate; some may be left out where they are too few."""
        number = len(self.graphs)
        offsets, asked = NO_OFFSETS, NO_GRAPHS
        if holders is not None:
            bits = np.unpackbits(holders, axis=1, count=number)
            offsets = np.concatenate([[0], np.cumsum(bits.sum(axis=1, dtype=np.int64))])
            asked = np.nonzero(bits)[1].astype(np.uint32)
        ends, graphs, complete = self.supports.matcher.find_graphs(
            candidates.node_types,
            candidates.edges,
            offsets,
            asked,
            self.constraints.min_graphs,
            UNBOUNDED,
            self.threads,
            UNBOUNDED,
            self.deadline.keep_going,
        )
        assert complete.all(), STEPS
        found = np.zeros((len(candidates), number), bool)
        found[np.repeat(np.arange(len(candidates)), np.diff(ends)), graphs] = True
        return np.packbits(found, axis=1)

    def affordable(self, size: int) -> int:
        """Candidates of a size that fit the memory: each is held by the table of those seen, and once more if kept."""
        return max(self.memory // (2 * self.bytes_each(size)), 1000)

    def bytes_each(self, size: int) -> int:
        return 2 * (2 * size + size * size) + 4 * size + 32 + len(self.graphs) // 4

    def table(
        self, types: NDArray[np.uint16], edges: NDArray[np.uint8], automorphisms: NDArray[np.int64]
    ) -> PatternTable:
        return PatternTable(
            types, edges, automorphisms, self.graphs.node_vocabulary, self.graphs.edge_vocabulary
        )


def bit_counts(bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """[m] number of ones in rows of packed bits."""
    ones = np.array([bin(byte).count("1") for byte in range(256)], np.int64)
    return np.asarray(ones[bits].sum(axis=1))

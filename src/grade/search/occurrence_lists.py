"""Bounded lists of weighted occurrences, with marks for those that are complete."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grade import _core
from grade.graphs import GraphSet, PatternTable
from grade.graphs.strings import ranges


@dataclass(frozen=True, eq=False)
class OccurrenceLists:
    """Patterns of one size, each with a list of weighted occurrences.

    Every occurrence of a listed pattern has the expected weight 1, whether it is in the list or not (then its weight is
    0): so the sum of the weights is an unbiased count, for patterns that were fixed before the seed was drawn. A
    ``complete`` list holds every occurrence, each with weight 1. ``counts`` are those of the list before it was
    thinned; ``exact`` says that a count is the true number.
    """

    patterns: PatternTable  # [m]
    offsets: NDArray[np.int64]  # [m + 1] rows of each pattern
    occurrences: NDArray[np.uint32]  # [n, k] ascending global ids
    weights: NDArray[np.float64]  # [n]
    counts: NDArray[np.float64]  # [m]
    exact: NDArray[np.bool_]  # [m] the count is exact
    complete: NDArray[np.bool_]  # [m] the list holds every occurrence
    followed: bool = (
        True  # every way in which the lists before these grow was followed: no pattern was missed
    )

    @classmethod
    def group(
        cls,
        patterns: PatternTable,
        ids: NDArray[np.int32],
        occurrences: NDArray[np.uint32],
        weights: NDArray[np.float64],
        complete: NDArray[np.bool_],
    ) -> "OccurrenceLists":
        """Lists from occurrences in any order with their pattern ids."""
        order = np.argsort(ids, kind="stable")
        sizes = np.bincount(ids, minlength=len(patterns))
        return cls(
            patterns,
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            occurrences[order],
            weights[order],
            _core.exact_sums(np.ascontiguousarray(ids, np.int32), weights, len(patterns)),
            complete.copy(),
            complete.copy(),
        )

    @classmethod
    def of(cls, graphs: GraphSet, rows: NDArray[np.uint32], threads: int) -> "OccurrenceLists":
        """Complete lists from all occurrences [n, k] of some patterns."""
        ids, types, edges, automorphisms = _core.classify(graphs.core, rows, threads)
        patterns = PatternTable(types, edges, automorphisms, graphs.node_vocabulary, graphs.edge_vocabulary)
        return cls.group(patterns, ids, rows, np.ones(len(rows)), np.ones(len(patterns), bool))

    @classmethod
    def unlisted(
        cls, patterns: PatternTable, counts: NDArray[np.float64], exact: NDArray[np.bool_]
    ) -> "OccurrenceLists":
        """Patterns whose counts are known without any list."""
        none, size = np.zeros(len(patterns), bool), patterns.size
        offsets, rows = np.zeros(len(patterns) + 1, np.int64), np.zeros((0, size), np.uint32)
        return cls(patterns, offsets, rows, np.zeros(0), counts, exact, none)

    def followed_by(self, other: "OccurrenceLists") -> "OccurrenceLists":
        """These lists, then those of other patterns of the same size."""
        return OccurrenceLists(
            PatternTable.concatenate([self.patterns, other.patterns]),
            np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]]),
            np.concatenate([self.occurrences, other.occurrences]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.exact, other.exact]),
            np.concatenate([self.complete, other.complete]),
        )

    def __len__(self) -> int:
        return len(self.patterns)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """[m] number of listed occurrences."""
        return np.diff(self.offsets)

    @cached_property
    def pattern_of_row(self) -> NDArray[np.int64]:
        """[n] the pattern of each listed occurrence."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def rows(self, pattern: int) -> slice:
        """Where a pattern's occurrences are."""
        return slice(int(self.offsets[pattern]), int(self.offsets[pattern + 1]))

    def take(self, patterns: ArrayLike) -> "OccurrenceLists":
        """The lists of these patterns, in this order."""
        chosen = np.asarray(patterns, np.int64)
        lengths = self.lengths[chosen]
        rows = ranges(self.offsets[chosen], lengths)
        return OccurrenceLists(
            self.patterns.take(chosen),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            self.occurrences[rows],
            self.weights[rows],
            self.counts[chosen],
            self.exact[chosen],
            self.complete[chosen],
        )

    def where(self, wanted: Callable[[PatternTable], NDArray[np.bool_]]) -> "OccurrenceLists":
        """The lists of the patterns that are wanted."""
        verdict = wanted(self.patterns)
        return self if verdict.all() else self.take(np.flatnonzero(verdict))

    def aligned(self, wanted: PatternTable) -> "OccurrenceLists":
        """The lists of these patterns, in this order; one that is not here gets an empty list and the count 0."""
        rows = self.patterns.find(wanted)
        here = rows >= 0
        found = self.take(rows[here])
        lengths, counts = np.zeros(len(wanted), np.int64), np.zeros(len(wanted))
        exact, complete = np.zeros(len(wanted), bool), np.zeros(len(wanted), bool)
        lengths[here], counts[here] = found.lengths, found.counts
        exact[here], complete[here] = found.exact, found.complete
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return OccurrenceLists(wanted, offsets, found.occurrences, found.weights, counts, exact, complete)

    def thinned(self, most: int, seed: int, threads: int = 1) -> "OccurrenceLists":
        """At most ``most`` occurrences per pattern, by priority sampling (Duffield, Lund and Thorup, 2007).

        An occurrence of weight w gets the priority w / u, with u uniform in (0, 1] from a seeded hash of its nodes; the
        ``most`` highest are kept, each with weight max(w, t), where t is the next priority. The expected new weight is
        w: the sum over any set of occurrences stays unbiased, and heavy occurrences are kept for certain.
        """
        if not (self.lengths > most).any():
            return self
        kept, weights = _core.thin_lists(self.offsets, self.occurrences, self.weights, most, seed, threads)
        lengths = np.minimum(self.lengths, most)
        return OccurrenceLists(
            self.patterns,
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            self.occurrences[kept],
            weights,
            self.counts,
            self.exact,
            self.complete & (self.lengths <= most),
            self.followed,
        )

    def lists(self) -> "OccurrenceLists":
        """These lists: what `grade.search.candidates.Counted` has."""
        return self

    @property
    def instances(self) -> int:
        """Listed occurrences of all patterns."""
        return int(self.offsets[-1])

    def known(
        self, name: str, graphs: GraphSet, threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """([m] a lower bound of the support ``graphs`` or ``coverage``, [m] whether it is exact)."""
        return self.supports(graphs, threads)[name], self.complete

    def per_node(self, graphs: GraphSet) -> NDArray[np.float64]:
        """[m] the sum over graphs of a pattern's occurrences in each by the number of its nodes."""
        nodes = graphs.node_counts[graphs.graphs_of(self.occurrences[:, 0])]
        return np.bincount(self.pattern_of_row, self.weights / nodes, len(self)).astype(np.float64)

    def relative_variances(self) -> NDArray[np.float64]:
        """[m] of the counts: 0 where they are exact, else one over the number of equal weights that a list is worth."""
        squares = np.bincount(self.pattern_of_row, self.weights**2, len(self))
        sums = np.bincount(self.pattern_of_row, self.weights, len(self))
        return np.where(self.exact, 0.0, squares / np.maximum(sums, 1e-300) ** 2)

    def supports(self, graphs: GraphSet, threads: int = 1) -> dict[str, NDArray[np.int64]]:
        """[m] supports by the listed occurrences: graphs with one (``graphs``) and nodes in one (``coverage``); exact
        for a complete list, else a lower bound.
        """
        found = _core.list_supports(graphs.core, self.offsets, self.occurrences, threads, None)
        return dict(zip(("graphs", "coverage"), found, strict=True))

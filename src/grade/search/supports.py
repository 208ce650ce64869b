"""Supports of the search's candidates, defined as in verification.

``graphs`` and ``coverage`` come from a list of occurrences where that is complete. Otherwise, and for ``disjoint`` and
``mni``, the matcher asks for each graph or node whether there is an occurrence (native/match_supports.cpp): tens of
microseconds for most patterns, and no list bounds the answer.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grade.engine import LOCAL, Engine, Matcher
from grade.graphs import GraphSet, PatternTable
from grade.progress import NEVER, Deadline
from grade.search.candidates import Counted

STEPS = 10**9  # seconds of work on one pattern; after that the support is a lower bound
NO_OFFSETS, NO_GRAPHS = np.zeros(0, np.int64), np.zeros(0, np.uint32)


class Supports:
    """The supports of patterns in one graph set, of fusible occurrences only if so asked."""

    def __init__(
        self,
        graphs: GraphSet,
        *,
        fusible: bool = False,
        threads: int = 1,
        deadline: Deadline = NEVER,
        engine: Engine = LOCAL,
    ) -> None:
        self.graphs, self.fusible, self.threads, self.deadline = graphs, fusible, threads, deadline
        self.engine = engine

    @cached_property
    def matcher(self) -> Matcher:
        return self.engine.over(self.graphs, self.threads).matcher(self.fusible)

    def of(self, name: str, lists: Counted) -> NDArray[np.int64]:
        """[m] the support of this name of the lists' patterns."""
        if name == "disjoint":
            return self.disjoint(lists.patterns)
        if name == "mni":
            return self.mni(lists.patterns)
        known, exact = lists.known(name, self.graphs, self.threads)
        open_ = np.flatnonzero(~exact)
        if len(open_):
            patterns = lists.patterns.take(open_)
            found = self.graph_counts(patterns) if name == "graphs" else self.coverage(patterns)
            known[open_] = np.maximum(known[open_], found)
        return known

    def reaching(self, name: str, lists: Counted, least: int) -> NDArray[np.bool_]:
        """[m] whether the support of this name, ``graphs`` or ``mni``, is at least ``least``."""
        if name == "mni":
            return self.mni(lists.patterns, least) >= least
        known, exact = lists.known("graphs", self.graphs, self.threads)
        open_ = np.flatnonzero(~exact & (known < least))
        if len(open_):
            known[open_] = self.graph_counts(lists.patterns.take(open_), least)
        return known >= least

    def graph_counts(self, patterns: PatternTable, least: int | None = None) -> NDArray[np.int64]:
        """[m] graphs that hold each pattern; with ``least``, only whether it is reached is exact."""
        offsets, _, _ = self.matcher.find_graphs(
            patterns.node_types,
            patterns.edges,
            NO_OFFSETS,
            NO_GRAPHS,
            least or 0,
            least or len(self.graphs),
            self.threads,
            STEPS,
            self.deadline.keep_going,
        )
        return np.diff(offsets)

    def disjoint(self, patterns: PatternTable) -> NDArray[np.int64]:
        """[m] occurrences that share no node, taken whenever they can be in the order of `list_occurrences`.

        A lower bound of the largest number, which is hard to find and rarely larger.
        """
        taken, _ = self.matcher.pack_all(
            patterns.node_types, patterns.edges, self.threads, STEPS, self.deadline.keep_going
        )
        return taken

    def mni(self, patterns: PatternTable, least: int = 0) -> NDArray[np.int64]:
        """[m] minimum image-based support: the nodes that can stand for the node of the pattern with the fewest.

        0 where that is below ``least``. (Bringmann and Nijssen, 2008.)
        """
        return self._images(patterns, least)[0]

    def coverage(self, patterns: PatternTable) -> NDArray[np.int64]:
        """[m] nodes that lie in an occurrence."""
        return self._images(patterns, 0)[1]

    def _images(self, patterns: PatternTable, least: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        fewest, covered, _, _ = self.matcher.find_images(
            patterns.node_types, patterns.edges, least, self.threads, STEPS, self.deadline.keep_going
        )
        return fewest, covered

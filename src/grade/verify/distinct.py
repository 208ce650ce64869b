"""A small choice of patterns that covers much of a graph set, instead of many that are nearly the same.

Greedy at first: always the pattern whose occurrences cover the most new nodes. Only occurrences count that share no
node with each other or with any chosen before. Gains only shrink, so an old gain bounds the new one and most patterns
are evaluated once (lazy evaluation; Minoux, 1978). A local search improves the choice (`grade.verify.improving`).

A pattern is a variant of a chosen one if one of them covers more than half of the other's nodes: a shifted window, a
part, an extension. Variants are folded, not chosen.

With ``by_graph`` each graph is worth the same, however many nodes it has: a node of a graph of n nodes is worth 1 / n.
Worth is counted in whole numbers, so that sums do not depend on their order, and told as a number of average nodes.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grade.engine import LOCAL, Engine
from grade.graphs import GraphSet, PatternTable
from grade.progress import NEVER, Deadline
from grade.search.supports import STEPS
from grade.verify.bounding import bound_of_choices
from grade.verify.improving import Accepts, improved
from grade.verify.vocabulary import translate

FEWEST = 2  # new occurrences of a pattern that is worth showing
MOST_VARIANT = 0.5  # share of the nodes of one pattern that the other covers
NOTHING = np.zeros(0, np.uint8)
ALONE = 2**22  # nodes of a set from which this machine selects alone: its questions are short, and thousands
MASKS = 2**28  # bytes of masks that are kept
ENTRIES = 2**25  # nodes of candidates that are kept for a sharp bound
UNIT = 2**40  # the worth of a graph where all are worth the same


@dataclass
class Choice:
    """A pattern that was chosen."""

    candidate: int
    occurrences: int  # those that overlap nothing chosen before
    gain: float  # their nodes
    covered: float  # nodes of all occurrences chosen up to here
    variants: list[int] = field(default_factory=list)  # candidates that are nearly the same


@dataclass(frozen=True)
class Selection:
    """The chosen patterns, in order."""

    choices: list[Choice]
    nodes: int  # of the graph set
    candidates: int
    bound: float  # no choice of as many candidates covers more nodes

    @property
    def covered(self) -> float:
        return self.choices[-1].covered if self.choices else 0


class Selector:
    """Candidates of any sizes in one graph set.

    >>> graphs = GraphSet.from_edges(node_counts=[6], node_types=[0, 1, 2, 0, 1, 2], edge_counts=[5],
    ...     edges=[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]], node_vocabulary=["conv", "norm", "relu"])
    >>> pairs = PatternTable.from_keys(["0.1/0>1", "1.2/0>1"], graphs.node_vocabulary)
    >>> chain = PatternTable.from_keys(["0.1.2/0>1.1>2"], graphs.node_vocabulary)
    >>> found = Selector(graphs, [pairs, chain]).choose(5)
    >>> [(c.candidate, c.occurrences, c.gain) for c in found.choices], found.choices[0].variants, found.bound
    ([(2, 2, 6)], [0, 1], 6)
    """

    def __init__(
        self,
        graphs: GraphSet,
        tables: Sequence[PatternTable],
        *,
        fusible: bool = False,
        threads: int = 1,
        deadline: Deadline = NEVER,
        engine: Engine = LOCAL,
        by_graph: bool = False,
    ) -> None:
        self.graphs, self.threads, self.deadline = graphs, threads, deadline
        sizes = graphs.node_counts
        self.worth = np.repeat(UNIT // np.maximum(sizes, 1), sizes) if by_graph else None  # [nodes]
        where = engine if graphs.nodes > ALONE else LOCAL
        self.matcher = where.over(graphs, threads).matcher(fusible)
        self.tables = [translate(table, graphs)[:2] for table in tables]
        self.starts = np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)
        self.known = np.concatenate([np.zeros(0, bool), *(translate(table, graphs)[2] for table in tables)])
        self.masks: dict[int, NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        return int(self.starts[-1])

    def pattern(self, candidate: int) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
        """(node types [k], edges [k, k]) of a candidate in the numbers of the set."""
        table = int(np.searchsorted(self.starts, candidate, side="right")) - 1
        row = candidate - int(self.starts[table])
        return self.tables[table][0][row], self.tables[table][1][row]

    def add(self, types: NDArray[np.uint16], edges: NDArray[np.uint8]) -> int:
        """One candidate more; its number."""
        self.tables.append((types[None], edges[None]))
        self.starts = np.append(self.starts, len(self) + 1)
        self.known = np.append(self.known, True)
        return len(self) - 1

    def drop_last(self) -> None:
        """Take back the last candidate that was added."""
        self.tables.pop()
        self.masks.pop(len(self) - 1, None)
        self.starts, self.known = self.starts[:-1], self.known[:-1]

    def choose(
        self, count: int, fold: Sequence[int] | None = None, accepts: Accepts | None = None
    ) -> Selection:
        """Patterns that cover much: a greedy choice, improved, with those of ``fold`` (all) as their variants.

        ``accepts`` says which extensions of the candidates may be chosen, too; without it none may. They are the
        candidates after the last that was given.
        """
        given = len(self)
        taken = np.zeros(self.graphs.nodes, np.uint8)
        gains: dict[int, int] = {}
        packed: dict[int, int] = {}  # occurrences
        for candidate in improved(self, self.greedy(count), count, accepts):
            nodes = self.packed(candidate, taken)
            taken[nodes] = 1
            gains[candidate] = self.worth_of(nodes)
            packed[candidate] = len(nodes) // len(self.pattern(candidate)[0])
        # The packing stays, in whatever order they are shown.
        chosen = sorted(gains, key=lambda candidate: -gains[candidate])
        covered = np.cumsum([gains[candidate] for candidate in chosen]).tolist()
        choices = [
            Choice(candidate, packed[candidate], self.in_nodes(gains[candidate]), self.in_nodes(up_to))
            for candidate, up_to in zip(chosen, covered, strict=True)
        ]
        wanted = set(range(given) if fold is None else fold).difference(chosen)
        for candidate in sorted(candidate for candidate in wanted if self.known[candidate]):
            shares = [overlap(self.mask(candidate), self.mask(other)) for other in chosen]
            if shares and max(shares) > MOST_VARIANT:
                choices[shares.index(max(shares))].variants.append(candidate)
        union = np.zeros(self.graphs.nodes, np.uint8)
        for candidate in chosen:
            union |= self.mask(candidate)
        bound = self.in_nodes(self.bound(union, len(choices)))
        return Selection(choices, self.graphs.nodes, len(self), bound)

    def greedy(self, count: int, begin: Sequence[int] = ()) -> list[int]:
        """Always the pattern that covers most beside those before it and is no variant of one, after these."""
        chosen = list(begin)
        taken = self.taken(chosen)
        first = len(chosen) if not chosen else -1  # the gains are those of now only if nothing is taken
        heap = [(-gain, candidate, first) for candidate, gain in enumerate(self.alone.tolist()) if gain]
        heapq.heapify(heap)
        while heap and len(chosen) < count:
            self.deadline.check()
            gain, candidate, seen = heapq.heappop(heap)
            if candidate in chosen:
                continue
            if seen < len(chosen):
                fresh = -self.gain(candidate, taken)
                if fresh < 0:
                    heapq.heappush(heap, (fresh, candidate, len(chosen)))
                continue
            fewest = FEWEST * len(self.pattern(candidate)[0])
            if self.worth is None and -gain < fewest:
                continue
            if not any(self.are_variants(candidate, other) for other in chosen):
                nodes = self.packed(candidate, taken)
                if len(nodes) >= fewest:
                    taken[nodes] = 1
                    chosen.append(candidate)
        return chosen

    def worth_of(self, nodes: NDArray[np.int64]) -> int:
        """The worth of nodes that are given once each: their number, where no other is asked for."""
        return len(nodes) if self.worth is None else int(self.worth[nodes].sum())

    def in_nodes(self, worth: int) -> float:
        """A worth as a number of nodes of the whole set."""
        if self.worth is None:
            return worth
        return round(worth * self.graphs.nodes / max(int(self.worth.sum()), 1), 6)

    @cached_property
    def alone(self) -> NDArray[np.int64]:
        """[candidates] worth of the nodes that each of the given candidates covers by itself."""
        return self.gains(np.zeros(self.graphs.nodes, np.uint8))

    def gains(self, taken: NDArray[np.uint8]) -> NDArray[np.int64]:
        """[candidates] worth of the nodes that each would cover anew."""
        found = [np.zeros(0, np.int64), *(self.gains_of(*table, taken) for table in self.tables)]
        return np.asarray(np.concatenate(found) * self.known)

    def gains_of(
        self, types: NDArray[np.uint16], edges: NDArray[np.uint8], taken: NDArray[np.uint8]
    ) -> NDArray[np.int64]:
        """[n] worth of the nodes that patterns [n, k], [n, k, k] of one size would cover anew."""
        if self.worth is not None:
            rows = zip(types, edges, strict=True)
            return np.array([self.worth_of(self.packing(*row, taken)) for row in rows], np.int64)
        packed, _ = self.matcher.pack_free(types, edges, taken, self.threads, STEPS, self.deadline.keep_going)
        return np.asarray(packed * types.shape[1])

    def gain(self, candidate: int, taken: NDArray[np.uint8]) -> int:
        types, edges = self.pattern(candidate)
        return int(self.gains_of(types[None], edges[None], taken)[0])

    def packed(self, candidate: int, taken: NDArray[np.uint8]) -> NDArray[np.int64]:
        """[n * k] the nodes of occurrences that share none with each other and have none taken, one after the other."""
        return self.packing(*self.pattern(candidate), taken)

    def packing(
        self, types: NDArray[np.uint16], edges: NDArray[np.uint8], taken: NDArray[np.uint8]
    ) -> NDArray[np.int64]:
        """The same for a pattern that is no candidate."""
        found = self.matcher.nodes_of(types, edges, taken, True, STEPS, self.deadline.keep_going)
        return np.asarray(found, np.int64)

    def taken(self, chosen: Sequence[int]) -> NDArray[np.uint8]:
        """[nodes] 1 where an occurrence lies, each of these patterns packed beside those before it."""
        taken = np.zeros(self.graphs.nodes, np.uint8)
        for candidate in chosen:
            taken[self.packed(candidate, taken)] = 1
        return taken

    def recur(self, chosen: Sequence[int]) -> bool:
        """Whether each of these patterns, packed beside those before it, still has occurrences enough to be shown."""
        taken = np.zeros(self.graphs.nodes, np.uint8)
        for candidate in chosen:
            nodes = self.packed(candidate, taken)
            if len(nodes) < FEWEST * len(self.pattern(candidate)[0]):
                return False
            taken[nodes] = 1
        return True

    def mask(self, candidate: int) -> NDArray[np.bool_]:
        """[nodes] whether a node lies in some occurrence."""
        if candidate not in self.masks:
            types, edges = self.pattern(candidate)
            nodes = self.matcher.nodes_of(types, edges, NOTHING, False, STEPS, self.deadline.keep_going)
            mask = np.zeros(self.graphs.nodes, bool)
            mask[nodes] = True
            while self.masks and (len(self.masks) + 1) * len(mask) > MASKS:
                self.masks.pop(next(iter(self.masks)))
            self.masks[candidate] = mask
        return self.masks[candidate]

    def are_variants(self, one: int, other: int) -> bool:
        return overlap(self.mask(one), self.mask(other)) > MOST_VARIANT

    def bound(self, union: NDArray[np.uint8], count: int) -> int:
        """An upper bound of the coverage of any ``count`` candidates, where ``union`` [nodes] are those of the chosen.

        A choice covers at most the nodes in any of its occurrences (`grade.verify.bounding`). In large sets the bound
        is a coarse one: the union of the chosen patterns, and the separate gains of the ``count`` best candidates.
        """
        held = self.held()
        if held is not None:
            worth = np.ones(self.graphs.nodes) if self.worth is None else self.worth.astype(np.float64)
            return int(bound_of_choices(*held, worth, count, union.astype(bool)))
        best = np.sort(self.beyond(union) * self.known)[::-1][:count]
        whole = self.worth_of(np.arange(self.graphs.nodes))
        return min(whole, self.worth_of(np.flatnonzero(union)) + int(best.sum()))

    def held(self) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None:
        """([m + 1] starts, the nodes in any occurrence of each of m candidates that have one); None: too many."""
        found: list[NDArray[np.int32]] = []
        total = 0
        for candidate in np.flatnonzero(self.known).tolist():
            self.deadline.check()
            types, edges = self.pattern(candidate)
            nodes = self.matcher.nodes_of(types, edges, NOTHING, False, STEPS, self.deadline.keep_going)
            total += len(nodes)
            if total > ENTRIES:
                return None
            if len(nodes):
                found.append(nodes.astype(np.int32))
        if not found:
            return None
        starts = np.cumsum([0, *map(len, found)], dtype=np.int64)
        return starts, np.concatenate(found)

    def beyond(self, union: NDArray[np.uint8]) -> NDArray[np.int64]:
        """[candidates] worth of the nodes outside of ``union`` that lie in an occurrence of each."""
        if self.worth is not None:
            free = union == 0
            each = [self.worth_of(np.flatnonzero(self.mask(i) & free)) for i in range(len(self))]
            return np.array(each, np.int64)
        found = [np.zeros(0, np.int64)]
        for types, edges in self.tables:
            asked = (types, edges, union, self.threads, STEPS, self.deadline.keep_going)
            found.append(self.matcher.cover_beyond(*asked)[0])
        return np.concatenate(found)


def overlap(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """The share of the smaller set that lies in both."""
    fewer = min(int(np.count_nonzero(one)), int(np.count_nonzero(other)))
    return int(np.count_nonzero(one & other)) / max(fewer, 1)

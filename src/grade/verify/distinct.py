"""A small choice of patterns that covers much of a graph set, instead of many that are nearly the same.

Greedy: always the pattern whose occurrences cover the most new nodes. Only occurrences count that share no node with
each other or with any chosen before. Gains only shrink, so an old gain bounds the new one and most patterns are
evaluated once (lazy evaluation; Minoux, 1978).

A pattern is a variant of a chosen one if one of them covers more than half of the other's nodes: a shifted window, a
part, an extension. Variants are folded, not chosen.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grade.engine import LOCAL, Engine
from grade.graphs import GraphSet, PatternTable
from grade.progress import NEVER, Deadline
from grade.search.supports import STEPS
from grade.verify.vocabulary import translate

FEWEST = 2  # new occurrences of a pattern that is worth showing
MOST_VARIANT = 0.5  # share of the nodes of one pattern that the other covers
NOTHING = np.zeros(0, np.uint8)


@dataclass
class Choice:
    """A pattern that was chosen."""

    candidate: int
    occurrences: int  # those that overlap nothing chosen before
    gain: int  # their nodes
    covered: int  # nodes of all occurrences chosen up to here
    variants: list[int] = field(default_factory=list)  # candidates that are nearly the same


@dataclass(frozen=True)
class Selection:
    """The chosen patterns, in order."""

    choices: list[Choice]
    nodes: int  # of the graph set
    candidates: int
    bound: int  # no choice of as many candidates covers more nodes

    @property
    def covered(self) -> int:
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
    ) -> None:
        self.graphs, self.threads, self.deadline = graphs, threads, deadline
        self.matcher = engine.over(graphs, threads).matcher(fusible)
        self.tables = [translate(table, graphs)[:2] for table in tables]
        self.starts = np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)
        self.known = np.concatenate([np.zeros(0, bool), *(translate(table, graphs)[2] for table in tables)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def pattern(self, candidate: int) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
        """(node types [k], edges [k, k]) of a candidate in the numbers of the set."""
        table = int(np.searchsorted(self.starts, candidate, side="right")) - 1
        row = candidate - int(self.starts[table])
        return self.tables[table][0][row], self.tables[table][1][row]

    def choose(self, count: int, fold: Sequence[int] | None = None) -> Selection:
        """The first ``count`` patterns of the greedy choice, with their variants among ``fold`` (by default all)."""
        free = np.zeros(self.graphs.nodes, np.uint8)  # 1: taken
        union = np.zeros(self.graphs.nodes, np.uint8)  # nodes in some occurrence of a chosen pattern
        masks: list[NDArray[np.bool_]] = []
        choices: list[Choice] = []
        folded: dict[int, int] = {}  # candidate -> choice
        heap = [(-gain, candidate, 0) for candidate, gain in enumerate(self.gains(free).tolist()) if gain]
        heapq.heapify(heap)
        while heap and len(choices) < count:
            self.deadline.check()
            gain, candidate, seen = heapq.heappop(heap)
            if seen < len(choices):
                fresh = -self.gain(candidate, free)
                if fresh < 0:
                    heapq.heappush(heap, (fresh, candidate, len(choices)))
                continue
            types, edges = self.pattern(candidate)
            if -gain < FEWEST * len(types):
                continue
            mask = self.mask(candidate)
            nearest = self.nearest(mask, masks)
            if nearest is not None:
                folded[candidate] = nearest
                continue
            nodes = self.matcher.nodes_of(types, edges, free, True, STEPS, self.deadline.keep_going)
            free[nodes] = 1
            union |= mask
            masks.append(mask)
            covered = (choices[-1].covered if choices else 0) + len(nodes)
            choices.append(Choice(candidate, len(nodes) // len(types), len(nodes), covered))
        chosen = {choice.candidate for choice in choices}
        for candidate in range(len(self)) if fold is None else fold:
            if candidate not in chosen and candidate not in folded and self.known[candidate]:
                nearest = self.nearest(self.mask(candidate), masks)
                if nearest is not None:
                    folded[candidate] = nearest
        wanted = None if fold is None else set(fold)
        for candidate, choice in sorted(folded.items()):
            if wanted is None or candidate in wanted:
                choices[choice].variants.append(candidate)
        return Selection(choices, self.graphs.nodes, len(self), self.bound(union, len(choices)))

    def gains(self, taken: NDArray[np.uint8]) -> NDArray[np.int64]:
        """[candidates] new nodes that each would cover."""
        found = [np.zeros(0, np.int64)]
        for types, edges in self.tables:
            disjoint, _ = self.matcher.pack_free(
                types, edges, taken, self.threads, STEPS, self.deadline.keep_going
            )
            found.append(disjoint * types.shape[1])
        return np.asarray(np.concatenate(found) * self.known)

    def gain(self, candidate: int, taken: NDArray[np.uint8]) -> int:
        types, edges = self.pattern(candidate)
        found, _ = self.matcher.pack_free(types[None], edges[None], taken, 1, STEPS, self.deadline.keep_going)
        return int(found[0]) * len(types)

    def mask(self, candidate: int) -> NDArray[np.bool_]:
        """[nodes] whether a node lies in some occurrence."""
        types, edges = self.pattern(candidate)
        mask = np.zeros(self.graphs.nodes, bool)
        mask[self.matcher.nodes_of(types, edges, NOTHING, False, STEPS, self.deadline.keep_going)] = True
        return mask

    def nearest(self, mask: NDArray[np.bool_], chosen: Sequence[NDArray[np.bool_]]) -> int | None:
        """The choice that a pattern is a variant of, by the nodes that it covers."""
        overlaps = [overlap(mask, other) for other in chosen]
        if not overlaps or max(overlaps) <= MOST_VARIANT:
            return None
        return overlaps.index(max(overlaps))

    def bound(self, union: NDArray[np.uint8], count: int) -> int:
        """An upper bound of the coverage of any ``count`` candidates.

        The nodes in any occurrence of a choice are a submodular function of it, and at least those that the choice
        covers by disjoint occurrences. So the best choice covers at most the union of the chosen patterns and the
        separate gains of the ``count`` best candidates.
        """
        beyond = [np.zeros(0, np.int64)]
        for types, edges in self.tables:
            beyond.append(
                self.matcher.cover_beyond(types, edges, union, self.threads, STEPS, self.deadline.keep_going)[
                    0
                ]
            )
        best = np.sort(np.concatenate(beyond) * self.known)[::-1][:count]
        return int(min(self.graphs.nodes, int(union.sum()) + best.sum()))


def overlap(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """The share of the smaller set that lies in both."""
    return float((one & other).sum() / max(min(one.sum(), other.sum()), 1))

"""Parts: exact counts of all small connected subgraphs of a set, and what they say about larger patterns.

Counting all subgraphs of 3 or 4 nodes takes a moment, also where those of k nodes are out of reach, and a
pattern of k nodes is made of such parts. Two estimates of how often it occurs follow from their counts N:

rarest    a pattern is as rare as its rarest connected part: the logarithm of the smallest N(part)
joined    parts that overlap are independent given the overlap. For a chain a-b-c-d that is
          N(abc) N(bcd) / N(bc); in general (the region-based approximation of Kikuchi, 1951)

              log N(pattern) = sum over connected node sets S of c(S) log(N(S) |Aut(S)|) - log |Aut(pattern)|

          over all S of at most m nodes (m is `part_size`), with c(S) = 1 - sum of c(R) over the sets R that contain S.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.graphs.counts import Counts
from grade.graphs.node_deletions import are_connected
from grade.graphs.patterns import PatternTable

UNSEEN = 0.5  # stands for the count of a part that does not occur, so that logarithms stay finite
ROWS = 20_000  # patterns at a time, to bound memory


def part_size(k: int) -> int:
    """The size m of the parts that serve for patterns of k nodes.

    Four tell more than three, and patterns of more than six nodes have too many parts of four.

    >>> [part_size(k) for k in (2, 4, 5, 6, 7)]
    [1, 3, 4, 4, 3]
    """
    return min(k - 1, 4 if k <= 6 else 3)


@dataclass(frozen=True, eq=False)
class PartCounts:
    """How often every connected subgraph of 1 to ``size`` nodes occurs in a set: exact."""

    counts: Counts  # of the sizes 1, 2, ..., size
    # How many neighbours all occurrences of a part have together, by size; none where there are too many to look at.
    neighbours: Counts | None = None

    @property
    def size(self) -> int:
        """The number of nodes of the largest parts."""
        return max(self.counts.tables)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays under names of its own."""
        beside = {} if self.neighbours is None else self.neighbours.to_arrays("neighbours")
        return self.counts.to_arrays("parts") | beside

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "PartCounts | None":
        """Read back what `to_arrays` gave, among other arrays; None if there is nothing of that kind."""
        counts, neighbours = (Counts.from_arrays(arrays, prefix) for prefix in ("parts", "neighbours"))
        return cls(counts, neighbours if neighbours.tables else None) if counts.tables else None

    def evidence(self, patterns: PatternTable) -> NDArray[np.float64]:
        """[n, 2] (joined, rarest) of each pattern of two nodes or more, both logarithms of a count."""
        parts = [
            self.chunk(patterns.take(np.arange(begin, min(begin + ROWS, len(patterns)))))
            for begin in range(0, len(patterns), ROWS)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, 2))

    def chunk(self, patterns: PatternTable) -> NDArray[np.float64]:
        joined = -np.log(patterns.automorphisms)
        rarest = np.full(len(patterns), np.inf)
        largest = min(self.size, part_size(patterns.size))
        numbers: dict[tuple[int, ...], NDArray[np.int32]] = {}  # c(S) of each S that was visited
        for nodes, connected, embeddings, occurrences in self.parts(patterns, largest):
            larger = [c for other, c in numbers.items() if set(nodes) < set(other)]
            numbers[nodes] = np.where(connected, 1 - sum(larger, np.zeros(len(patterns), np.int32)), 0)
            joined = joined + numbers[nodes] * embeddings
            if len(nodes) == largest:
                rarest = np.where(connected, np.minimum(rarest, occurrences), rarest)
        # Rounded, so that patterns made of the same parts tie whatever the order of the sum.
        return np.stack([joined, rarest], 1).round(9)

    def parts(
        self, patterns: PatternTable, largest: int
    ) -> Iterator[tuple[tuple[int, ...], NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]]:
        """(S, [n] is it connected, [n] log(N |Aut|), [n] log N) of all sets of nodes, the largest first."""
        for size in range(largest, 0, -1):
            for nodes in combinations(range(patterns.size), size):
                index = np.array(nodes)
                edges = patterns.edges[:, index[:, None], index]
                connected = are_connected(edges)
                embeddings, occurrences = np.zeros(len(patterns)), np.zeros(len(patterns))
                rows = np.flatnonzero(connected)
                if len(rows):
                    part = PatternTable.canonical(patterns.node_types[rows][:, index], edges[rows])
                    occurrences[rows] = np.log(np.maximum(self.counts.of(part)[0], UNSEEN))
                    embeddings[rows] = occurrences[rows] + np.log(part.automorphisms)
                yield nodes, connected, embeddings, occurrences

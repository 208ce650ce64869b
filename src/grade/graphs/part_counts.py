"""Parts: exact counts of all small connected subgraphs of a set.

Counting all subgraphs of 3, 4 or 5 nodes takes a moment, also where those of k nodes are out of reach. What the counts
say of larger patterns, estimators find out (`grade.estimators.evidence`).
"""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from grade.graphs.counts import Counts


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

    def up_to(self, size: int) -> "PartCounts":
        """The counts of at most so many nodes."""
        return PartCounts(
            self.counts.up_to(size), None if self.neighbours is None else self.neighbours.up_to(size)
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays under names of its own."""
        beside = {} if self.neighbours is None else self.neighbours.to_arrays("neighbours")
        return self.counts.to_arrays("parts") | beside

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "PartCounts | None":
        """Read back what `to_arrays` gave, among other arrays; None if there is nothing of that kind."""
        counts, neighbours = (Counts.from_arrays(arrays, prefix) for prefix in ("parts", "neighbours"))
        return cls(counts, neighbours if neighbours.tables else None) if counts.tables else None

"""Parts: exact counts of all small connected subgraphs of a set.

Counting all subgraphs of 3, 4 or 5 nodes takes a moment, also where those of k nodes are out of reach. Estimators use
the counts for larger patterns (`grade.estimators.evidence`).
"""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from grade.graphs.counts import Counts


@dataclass(frozen=True, eq=False)
class PartCounts:
    """Exact counts of all connected subgraphs of 1 to ``size`` nodes of a set."""

    counts: Counts  # of the sizes 1, 2, ..., size
    # Total number of neighbours of all occurrences of a part, by size; none where there are too many.
    neighbours: Counts | None = None

    @property
    def size(self) -> int:
        """The number of nodes of the largest parts."""
        return max(self.counts.tables)

    def up_to(self, size: int) -> "PartCounts":
        """The counts of parts of at most this many nodes."""
        return PartCounts(
            self.counts.up_to(size), None if self.neighbours is None else self.neighbours.up_to(size)
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All counts as arrays under names of their own."""
        beside = {} if self.neighbours is None else self.neighbours.to_arrays("neighbours")
        return self.counts.to_arrays("parts") | beside

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "PartCounts | None":
        """The counts that `to_arrays` wrote, among other arrays; None if there are none."""
        counts, neighbours = (Counts.from_arrays(arrays, prefix) for prefix in ("parts", "neighbours"))
        return cls(counts, neighbours if neighbours.tables else None) if counts.tables else None

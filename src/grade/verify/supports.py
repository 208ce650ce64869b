"""The supports of a pattern: different answers to "how often does it occur", each with its quality."""

from dataclasses import dataclass, field
from typing import Literal

Quality = Literal["exact", "lower bound", "estimate"]

EXACT: Quality = "exact"
LOWER_BOUND: Quality = "lower bound"
ESTIMATE: Quality = "estimate"


@dataclass(frozen=True)
class Support:
    """How often one pattern occurs in a graph set.

    A number whose count was cut off is a lower bound. ``disjoint`` and ``coverage`` are None where they were not
    asked for. All fields are plain numbers, texts and lists, so that ``dataclasses.asdict`` gives JSON.

    >>> support = Support(occurrences=3, graphs=2, per_graph=[(0, 1), (4, 2)])
    >>> support.quality, support.most_common(1)
    ('exact', [(4, 2)])
    """

    occurrences: (
        float  # node sets that induce the pattern, the paper's frequency; whole unless it is an estimate
    )
    quality: Quality = EXACT  # of `occurrences` and `per_graph`
    standard_error: float | None = None  # of an estimate
    graphs: int = 0  # graphs that contain the pattern
    graphs_quality: Quality = EXACT
    disjoint: int | None = None  # occurrences that share no node, taken greedily in a fixed order
    disjoint_quality: Quality = EXACT  # exact: the greedy choice came to its end
    coverage: int | None = None  # nodes that lie in some occurrence
    coverage_quality: Quality = EXACT
    per_graph: list[tuple[int, int]] = field(
        default_factory=list
    )  # (graph, occurrences), no zeros, ascending
    examples: list[list[int]] = field(
        default_factory=list
    )  # the first occurrences, ascending global node ids
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether counting came to its end: more time would change nothing."""
        qualities = (self.quality, self.graphs_quality, self.disjoint_quality, self.coverage_quality)
        return all(quality == EXACT for quality in qualities)

    def most_common(self, n: int) -> list[tuple[int, int]]:
        """The n graphs with the most occurrences, as (graph, occurrences)."""
        return sorted(((graph, count) for graph, count in self.per_graph), key=lambda row: (-row[1], row[0]))[
            :n
        ]

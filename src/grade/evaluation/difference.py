"""How two graph sets differ: in the types of their nodes, and in the patterns of k nodes (by the exact census)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grade.graphs import GraphSet, PatternTable
from grade.graphs.concatenation import edge_vocabulary, node_vocabulary, reindex
from grade.progress import Progress
from grade.sampling.census import take_census


@dataclass(frozen=True)
class Shift:
    """A type or a pattern: how often it occurs in both sets, and what share of all that is."""

    name: str  # that of the type, or the key of the pattern
    counts: tuple[int, int]
    shares: tuple[float, float]

    @property
    def change(self) -> float:
        """How much larger the share is in the second set."""
        return self.shares[1] - self.shares[0]


@dataclass(frozen=True)
class Difference:
    """The differences between two sets.

    A distance is the total variation between the two distributions, half the sum of all changes: 0 where all shares
    are equal, 1 where nothing is in common.
    """

    k: int
    type_distance: float
    pattern_distance: float
    types_in_common: int
    patterns: tuple[int, int]  # how many each set has
    patterns_in_common: int
    type_shifts: list[Shift]  # those of the largest changes first
    pattern_shifts: list[Shift]


def compare(
    one: GraphSet, other: GraphSet, k: int, threads: int | None = None, progress: Progress | None = None
) -> Difference:
    """Compare two sets; types are the same where their names are.

    >>> from grade.sources import load
    >>> zoo = load("zoo-mini")
    >>> difference = compare(zoo.subset([0, 1]), zoo.subset([2]), k=3)
    >>> difference.types_in_common, difference.patterns, difference.patterns_in_common
    (6, (20, 22), 3)
    >>> round(compare(zoo, zoo, k=3).pattern_distance, 9)
    0.0
    """
    nodes, edges = node_vocabulary(), edge_vocabulary()
    sets = [reindex(graphs.check(), nodes, edges) for graphs in (one, other)]
    names = tuple(nodes.words)
    type_counts = [np.bincount(graphs.node_types, minlength=len(names)) for graphs in sets]
    censuses = [take_census(graphs, k, threads, progress) for graphs in sets]
    tables = [
        replace(census.patterns, node_vocabulary=names, edge_vocabulary=tuple(edges.words))
        for census in censuses
    ]
    patterns = PatternTable.concatenate(tables).unique()
    counts = [np.zeros(len(patterns), np.int64) for _ in censuses]
    for mine, table, census in zip(counts, tables, censuses, strict=True):
        mine[patterns.find(table)] = census.counts
    return Difference(
        k=k,
        type_distance=distance(type_counts),
        pattern_distance=distance(counts),
        types_in_common=common(type_counts),
        patterns=(len(censuses[0].patterns), len(censuses[1].patterns)),
        patterns_in_common=common(counts),
        type_shifts=shifts(type_counts, names.__getitem__),
        pattern_shifts=shifts(counts, lambda row: patterns[row].key),
    )


def shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(counts / max(int(counts.sum()), 1), np.float64)


def distance(counts: Sequence[NDArray[np.int64]]) -> float:
    return float(np.abs(shares(counts[0]) - shares(counts[1])).sum() / 2)


def common(counts: Sequence[NDArray[np.int64]]) -> int:
    return int(((counts[0] > 0) & (counts[1] > 0)).sum())


def shifts(counts: Sequence[NDArray[np.int64]], name: Callable[[int], str]) -> list[Shift]:
    """All that occurs, sorted by the change of its share."""
    first, second = shares(counts[0]), shares(counts[1])
    order = np.argsort(-np.abs(second - first), kind="stable")
    found = [place for place in order.tolist() if counts[0][place] or counts[1][place]]
    return [
        Shift(
            name(place),
            (int(counts[0][place]), int(counts[1][place])),
            (float(first[place]), float(second[place])),
        )
        for place in found
    ]

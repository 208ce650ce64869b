"""Interchangeable types: node types that can be exchanged without changing what a set of graphs looks like.

In a search space that was enumerated or drawn at random, no operation is special: exchange two of them in every
graph, and the same set, or one that is just as likely, comes out. The exact counts of small parts tell which types
are like that. Exchanging a and b takes a part that occurs n times to one that occurs m times; were the two equally
likely, (n - m)^2 / (n + m) would be 1 on average, as chi-square is. Types that differ are far from it: thousands,
where the sets of this kind that we know have 1.0 to 1.5.

What is interchangeable need not be learned twice: an occurrence of one pattern tells as much about all patterns that
arise from it by exchanging types. Such patterns form an orbit, and each orbit has a representative. In a set that was
drawn at random, the patterns of an orbit are equally likely and yet do not occur equally often; how much one is ahead
of the others, its parts tell (`NetworkEstimator.weighed`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from grade.graphs.counts import Counts
from grade.graphs.parts import PartCounts
from grade.graphs.patterns import PatternTable

DISPERSION = 2.0  # the most that chi-square may be, relative to its mean
FEWEST_PAIRS = 10  # so many pairs of parts have to be compared, each of ...
FEWEST_COUNTED = 10  # so many occurrences, below which chi-square says nothing
MOST_EDGE_TYPES = 128  # the absent edge included: a relation between nodes needs the other half of a byte
FAR_APART = 50.0  # chi-square of the types' own numbers beyond which no parts need be compared


@dataclass(frozen=True)
class Interchange:
    """Classes of interchangeable node types, each of two types or more, ascending."""

    classes: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, parts: PartCounts, below: int = 65_535) -> "Interchange":
        """The classes of a set by its counts of parts, among the types of smaller numbers than ``below``."""
        single = parts.counts.tables[1].node_types[:, 0]
        types, inverse = np.unique(single, return_inverse=True)
        numbers = np.bincount(inverse, parts.counts.weights[1])
        classes: list[list[int]] = []
        for i in np.flatnonzero((types < below) & enough(parts, types)):
            kind = int(types[i])
            near = (numbers - numbers[i]) ** 2 <= FAR_APART * (numbers + numbers[i])
            for members in classes:
                if near[np.searchsorted(types, members)].all() and all(
                    interchangeable(parts, kind, other) for other in members
                ):
                    members.append(kind)
                    break
            else:
                classes.append([kind])
        return cls(tuple(tuple(members) for members in classes if len(members) > 1))

    def __bool__(self) -> bool:
        return bool(self.classes)

    def representatives(self, patterns: PatternTable) -> PatternTable:
        """[n] the representative of each pattern's orbit; rows keep their places.

        Where types are interchangeable only their class matters, and which nodes are of the same type. With the class
        as the node's type, and the relation as a second kind of edge, isomorphic means in the same orbit.
        """
        if not self:
            return patterns
        related = self.related(patterns)
        types = related.node_types.copy()
        n, k = types.shape
        rows = np.arange(n)
        for members in self.classes:
            inside = related.node_types == members[0]
            used = np.zeros(n, np.int64)  # how many types of this class have been given away
            for place in range(k):
                types[:, place] = np.where(
                    inside[:, place], np.array(members)[np.minimum(used, len(members) - 1)], types[:, place]
                )
                known = np.zeros(n, np.bool_)
                for earlier in range(place):
                    same = inside[:, place] & (related.edges[rows, earlier, place] % 2 == 1)
                    types[:, place] = np.where(same, types[:, earlier], types[:, place])
                    known |= same
                used += inside[:, place] & ~known
        return PatternTable.canonical(
            types, related.edges // 2, patterns.node_vocabulary, patterns.edge_vocabulary
        )

    def turned(self, patterns: PatternTable, turns: int) -> PatternTable:
        """The patterns with each type replaced by the one that follows so many places later in its class."""
        types = np.arange(65_536, dtype=np.uint16)
        for members in self.classes:
            types[list(members)] = np.roll(members, -turns)
        return PatternTable.canonical(
            types[patterns.node_types], patterns.edges, patterns.node_vocabulary, patterns.edge_vocabulary
        )

    def evened(self, parts: PartCounts) -> PartCounts:
        """The counts of parts with those of an orbit replaced by their mean."""
        return PartCounts(OrbitCounts(parts.counts, self)) if self else parts

    def related(self, patterns: PatternTable) -> PatternTable:
        """The patterns up to exchanges: a type stands for its class, and edges tell nodes of the same type.

        The type of an edge is doubled, and odd where its two nodes are of the same interchangeable type.
        """
        types = patterns.node_types.copy()
        same = np.zeros(patterns.edges.shape, np.bool_)
        for members in self.classes:
            inside = np.isin(patterns.node_types, members)
            equal = patterns.node_types[:, :, None] == patterns.node_types[:, None, :]
            same |= equal & inside[:, :, None]
            types[inside] = members[0]
        same &= ~np.eye(patterns.size, dtype=np.bool_)
        return PatternTable.canonical(types, 2 * patterns.edges.astype(np.int64) + same)

    def orbit_sizes(self, patterns: PatternTable) -> NDArray[np.float64]:
        """[n] number of patterns in each pattern's orbit, itself included.

        The ways of giving types to a pattern's groups of nodes, over those that only its symmetries tell apart.
        """
        ways = np.zeros(len(patterns))
        for members in self.classes:
            used = np.stack([(patterns.node_types == kind).any(1) for kind in members]).sum(0)
            ways += gammaln(len(members) + 1) - gammaln(len(members) - used + 1)
        symmetries = self.related(patterns).automorphisms / patterns.automorphisms
        return np.asarray((np.exp(ways) / symmetries).round())


class OrbitCounts(Counts):
    """Counts that the patterns of an orbit share: the mean over all of them, also those that do not occur."""

    def __init__(self, counts: Counts, interchange: Interchange) -> None:
        self.interchange = interchange
        tables, weights = {}, {}
        for size, table in counts.tables.items():
            representatives = interchange.representatives(table)
            _, first, orbits = np.unique(representatives.keys, return_index=True, return_inverse=True)
            tables[size] = representatives.take(first)
            weights[size] = np.bincount(orbits, counts.weights[size]) / interchange.orbit_sizes(tables[size])
        super().__init__(tables, weights)

    def of(self, patterns: PatternTable) -> tuple[NDArray[np.float64], float]:
        return super().of(self.interchange.representatives(patterns))


def enough(parts: PartCounts, types: NDArray[np.uint16]) -> NDArray[np.bool_]:
    """[types] whether a type has so many frequent parts that a comparison can say anything: half of those needed."""
    frequent = 2 * parts.counts.weights[parts.size] >= FEWEST_COUNTED
    nodes = parts.counts.tables[parts.size].node_types[frequent]
    number = np.array([int((nodes == kind).any(1).sum()) for kind in types])
    return 2 * number >= FEWEST_PAIRS


def interchangeable(parts: PartCounts, one: int, other: int) -> bool:
    """Whether exchanging two types changes the counts of the largest parts by no more than chance does."""
    table, counts = parts.counts.tables[parts.size], parts.counts.weights[parts.size]
    rows = np.flatnonzero(((table.node_types == one) | (table.node_types == other)).any(1))
    table, counts = table.take(rows), counts[rows]
    exchanged = exchange(table, [(one, other)])
    others, _ = parts.counts.of(exchanged)
    moved = (exchanged.keys != table.keys) & (counts + others >= FEWEST_COUNTED)
    # A pair of which both parts occur was met twice.
    pairs = np.where(others > 0, 0.5, 1.0)[moved]
    squares = ((counts - others) ** 2 / (counts + others))[moved]
    return bool(pairs.sum() >= FEWEST_PAIRS and pairs @ squares <= DISPERSION * pairs.sum())


def exchange(patterns: PatternTable, pairs: Sequence[tuple[int, int]]) -> PatternTable:
    """The patterns with two types exchanged, for each of the pairs in turn."""
    types = patterns.node_types
    for one, other in pairs:
        types = np.where(types == one, other, np.where(types == other, one, types))
    return PatternTable.canonical(types, patterns.edges, patterns.node_vocabulary, patterns.edge_vocabulary)

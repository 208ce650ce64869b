"""Exchangeable types: node types that are independent of a node's place in its graph.

In a search space that was enumerated or drawn at random, an operation can be replaced by another, and the graph is as
likely as before. The exact counts of small parts tell which types are exchangeable in this way.

Exchangeable types need not be told apart. With the types of a class merged into one, a pattern c becomes a merged
pattern S, and of its N(S) occurrences

    N(S) |Aut(S)| / |Aut(c)| / m^n

are expected to be c, where n nodes of S have a type of a class of m types: there are m^n ways to give them types, and
|Aut(S)| / |Aut(c)| of them give c. So the same occurrences inform fewer patterns. In a set that was drawn at random,
merged patterns are equally likely and yet differ in frequency by chance; the counts of their own parts tell by how
much (`MergedParts.log_share`).

In a set that was enumerated, they occur equally often, with one exception. A set without duplicates has one graph
where two symmetric nodes have types a and b, and one where both have a; a random draw gives the first twice as often.
So patterns with equal types at symmetric nodes are more frequent than expected. Merged patterns without symmetry are
not affected.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grade.estimators.evidence.part_sources import affordable_size, part_sources
from grade.graphs.counts import Counts
from grade.graphs.part_counts import PartCounts
from grade.graphs.patterns import PatternTable

DISPERSION = 2.0  # the most that chi-square may be, relative to its mean
TOLERANCE = 0.05  # relative errors below this are ignored: in a large set chance alone is smaller
FEWEST_PARTS = 10  # kinds of parts that must be compared, with each ...
FEWEST_COUNTED = 5  # this many expected occurrences: with fewer, chi-square is unreliable
DRAWN = 0.5  # chi-square relative to its mean: about 1 where types were drawn, and 0 where all are there
MOST_NODES = 4  # of the parts that are compared
MOST_TYPES = 256  # sets with more types were not enumerated or drawn at random, and comparing all takes long


@dataclass(frozen=True)
class ExchangeableTypes:
    """Classes of exchangeable node types, each of two types or more, ascending."""

    classes: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, parts: PartCounts) -> "ExchangeableTypes":
        """The classes of a set, by its counts of parts: each type joins the first class that it fits."""
        parts = parts.up_to(MOST_NODES)
        classes: list[tuple[int, ...]] = []
        for kind in [] if too_many_types(parts) else frequent_types(parts):
            for i, members in enumerate(classes):
                if joins(kind, members, parts):
                    classes[i] = (*members, kind)
                    break
            else:
                classes.append((kind,))
        return cls(tuple(members for members in classes if len(members) > 1))

    def __bool__(self) -> bool:
        return bool(self.classes)

    def merged(self, patterns: PatternTable) -> PatternTable:
        """[n] the patterns with every type replaced by the first of its class; rows keep their places."""
        if not self:
            return patterns
        types = patterns.node_types.copy()
        for members in self.classes:
            types[np.isin(types, members)] = members[0]
        return PatternTable.canonical(
            types, patterns.edges, patterns.node_vocabulary, patterns.edge_vocabulary
        )

    def log_ways(self, patterns: PatternTable) -> NDArray[np.float64]:
        """[n] log m^n: the number of ways to give types to the nodes of each pattern, were they all different."""
        result = np.zeros(len(patterns))
        for members in self.classes:
            result += np.isin(patterns.node_types, members).sum(1) * np.log(len(members))
        return result

    def log_share(self, patterns: PatternTable, merged: PatternTable) -> NDArray[np.float64]:
        """[n] log of the share that each pattern is expected to have in the occurrences of its merged pattern."""
        symmetry = np.log(merged.automorphisms / patterns.automorphisms)
        result: NDArray[np.float64] = symmetry - self.log_ways(patterns)
        return result

    def merged_counts(self, counts: Counts) -> Counts:
        """The counts of the merged patterns."""
        tables, weights = {}, {}
        for size, table in counts.tables.items():
            tables[size], rows = self.distinct(table)
            weights[size] = np.zeros(len(tables[size]))
            np.add.at(weights[size], rows, counts.weights[size])
        return Counts(tables, weights)

    def distinct(self, patterns: PatternTable) -> tuple[PatternTable, NDArray[np.int64]]:
        """(the distinct merged patterns, [n] the row of each pattern's own)."""
        merged = self.merged(patterns)
        _, first, rows = np.unique(merged.keys, return_index=True, return_inverse=True)
        return merged.take(first), rows.astype(np.int64)


class ExpectedCounts(Counts):
    """The expected count of each pattern, from the count of its merged pattern."""

    def __init__(self, counts: Counts, exchangeable: ExchangeableTypes) -> None:
        merged = exchangeable.merged_counts(counts)
        super().__init__(merged.tables, merged.weights)
        self.exchangeable = exchangeable

    def of(self, patterns: PatternTable) -> tuple[NDArray[np.float64], float]:
        merged = self.exchangeable.merged(patterns)
        counts, total = super().of(merged)
        return counts * np.exp(self.exchangeable.log_share(patterns, merged)), total


def are_drawn(parts: PartCounts, exchangeable: ExchangeableTypes) -> bool:
    """Whether the set was drawn rather than enumerated: whether the counts of patterns that merge into one without
    symmetry vary as chance makes them vary, rather than hardly at all.
    """
    expectation = ExpectedCounts(parts.counts, exchangeable)
    squares, freedom = 0.0, 0
    for size, table in parts.counts.tables.items():
        merged, rows = exchangeable.distinct(table)
        expected = expectation.of(table)[0]
        compared = (merged.automorphisms == 1)[rows] & (expected >= FEWEST_COUNTED)
        counts, expected = parts.counts.weights[size][compared], expected[compared]
        squares += float(((counts - expected) ** 2 / expected).sum())
        freedom += len(counts) - len(np.unique(rows[compared]))
    return squares >= DRAWN * freedom


def too_many_types(parts: PartCounts) -> bool:
    """Whether there are too many types to compare."""
    return len(frequent_types(parts)) > MOST_TYPES


def frequent_types(parts: PartCounts) -> list[int]:
    """The types, ascending, with enough frequent parts to be compared: half of the number needed, since the expected
    count of a part may exceed its count.
    """
    nodes = np.sort(parts.counts.tables[parts.size].node_types, axis=1)
    nodes = nodes[2 * parts.counts.weights[parts.size] >= FEWEST_COUNTED]
    first = np.ones(nodes.shape, np.bool_)  # each type of a part once
    first[:, 1:] = nodes[:, 1:] != nodes[:, :-1]
    types, numbers = np.unique(nodes[first], return_counts=True)
    return [int(kind) for kind in types[2 * numbers >= FEWEST_PARTS]]


def joins(kind: int, members: tuple[int, ...], parts: PartCounts) -> bool:
    """Whether the parts of every size with this type are as frequent as if all nodes with this type or a member's had
    drawn their types from these at random.
    """
    together = ExchangeableTypes(((*members, kind),))
    for size in range(1, parts.size + 1):  # the smallest first: they tell most types apart, and are few
        table, weights = parts.counts.tables[size], parts.counts.weights[size]
        rows = np.flatnonzero((table.node_types == kind).any(1))
        expectation = ExpectedCounts(Counts({size: table}, {size: weights}), together)
        counts, expected = weights[rows], expectation.of(table.take(rows))[0]
        squares = (counts - expected) ** 2 / (expected + (TOLERANCE * expected) ** 2)
        squares = squares[expected >= FEWEST_COUNTED]
        if size == parts.size and len(squares) < FEWEST_PARTS:
            return False
        # Three standard deviations, where few parts are compared.
        if len(squares) and squares.mean() > max(DISPERSION, 1 + 3 * np.sqrt(2 / len(squares))):
            return False
    return True


class MergedParts:
    """The counts of parts with exchangeable types merged, and the shares of the patterns that merge into one."""

    def __init__(self, types: ExchangeableTypes, parts: PartCounts) -> None:
        self.types, self.own = types, parts
        beside = parts.neighbours
        self.parts = PartCounts(
            types.merged_counts(parts.counts), None if beside is None else types.merged_counts(beside)
        )
        self.expected = ExpectedCounts(parts.counts, types)  # were types given at random
        # Whether patterns that merge differ by chance, or only where they are symmetric.
        self.drawn = not types or are_drawn(parts, types)

    def log_share(self, patterns: PatternTable) -> NDArray[np.float64]:
        """[n] log of the expected share of each pattern in its merged pattern: that under random types, times the
        ratio of the counts of its own parts to those under random types. Where types were not drawn, only patterns
        that merge into a symmetric one differ.
        """
        if not self.types:
            return np.zeros(len(patterns))
        merged = self.types.merged(patterns)
        largest = affordable_size(patterns.size, min(self.own.size, 4))
        ahead = (
            part_sources(patterns, self.own.counts, largest) - part_sources(patterns, self.expected, largest)
        )[:, 0]
        if not self.drawn:
            ahead = np.where(merged.automorphisms > 1, ahead, 0.0)
        # Rounded, so that rounding errors make no difference where there is none.
        return self.types.log_share(patterns, merged) + ahead.round(6)

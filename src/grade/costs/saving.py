"""Savings by fusing the operators of a pattern, for each occurrence and over a set.

Run one by one, every operator reads its inputs from memory and writes its results there. Fused operators read each
outside input once, and write only the results that are read outside. The difference is

    sum over operators (bytes read + bytes written) - (bytes that enter + bytes that leave)

Weights do not count: they are read once either way. Operators that only change the shape of a value (Reshape,
Squeeze ...) move nothing. Each result of a Split counts an equal share of its bytes. A compiler gains less
where it cannot keep a value out of memory (between two convolutions, say): this is the most that fusing can save. A
measurement replaces it where a file of costs has one.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.costs.cost_files import MEASURED, Costs
from grade.costs.value_sizes import ValueSizes
from grade.graphs import GraphSet, Pattern, PatternTable
from grade.graphs.strings import ranges
from grade.support import EXACT, Quality

LOOKED_AT = 64  # occurrences of each candidate of a search, evenly from its list
ROWS = 200_000  # occurrences at a time
STEPS = 10**9  # of the packing of one pattern, as in grade.search.supports
NOTHING = np.zeros(0, np.uint8)


@dataclass(frozen=True)
class Saving:
    """The saving by fusing all disjoint occurrences of one pattern, in one run of every graph."""

    per_occurrence: float  # the mean
    occurrences: int  # that share no node, packed greedily
    total: float
    unit: str  # "bytes" or "seconds"
    basis: str  # "measured", or where the sizes come from
    quality: Quality = EXACT  # of the number of occurrences

    @property
    def measured(self) -> bool:
        return self.basis == MEASURED

    def data(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return ("" if self.measured else "~ ") + with_unit(self.total, self.unit)


class Savings:
    """The savings of patterns in one graph set.

    >>> graphs = GraphSet.from_edges(node_counts=[2], node_types=[0, 1], edge_counts=[1], edges=[[0, 1]],
    ...                              node_vocabulary=["Conv", "Relu"])
    >>> found = Savings(graphs).of_pattern(Pattern.of([0, 1], [[0, 1], [0, 0]], ["Conv", "Relu"]))
    >>> found.per_occurrence / 2**20, found.occurrences, str(found)
    (2.0, 1, '~ 2.0 MiB')
    """

    def __init__(
        self,
        graphs: GraphSet,
        sizes: ValueSizes | None = None,
        costs: Costs | None = None,
        fusible: bool = False,
    ) -> None:
        self.graphs = graphs
        self.sizes = sizes or ValueSizes.default(graphs)
        self.costs = costs or Costs()
        self.fusible = fusible
        self._matcher: _core.Matcher | None = None

    @property
    def unit(self) -> str:
        return self.costs.unit

    def of_rows(self, rows: NDArray[np.unsignedinteger]) -> NDArray[np.float64]:
        """[n] bytes that fusing each occurrence [n, k] keeps from memory."""
        parts = [self._of_some(rows[at : at + ROWS].astype(np.int64)) for at in range(0, len(rows), ROWS)]
        return np.concatenate([np.zeros(0), *parts])

    def _of_some(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        graphs, sizes = self.graphs, self.sizes
        n, k = rows.shape
        members = rows.reshape(-1)
        lengths = graphs.in_offsets[members + 1] - graphs.in_offsets[members]
        edge = ranges(graphs.in_offsets[members], lengths)
        source = graphs.in_sources[edge].astype(np.int64)
        slot = np.repeat(np.arange(n * k), lengths)  # the member that reads
        row, reader = slot // k, members[slot]
        place = place_in_row(rows, row, source)  # of the source among the members; -1: outside
        # Values that stay inside: read by members only, also through views, and no output of the graph.
        inner_reads = np.bincount((row * k + place)[place >= 0], minlength=n * k)
        leaves = (np.diff(graphs.out_offsets)[members] > inner_reads) | graphs.outputs[members]
        owner_place = place_in_row(rows, np.repeat(np.arange(n), k), sizes.storage[members])
        inside = owner_place >= 0
        owner = np.arange(n).repeat(k) * k + owner_place
        written = inside & ~sizes.views[members]
        escapes = np.bincount(owner[inside], leaves[inside], n * k) > 0
        kept = np.where(written & ~escapes, sizes.bytes[members], 0.0).reshape(n, k).sum(axis=1)
        # Reads, each by an operator that moves something; those from one place outside are one when fused.
        moves = ~sizes.views[reader]
        row, source, origin = row[moves], source[moves], sizes.storage[source[moves]]
        read = sizes.bytes[source] / sizes.results[source]
        saved = kept + np.bincount(row, read, n)
        outside = place_in_row(rows, row, origin) < 0
        row, origin, read = row[outside], origin[outside], read[outside]
        order = np.lexsort((-read, origin, row))
        row, origin, read = row[order], origin[order], read[order]
        first = np.ones(len(row), bool)
        first[1:] = (row[1:] != row[:-1]) | (origin[1:] != origin[:-1])
        return np.asarray(saved - np.bincount(row[first], read[first], n))

    def of_lists(
        self, patterns: PatternTable, offsets: NDArray[np.int64], rows: NDArray[np.uint32]
    ) -> NDArray[np.float64]:
        """[m] mean saving of one occurrence of each pattern, from some of those that are listed of it."""
        lengths = np.diff(offsets)
        taken = np.minimum(lengths, LOOKED_AT)
        owner = np.repeat(np.arange(len(lengths)), taken)
        number = ranges(np.zeros(len(taken), np.int64), taken)
        chosen = offsets[:-1][owner] + number * lengths[owner] // np.maximum(taken[owner], 1)
        sums = np.bincount(owner, self.of_rows(rows[chosen]), len(lengths))
        means = sums / np.maximum(taken, 1) / self.costs.bytes_per_unit
        if self.costs.entries:
            sizes = self.costs.sizes
            for place, pattern in enumerate(patterns) if patterns.size in sizes else ():
                means[place] = self._measured(pattern, float(means[place]))[0]
        return np.asarray(means)

    def _measured(self, pattern: Pattern, estimate: float) -> tuple[float, bool]:
        """(the measured saving of a pattern, True), or (the estimate, False)."""
        found = self.costs.saving(pattern)
        return (estimate, False) if found is None else (found, True)

    def of_pattern(self, pattern: Pattern, quality: Quality = EXACT) -> Saving:
        """The saving by all occurrences of the greedy packing; ``quality`` is that of their number."""
        rows = self.packed(pattern)
        bytes_each = self.of_rows(rows)
        mean = float(bytes_each.mean()) / self.costs.bytes_per_unit if len(rows) else 0.0
        mean, measured = self._measured(pattern, mean)
        basis = MEASURED if measured else self.sizes.basis
        return Saving(mean, len(rows), mean * len(rows), self.unit, basis, quality)

    def packed(self, pattern: Pattern) -> NDArray[np.uint32]:
        """[n, k] occurrences that share no node, taken greedily."""
        if self._matcher is None:
            self._matcher = _core.Matcher(
                self.graphs.core, self.graphs.fusible_index if self.fusible else None
            )
        types, edges = in_numbers_of(self.graphs, pattern)
        if types is None:
            return np.zeros((0, pattern.size), np.uint32)
        nodes = self._matcher.nodes_of(types, edges, NOTHING, True, STEPS, None)
        return np.asarray(nodes).reshape(-1, pattern.size)


def in_numbers_of(graphs: GraphSet, pattern: Pattern) -> tuple[NDArray[np.uint16] | None, NDArray[np.uint8]]:
    """A pattern's types and edges in the numbers of a set; None where the set lacks a type."""
    types, edges = np.array(pattern.node_types, np.uint16), np.array(pattern.edges, np.uint8)
    if not pattern.node_vocabulary or pattern.node_vocabulary == graphs.node_vocabulary:
        return types, edges
    known: Mapping[str, int] = {name: number for number, name in enumerate(graphs.node_vocabulary)}
    kinds: Mapping[str, int] = {name: number for number, name in enumerate(graphs.edge_vocabulary)}
    names = [pattern.edge_vocabulary[number] for number in edges[edges > 0].tolist()]
    if not set(pattern.type_names) <= set(known) or not set(names) <= set(kinds):
        return None, edges
    edges[edges > 0] = [kinds[name] for name in names]
    return np.array([known[name] for name in pattern.type_names], np.uint16), edges


def place_in_row(
    rows: NDArray[np.int64], row: NDArray[np.int64], node: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Where a node stands in an occurrence [n, k]; -1 where it is not in it."""
    same = rows[row] == node[:, None]
    return np.where(same.any(axis=1), same.argmax(axis=1), -1)


def with_unit(amount: float, unit: str) -> str:
    """A number of bytes or seconds as people read it.

    >>> with_unit(3 * 2**20, "bytes"), with_unit(0.0021, "seconds"), with_unit(-2048, "bytes")
    ('3.0 MiB', '2.10 ms', '-2.0 KiB')
    """
    if unit == "seconds":
        for scale, name in ((1.0, "s"), (1e-3, "ms")):
            if abs(amount) >= scale:
                return f"{amount / scale:.2f} {name}"
        return f"{amount * 1e6:.2f} µs"
    for scale, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(amount) >= scale:
            return f"{amount / scale:.1f} {name}"
    return f"{amount:.0f} B"

"""Counts of patterns of one or several sizes, looked up by exact canonical form."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.graphs.patterns import PatternTable


class Counts:
    """The weight of each pattern, by size.

    >>> table = PatternTable.canonical([[0, 1], [1, 1]], [[[0, 1], [0, 0]]] * 2)
    >>> Counts({2: table}, {2: np.array([3.0, 5.0])}).of(table.take([1]))
    (array([5.]), 8.0)
    """

    def __init__(self, tables: dict[int, PatternTable], weights: dict[int, NDArray[np.float64]]) -> None:
        self.tables, self.weights = tables, weights

    def of(self, patterns: PatternTable) -> tuple[NDArray[np.float64], float]:
        """([n] weight of each pattern, 0 where it is not counted; weight of all patterns of that size)."""
        table, weights = self.tables[patterns.size], self.weights[patterns.size]
        return np.append(weights, 0.0)[table.find(patterns)], float(weights.sum())

    def up_to(self, size: int) -> "Counts":
        """The counts of patterns of at most this many nodes."""
        kept = [k for k in self.tables if k <= size]
        return Counts({k: self.tables[k] for k in kept}, {k: self.weights[k] for k in kept})

    def to_arrays(self, prefix: str = "counts") -> dict[str, NDArray[Any]]:
        """All counts as arrays under names that begin with the prefix."""
        arrays: dict[str, NDArray[Any]] = {}
        for size, table in self.tables.items():
            arrays[f"{prefix}.{size}.node_types"] = table.node_types.astype(np.int32)
            arrays[f"{prefix}.{size}.edges"] = table.edges
            arrays[f"{prefix}.{size}.automorphisms"] = table.automorphisms
            arrays[f"{prefix}.{size}.weights"] = self.weights[size]
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], prefix: str = "counts") -> "Counts":
        """The counts that `to_arrays` wrote, among other arrays."""
        names = [name.split(".") for name in arrays]
        sizes = sorted(
            int(name[1]) for name in names if name[0] == prefix and len(name) == 3 and name[2] == "weights"
        )
        tables = {
            size: PatternTable(
                arrays[f"{prefix}.{size}.node_types"].astype(np.uint16),
                arrays[f"{prefix}.{size}.edges"],
                arrays[f"{prefix}.{size}.automorphisms"],
            )
            for size in sizes
        }
        return cls(tables, {size: arrays[f"{prefix}.{size}.weights"] for size in sizes})

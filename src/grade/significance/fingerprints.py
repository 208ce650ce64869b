"""`features`: graphs, or nodes, described by how often each pattern occurs there.

Of a graph: its census, one column for each pattern. Of a node: its graphlet degrees (Przulj 2007), directed and
typed: how many occurrences of a pattern it takes part in, one column for each orbit of each pattern. Places of a
pattern that a symmetry exchanges are one orbit.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.errors import InputError
from grade.files import whole_file
from grade.graphs import GraphSet, PatternTable
from grade.graphs.pattern_text import nodes_in_text
from grade.graphs.patterns import MAX_TYPE
from grade.machine import available_memory, thread_count
from grade.progress import Progress
from grade.sampling.census import check_size, collect_occurrences
from grade.significance.columns_file import check_columns_target, write_columns
from grade.sources import as_graphs

OWNERS = ("graph", "node")
VALUES = ("counts", "shares", "presence")


@dataclass(frozen=True, eq=False)
class Features:
    """A sparse matrix of counts: rows are graphs or nodes, columns are patterns or orbits."""

    set: str  # origin of the graph set
    k: int
    per: str  # graph or node
    row_names: tuple[str, ...]
    patterns: PatternTable
    column_patterns: NDArray[np.int64]  # [columns] row of `patterns`
    column_places: NDArray[np.int64]  # [columns] first place of the orbit in the pattern; -1 for graphs
    rows: NDArray[np.int64]  # [entries]
    columns: NDArray[np.int64]  # [entries]
    counts: NDArray[np.uint64]  # [entries], none is 0

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.row_names), len(self.column_patterns)

    def __repr__(self) -> str:
        what = "patterns" if self.per == "graph" else "orbits"
        rows, columns = self.shape
        return f"Features({self.set!r}: {rows:,} {self.per}s x {columns:,} {what}, k={self.k})"

    @property
    def column_names(self) -> list[str]:
        """Keys of the patterns; with the first node of an orbit, by its place in the text: ``Conv -> Relu@1``.

        They are the same in every set.
        """
        keys = [pattern.key for pattern in self.patterns]
        if self.per == "graph":
            return [keys[pattern] for pattern in self.column_patterns.tolist()]
        place, orbit = places_in_text(self.patterns), orbits(self.patterns)
        names = []
        for pattern, first in zip(self.column_patterns.tolist(), self.column_places.tolist(), strict=True):
            same = orbit[pattern] == orbit[pattern, first]
            names.append(f"{keys[pattern]}@{place[pattern][same].min()}")
        return names

    def sparse(self, values: str = "counts") -> Any:
        """A scipy matrix in compressed sparse rows.

        ``counts``; ``shares``: counts divided by their sum in the row; ``presence``: 1 where there is one or more.
        """
        from scipy.sparse import csr_matrix

        if values not in VALUES:
            raise InputError(f"The values are {values!r}; give one of {', '.join(VALUES)}.")
        entries: NDArray[Any] = self.counts.astype(np.int64)
        if values == "presence":
            entries = np.ones(len(entries), np.int8)
        elif values == "shares":
            totals = np.bincount(self.rows, self.counts.astype(float), minlength=len(self.row_names))
            entries = self.counts / totals[self.rows]
        return csr_matrix((entries, (self.rows, self.columns)), shape=self.shape)

    def to_numpy(self, values: str = "counts") -> NDArray[Any]:
        """The whole matrix [rows, columns]."""
        needed, free = 8 * self.shape[0] * self.shape[1], available_memory()
        if needed > free:
            raise InputError(
                f"The matrix of {self.shape[0]:,} x {self.shape[1]:,} needs {needed / 2**30:,.1f} GiB and"
                f" {free / 2**30:,.1f} GiB are free; use the sparse one."
            )
        dense: NDArray[Any] = self.sparse(values).toarray()
        return dense

    def to_pandas(self, values: str = "counts") -> Any:
        """A table with names."""
        try:
            import pandas
        except ImportError:
            raise InputError("pandas is not installed; run 'pip install pandas'.") from None
        return pandas.DataFrame(self.to_numpy(values), index=list(self.row_names), columns=self.column_names)

    def save(self, path: str | os.PathLike[str], values: str = "counts") -> None:
        """Write the matrix with its names, whole or not at all.

        An .npz file is one of `scipy.sparse.load_npz`, with the arrays ``row_names`` and ``column_names``
        beside it. A .parquet file has one column for each pattern.
        """
        if check_columns_target(path) == ".parquet":
            matrix = self.to_numpy(values)
            names = self.column_names
            columns = {self.per: list(self.row_names), **{names[i]: matrix[:, i] for i in range(len(names))}}
            write_columns(path, columns, {"set": self.set, "k": self.k, "per": self.per, "values": values})
            return
        matrix = self.sparse(values)
        arrays: dict[str, Any] = {
            "format": np.array("csr"),
            "shape": np.array(matrix.shape),
            "data": matrix.data,
            "indices": matrix.indices,
            "indptr": matrix.indptr,
            "row_names": np.array(self.row_names),
            "column_names": np.array(self.column_names),
        }
        with whole_file(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)


def features(
    graphs: Any,
    k: int,
    per: str = "graph",
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Features:
    """Exact counts of all patterns of k nodes in every graph, or of all their orbits at every node.

    ``graphs`` is a GraphSet, or anything that `grade.load` takes.

    Examples
    --------
    >>> fork = GraphSet.from_edges(node_counts=[3, 2], node_types=[0, 1, 1, 0, 1], edge_counts=[2, 1],
    ...                            edges=[[0, 1], [0, 2], [0, 1]], node_vocabulary=["input", "conv"])
    >>> features(fork, 2)
    Features('graph set': 2 graphs x 1 patterns, k=2)
    >>> features(fork, 2).to_numpy().tolist(), features(fork, 2, per="node").to_numpy().tolist()
    ([[2], [1]], [[2, 0], [0, 1], [0, 1], [1, 0], [0, 1]])
    """
    if per not in OWNERS:
        raise InputError(f"Features are per {per!r}; give one of {', '.join(OWNERS)}.")
    graphs = as_graphs(graphs)
    check_size(graphs, k)
    if per == "graph":
        types, edges, automorphisms, triples = _core.graph_counts(
            graphs.core, k, thread_count(threads), progress
        )
        column_patterns = np.arange(len(types), dtype=np.uint32)
        places = np.full(len(types), -1)
        names: Sequence[str] = list(graphs.graph_names)
    else:
        occurrences = collect_occurrences(graphs, k, threads=threads, progress=progress)
        types, edges, automorphisms, column_patterns, places, triples = _core.node_orbits(
            graphs.core, occurrences
        )
        names = node_labels(graphs)
    rows, columns, counts = triples
    return Features(
        set=graphs.origin,
        k=k,
        per=per,
        row_names=tuple(names),
        patterns=PatternTable(types, edges, automorphisms, graphs.node_vocabulary, graphs.edge_vocabulary),
        column_patterns=column_patterns.astype(np.int64),
        column_places=places.astype(np.int64),
        rows=rows.astype(np.int64),
        columns=columns.astype(np.int64),
        counts=counts,
    )


def places_in_text(patterns: PatternTable) -> NDArray[np.int64]:
    """[n, k] the place of each node in the text of its pattern."""
    orders = [nodes_in_text(pattern) for pattern in patterns]
    return np.argsort(np.array(orders, np.int64).reshape(-1, patterns.size), axis=1)


def orbits(patterns: PatternTable) -> NDArray[np.int64]:
    """[n, k] equal numbers for the nodes of a pattern that a symmetry exchanges.

    They are those that leave the same pattern when they are marked by a type of their own.
    """
    n, k = patterns.node_types.shape
    types = np.repeat(patterns.node_types[:, None], k, axis=1)  # [n, marked, k]
    types[:, np.arange(k), np.arange(k)] = MAX_TYPE
    edges = np.repeat(patterns.edges[:, None], k, axis=1)
    marked = PatternTable.canonical(types.reshape(n * k, k), edges.reshape(n * k, k, k))
    return np.unique(marked.keys, return_inverse=True)[1].reshape(n, k)


def node_labels(graphs: GraphSet) -> list[str]:
    """``graph/number`` of every node, the number being that in its graph."""
    return [
        f"{name}/{number}"
        for name, count in zip(graphs.graph_names, graphs.node_counts.tolist(), strict=True)
        for number in range(count)
    ]


def profile_distance(one: Features, other: Features) -> tuple[float, NDArray[np.float64]]:
    """Jensen-Shannon distance of the pattern distributions of two sets, and the share of each pattern in it.

    The distributions are those of all occurrences. Patterns are compared by the names of their types, so that the sets
    need not share a vocabulary. The distance is the square root of the divergence in bits: 0 where the distributions
    are equal, 1 where no pattern occurs in both. The second value is for the patterns of both, in the order of
    `joint_profiles`.

    Examples
    --------
    >>> chain = GraphSet.from_edges(node_counts=[2], node_types=[0, 1], edge_counts=[1], edges=[[0, 1]],
    ...                             node_vocabulary=["conv", "relu"])
    >>> profile_distance(features(chain, 2), features(chain, 2))[0]
    0.0
    """
    _, p, q = joint_profiles(one, other)
    middle = (p + q) / 2

    def terms(of: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(of > 0, of * np.log2(np.where(of > 0, of, 1) / middle), 0.0)

    parts = (terms(p) + terms(q)) / 2
    divergence = max(float(parts.sum()), 0.0)
    return float(np.sqrt(divergence)), parts / divergence if divergence else parts


def joint_profiles(
    one: Features, other: Features
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """(texts of the patterns of both sets, their shares in the one, and in the other)."""
    if one.k != other.k or one.per != "graph" or other.per != "graph":
        raise InputError("Only features per graph, of patterns of the same size, can be compared.")
    nodes = tuple(sorted({*one.patterns.node_vocabulary, *other.patterns.node_vocabulary}))
    edges = [*one.patterns.edge_vocabulary[1:], *other.patterns.edge_vocabulary[1:]]
    kinds = ("none", *sorted(set(edges)))
    tables = [in_vocabulary(each.patterns, nodes, kinds) for each in (one, other)]
    keys, first = np.unique(np.concatenate([table.keys for table in tables]), return_index=True)
    patterns = [*tables[0], *tables[1]]
    shares = []
    for each, table in zip((one, other), tables, strict=True):
        totals = np.bincount(each.columns, each.counts.astype(float), minlength=each.shape[1])
        share = np.zeros(len(keys))
        share[np.searchsorted(keys, table.keys)] = totals / totals.sum()
        shares.append(share)
    return [str(patterns[row]) for row in first.tolist()], shares[0], shares[1]


def in_vocabulary(patterns: PatternTable, nodes: tuple[str, ...], kinds: tuple[str, ...]) -> PatternTable:
    """The same patterns with their types numbered as in other vocabularies that hold all of their names."""
    node_numbers = np.array([nodes.index(name) for name in patterns.node_vocabulary])
    edge_numbers = np.array([0, *(kinds.index(name) for name in patterns.edge_vocabulary[1:])])
    return PatternTable.canonical(
        node_numbers[patterns.node_types], edge_numbers[patterns.edges], nodes, kinds
    )

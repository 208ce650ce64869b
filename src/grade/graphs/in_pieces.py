"""The structure of a set piece by piece: checked and described in memory bounded by one piece, however large the set.

The arrays of an opened set are mapped files. Pages of them that have been read count as memory of the process until
they are given back, which loses nothing: they are read again when they are needed.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.graphs.stored_arrays import STRUCTURE

if TYPE_CHECKING:
    from grade.graphs.graph_set import GraphSet

PIECE = 2_000_000  # nodes that are worked on at a time; a larger graph is a piece by itself


@dataclass(frozen=True, eq=False)
class Piece:
    """Some consecutive graphs: their structure in numbers of their own, and the core's findings on each."""

    first: int  # graph
    first_node: int
    node_offsets: NDArray[np.int64]
    node_types: NDArray[np.uint16]
    out_offsets: NDArray[np.int64]
    out_types: NDArray[np.uint8]
    in_offsets: NDArray[np.int64]
    components: NDArray[np.uint32]  # [graphs]
    cyclic: NDArray[np.uint8]  # [graphs]
    loops: NDArray[np.uint32]  # [graphs]
    isolated: NDArray[np.uint32]  # [graphs] nodes
    fingerprints: NDArray[np.uint64]  # [graphs] equal for graphs of equal structure


def ranges_of_graphs(node_offsets: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """(first graph, first beyond) of pieces of at most ``most`` nodes; a larger graph is a piece by itself.

    >>> list(ranges_of_graphs(np.array([0, 2, 3, 9, 10]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    first = 0
    while first < len(node_offsets) - 1:
        bound = node_offsets[first] + most
        last = max(int(np.searchsorted(node_offsets, bound, side="right")) - 1, first + 1)
        yield first, last
        first = last


def pieces(graphs: "GraphSet", threads: int = 1) -> Iterator[Piece]:
    """All graphs, piece by piece. Raises ValueError, with the reason, on an invalid index."""
    for first, last in ranges_of_graphs(graphs.node_offsets, PIECE):
        begin, end = int(graphs.node_offsets[first]), int(graphs.node_offsets[last])
        out, into = (
            slice(max(int(offsets[begin]), 0), max(int(offsets[end]), 0))
            for offsets in (graphs.out_offsets, graphs.in_offsets)
        )
        node_offsets = graphs.node_offsets[first : last + 1] - begin
        node_types, out_types = graphs.node_types[begin:end], graphs.out_types[out]
        out_offsets = graphs.out_offsets[begin : end + 1] - graphs.out_offsets[begin]
        in_offsets = graphs.in_offsets[begin : end + 1] - graphs.in_offsets[begin]
        facts = _core.describe_graphs(
            node_offsets,
            node_types,
            out_offsets,
            graphs.out_targets[out] - np.uint32(begin),
            out_types,
            in_offsets,
            graphs.in_sources[into] - np.uint32(begin),
            graphs.in_types[into],
            threads,
        )
        if node_types.max(initial=0) >= max(len(graphs.node_vocabulary), 1):
            raise ValueError("a node type is not in the vocabulary")
        if out_types.max(initial=0) >= len(graphs.edge_vocabulary):
            raise ValueError("an edge type is not in the vocabulary")
        yield Piece(first, begin, node_offsets, node_types, out_offsets, out_types, in_offsets, *facts)
        for name in STRUCTURE:
            give_back(getattr(graphs, name))


def give_back(array: NDArray[Any]) -> None:
    """Let go of the pages of an array that is a mapped file; others stay as they are."""
    base: Any = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)

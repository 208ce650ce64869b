"""Patterns without one of their nodes."""

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.graphs.patterns import PatternTable


def connected_parts(patterns: PatternTable, kept: PatternTable, threads: int = 1) -> NDArray[np.int64]:
    """[n, k + 1] for every node of a (k+1)-pattern: the row of the kept k-pattern that remains without it, or -1.

    -1 means that the rest is not connected, or not among the kept.
    """
    return _core.connected_parts(patterns.node_types, patterns.edges, kept.node_types, kept.edges, threads)


def without(patterns: PatternTable, node: int) -> tuple[NDArray[np.int64], PatternTable]:
    """(rows of the patterns that stay connected without this node, those patterns without it)."""
    rest = np.delete(np.arange(patterns.size), node)
    edges = patterns.edges[:, rest[:, None], rest]
    whole = np.flatnonzero(are_connected(edges))
    types = patterns.node_types[whole][:, rest]
    return whole, PatternTable.canonical(
        types, edges[whole], patterns.node_vocabulary, patterns.edge_vocabulary
    )


def are_connected(edges: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """[n] whether digraphs [n, k, k] are connected, directions aside.

    >>> are_connected(np.array([[[0, 1], [0, 0]], [[0, 0], [0, 0]]], np.uint8)).tolist()
    [True, False]
    """
    k = edges.shape[1]
    touches = (edges > 0) | (edges.transpose(0, 2, 1) > 0)
    bits = np.zeros(touches.shape[:2], np.uint16)  # [n, k] the neighbours of each node; MAX_SIZE is 16
    for node in range(k):
        bits |= touches[:, :, node].astype(np.uint16) << np.uint16(node)
    reached = np.ones(len(edges), np.uint16)  # [n] from the first node
    for _ in range(k - 1):
        for node in range(k):
            reached |= bits[:, node] * (reached >> np.uint16(node) & np.uint16(1))
    return np.asarray(reached == 2**k - 1)

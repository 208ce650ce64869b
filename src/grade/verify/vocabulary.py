"""Patterns of one vocabulary in the words of another."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.graphs import GraphSet, PatternTable

UNKNOWN = -1


def translate(
    patterns: PatternTable, graphs: GraphSet
) -> tuple[NDArray[np.uint16], NDArray[np.uint8], NDArray[np.bool_]]:
    """(node types [n, k], edges [n, k, k]) in the numbers of a graph set, and which patterns [n] it can hold.

    Types are matched by name; by number where the patterns come without names. A pattern with a type that the set
    does not know has no occurrence there.

    >>> graphs = GraphSet.from_edges(node_counts=[1], node_types=[0], edge_counts=[0], edges=[],
    ...                              node_vocabulary=["conv", "relu"])
    >>> patterns = PatternTable.canonical([[0, 1], [0, 2]], [[[0, 1], [0, 0]]] * 2, ["relu", "conv", "add"])
    >>> types, _, known = translate(patterns, graphs)
    >>> types[0].tolist(), known.tolist()
    ([1, 0], [True, False])
    """
    types = renumbered(patterns.node_types, patterns.node_vocabulary, graphs.node_vocabulary, "node")
    # Number 0 is "no edge" in every vocabulary, whatever it is called there.
    edge_names = patterns.edge_vocabulary and ("", *patterns.edge_vocabulary[1:])
    edges = renumbered(patterns.edges, edge_names, ("", *graphs.edge_vocabulary[1:]), "edge")
    known = (types != UNKNOWN).all(axis=1) & (edges != UNKNOWN).all(axis=(1, 2))
    return np.maximum(types, 0).astype(np.uint16), np.maximum(edges, 0).astype(np.uint8), known


def renumbered(
    numbers: NDArray[np.unsignedinteger], names: Sequence[str], vocabulary: Sequence[str], kind: str
) -> NDArray[np.int64]:
    """The numbers of the same names in another vocabulary, UNKNOWN where it lacks the name."""
    wide = numbers.astype(np.int64)
    if not names:
        return np.where(wide < len(vocabulary), wide, UNKNOWN)
    if wide.size and wide.max() >= len(names):
        raise InputError(
            f"A pattern has {kind} type {wide.max()}, but its vocabulary has {len(names)} {kind} types;"
            " give patterns and vocabulary that belong together."
        )
    place = {name: number for number, name in enumerate(vocabulary)}
    return np.array([place.get(name, UNKNOWN) for name in names], np.int64)[wide]

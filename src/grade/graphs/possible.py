"""Possible patterns: those that can occur in a set, because all their parts do.

A pattern of k nodes occurs only where all its connected parts of k - 1 nodes occur (the rule of Agrawal and Srikant's
Apriori, 1994). With the parts counted exactly, there are not many more of them than patterns that do occur.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from grade.graphs.counts import Counts
from grade.graphs.patterns import PatternTable
from grade.graphs.smaller import are_connected, connected_parts

BATCH = 400_000  # candidates at a time, to bound memory
MOST = 10_000_000  # candidates in all: about half a minute

Node = tuple[int, int]  # type and loop
Tie = tuple[int, int]  # edge to the other node, and edge back; (0, 0): not adjacent


def possible_patterns(parts: Counts, k: int, most: int = MOST) -> PatternTable | None:
    """All patterns of k nodes whose connected parts of k - 1 nodes all occur; None if there are more than ``most``
    ways to put a node beside a part.

    ``parts`` are all that occur of 2 and k - 1 nodes.

    >>> edge = PatternTable.canonical([[0, 1]], [[[0, 1], [0, 0]]])
    >>> found = possible_patterns(Counts({2: edge}, {2: np.ones(1)}), 3)
    >>> sorted(found.node_types.tolist())  # two edges from a 0, and two edges to a 1
    [[0, 0, 1], [0, 1, 1]]
    """
    kept = [PatternTable.canonical(np.zeros((0, k), np.uint16), np.zeros((0, k, k), np.uint8))]
    seen = 0
    for types, edges in batches(parts, k):
        seen += len(types)
        if seen > most:
            return None
        candidates = distinct(PatternTable.canonical(types, edges))
        rows = connected_parts(candidates, parts.tables[k - 1])
        connected = np.stack(
            [are_connected(np.delete(np.delete(candidates.edges, i, 1), i, 2)) for i in range(k)], 1
        )
        kept.append(candidates.take(np.flatnonzero(((rows >= 0) | ~connected).all(1))))
    return distinct(
        PatternTable.canonical(
            np.concatenate([table.node_types for table in kept]),
            np.concatenate([table.edges for table in kept]),
        )
    )


def distinct(patterns: PatternTable) -> PatternTable:
    return patterns.take(np.unique(patterns.keys, return_index=True)[1])


def batches(parts: Counts, k: int) -> Iterator[tuple[NDArray[np.uint16], NDArray[np.uint8]]]:
    """(types [n, k], edges [n, k, k]) of the parts of k - 1 nodes with another node beside them."""
    waiting: list[tuple[NDArray[np.uint16], NDArray[np.uint8]]] = []
    number = 0
    for types, edges in beside(parts, k):
        waiting.append((types, edges))
        number += len(types)
        if number >= BATCH:
            yield joined(waiting)
            waiting, number = [], 0
    if waiting:
        yield joined(waiting)


def joined(
    pieces: list[tuple[NDArray[np.uint16], NDArray[np.uint8]]],
) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    return np.concatenate([types for types, _ in pieces]), np.concatenate([edges for _, edges in pieces])


def beside(parts: Counts, k: int) -> Iterator[tuple[NDArray[np.uint16], NDArray[np.uint8]]]:
    """Parts with the same nodes together, with every node beside them, tied in every way that two nodes are."""
    known = ties(parts.tables[2])
    table = parts.tables[k - 1]
    loops = np.diagonal(table.edges, axis1=1, axis2=2)
    nodes, rows = np.unique(np.stack([table.node_types, loops], 2), axis=0, return_inverse=True)
    rows = rows.reshape(-1)
    order = np.argsort(rows, kind="stable")
    bounds = np.searchsorted(rows[order], np.arange(len(nodes) + 1))
    for own, begin, end in zip(nodes.tolist(), bounds, bounds[1:], strict=False):
        index = order[begin:end]
        old = [known[kind, loop] for kind, loop in own]
        for kind, loop in sorted(set().union(*old)):
            choices = [[(0, 0), *sorted(partners.get((kind, loop), ()))] for partners in old]
            ways = np.array(
                list(product(*choices))[1:], np.uint8
            )  # [m, k - 1, 2]; the first is no tie at all
            edges = np.zeros((len(index), len(ways), k, k), np.uint8)
            edges[:, :, :-1, :-1] = table.edges[index][:, None]
            edges[:, :, :-1, -1], edges[:, :, -1, :-1] = ways[..., 0], ways[..., 1]
            edges[:, :, -1, -1] = loop
            types = np.array([*(a for a, _ in own), kind], np.uint16)
            yield np.tile(types, (len(index) * len(ways), 1)), edges.reshape(-1, k, k)


def ties(pairs: PatternTable) -> defaultdict[Node, dict[Node, set[Tie]]]:
    """For every kind of node, the kinds that it is adjacent to, and how."""
    found: defaultdict[Node, dict[Node, set[Tie]]] = defaultdict(dict)
    for (a, b), ((loop_a, there), (back, loop_b)) in zip(
        pairs.node_types.tolist(), pairs.edges.tolist(), strict=True
    ):
        found[a, loop_a].setdefault((b, loop_b), set()).add((there, back))
        found[b, loop_b].setdefault((a, loop_a), set()).add((back, there))
    return found

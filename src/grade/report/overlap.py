"""Overlap of motifs: pairs that differ by one node, motifs within others, and small patterns in them."""

from collections.abc import Sequence

import numpy as np

from grade.graphs import GraphSet, Pattern, PatternTable
from grade.verify.counting import Verifier


def as_graphs(patterns: Sequence[Pattern]) -> GraphSet:
    """The patterns as graphs of a set, to count other patterns in them."""
    return GraphSet.from_edges(
        node_counts=[pattern.size for pattern in patterns],
        node_types=[t for pattern in patterns for t in pattern.node_types],
        edge_counts=[len(pattern.edge_list) for pattern in patterns],
        edges=[(i, j) for pattern in patterns for i, j, _ in pattern.edge_list],
        edge_types=[t for pattern in patterns for _, _, t in pattern.edge_list],
        node_vocabulary=patterns[0].node_vocabulary,
        edge_vocabulary=patterns[0].edge_vocabulary,
        origin="motifs",
    )


def contained_in(small: Sequence[Pattern], large: Sequence[Pattern]) -> list[list[tuple[int, int]]]:
    """For each large pattern the (number, induced occurrences) of the small ones in it, itself excepted.

    >>> names = ("conv", "relu")
    >>> pair, chain = (Pattern.of([0, 1], [[0, 1], [0, 0]], names, ("none", "edge")),
    ...                Pattern.of([0, 1, 1], [[0, 1, 0], [0, 0, 1], [0, 0, 0]], names, ("none", "edge")))
    >>> contained_in([pair], [pair, chain])
    [[], [(0, 1)]]
    """
    found: list[list[tuple[int, int]]] = [[] for _ in large]
    if not large:
        return found
    verifier = Verifier(as_graphs(large), threads=1)
    for number, pattern in enumerate(small):
        if not any(other.size > pattern.size for other in large):
            continue
        for graph, count in verifier.support(pattern, supports=False).per_graph:
            if large[graph].size > pattern.size:
                found[graph].append((number, count))
    return found


def one_node_apart(patterns: Sequence[Pattern]) -> list[list[int]]:
    """For each pattern the others that become equal to it when one node is removed from each, in their order.

    >>> def chain(*types):
    ...     return Pattern.of(types, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> one_node_apart([chain(0, 1, 2), chain(0, 1, 3), chain(7, 8, 9)])
    [[1], [0], []]
    """
    owners: dict[tuple[int, bytes], set[int]] = {}
    for size in sorted({pattern.size for pattern in patterns if pattern.size > 2}):
        rows = [number for number, pattern in enumerate(patterns) if pattern.size == size]
        types = np.array([patterns[row].node_types for row in rows])
        edges = np.array([patterns[row].edges for row in rows])
        for missing in range(size):
            kept = [node for node in range(size) if node != missing]
            table = PatternTable.canonical(types[:, kept], edges[:, kept][:, :, kept])
            for row, key in zip(rows, table.keys.tolist(), strict=True):
                owners.setdefault((size, key), set()).add(row)
    near: list[set[int]] = [set() for _ in patterns]
    for rows_of_key in owners.values():
        for row in rows_of_key:
            near[row] |= rows_of_key
    return [sorted(others - {row}) for row, others in enumerate(near)]

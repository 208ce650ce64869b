"""The most occurrences of a pattern that share no node, exactly, where the parts that overlap are small.

The support ``disjoint`` packs greedily: quick, and a lower bound. Its maximum is a largest independent set of the graph
in which occurrences are joined that share a node, found here for each connected part of that graph on its own: a vertex
with at most one neighbour is always taken, and otherwise a vertex of highest degree is either left out or taken.
A part that would take too many steps keeps its greedy packing, and the sum is a lower bound.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from grade.errors import InputError
from grade.graphs import GraphSet, Pattern, PatternTable
from grade.graphs.queries import Query
from grade.progress import Progress
from grade.support import EXACT, LOWER_BOUND, Quality
from grade.verify.counting import list_occurrences

MOST_OCCURRENCES = 200_000
MOST_IN_PART = 300  # occurrences; larger parts are packed greedily
MOST_STEPS = 5_000  # for one part


def maximum_disjoint(
    graphs: GraphSet,
    pattern: Pattern,
    fusible: bool = False,
    progress: Progress | None = None,
) -> tuple[int, Quality]:
    """The size of a largest set of occurrences that share no node, and whether it is that or a lower bound.

    A path of five nodes, listed so that the greedy packing of its pairs may begin in the middle, has two:

    >>> graphs = GraphSet.from_edges(node_counts=[5], node_types=[0] * 5, edge_counts=[4],
    ...                              edges=[[0, 1], [1, 2], [2, 3], [3, 4]], node_vocabulary=["conv"])
    >>> maximum_disjoint(graphs, Pattern.of([0, 0], [[0, 1], [0, 0]]))
    (2, 'exact')
    """
    found = list_occurrences(graphs, pattern, MOST_OCCURRENCES + 1, fusible=fusible)
    rows = found[:MOST_OCCURRENCES].tolist()
    total, quality = 0, EXACT if len(rows) == len(found) else LOWER_BOUND
    done = 0
    for part in parts_that_overlap(rows):
        if progress is not None and progress(done / len(rows)) is False:
            return total, LOWER_BOUND
        size, exact = largest_packing([rows[row] for row in part])
        total, done = total + size, done + len(part)
        quality = quality if exact else LOWER_BOUND
    return total, quality


def maximum_disjoint_of(
    graphs: GraphSet, patterns: Sequence[Pattern | Query] | PatternTable, fusible: bool = False
) -> list[tuple[int, Quality]]:
    """`maximum_disjoint` of many patterns; queries, which stand for several, are refused."""
    return [maximum_disjoint(graphs, checked(pattern), fusible) for pattern in patterns]


def checked(pattern: Pattern | Query) -> Pattern:
    if isinstance(pattern, Query):
        raise InputError(
            f"`maximum` needs an induced pattern without wildcards, unlike '{pattern}'; leave it out."
        )
    return pattern


def parts_that_overlap(rows: list[list[int]]) -> list[list[int]]:
    """The occurrences by the connected parts that they make through shared nodes, each in the order of the list."""
    if not rows:
        return []
    nodes, place = np.unique(np.array(rows), return_inverse=True)
    k = len(rows[0])
    row_of = np.repeat(np.arange(len(rows)), k)
    links = coo_matrix(
        (np.ones(len(row_of)), (row_of, place.ravel() + len(rows))), [len(rows) + len(nodes)] * 2
    )
    label = connected_components(links, directed=False)[1][: len(rows)]
    order = np.argsort(label, kind="stable")
    return [part.tolist() for part in np.split(order, np.flatnonzero(np.diff(label[order])) + 1)]


def largest_packing(rows: list[list[int]]) -> tuple[int, bool]:
    """(size, whether it is the largest) of a set of occurrences of one part that share no node."""
    if len(rows) <= MOST_IN_PART:
        sets = [frozenset(row) for row in rows]
        neighbours = [
            {j for j, other in enumerate(sets) if j != i and not each.isdisjoint(other)}
            for i, each in enumerate(sets)
        ]
        try:
            return largest_independent(neighbours), True
        except TooManyStepsError:
            pass
    taken: set[int] = set()
    size = 0
    for row in rows:  # greedily, in the order of the list
        if taken.isdisjoint(row):
            taken.update(row)
            size += 1
    return size, False


def largest_independent(neighbours: list[set[int]]) -> int:
    """The size of a largest independent set of a graph; `TooManyStepsError` where that is too much work."""
    steps = MOST_STEPS

    def best(left: set[int]) -> int:
        nonlocal steps
        taken = 0
        while left:
            steps -= 1
            if steps < 0:
                raise TooManyStepsError
            degrees = {vertex: len(neighbours[vertex] & left) for vertex in left}
            lowest = min(left, key=lambda vertex: (degrees[vertex], vertex))
            if degrees[lowest] <= 1:
                taken += 1
                left = left - neighbours[lowest] - {lowest}
                continue
            highest = max(left, key=lambda vertex: (degrees[vertex], -vertex))
            with_it = 1 + best(left - neighbours[highest] - {highest})
            return taken + max(with_it, best(left - {highest}))
        return taken

    return best(set(range(len(neighbours))))


class TooManyStepsError(Exception):
    """A part is too large to be solved."""

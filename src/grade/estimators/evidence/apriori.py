"""Possible patterns: those that can occur in a set, because all their parts do.

A pattern of k nodes occurs only where all its connected parts of k - 1 nodes occur (the rule of Agrawal and Srikant's
Apriori, 1994). With the parts counted exactly, there are not many more of them than patterns that do occur.
"""

from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from grade.graphs.counts import Counts
from grade.graphs.node_deletions import are_connected, connected_parts
from grade.graphs.patterns import PatternTable

PARTS = 200  # at a time, and ...
ROWS = 2_000_000  # parts whose candidates are made together, to bound memory
MOST = 10_000_000  # candidates in all: about half a minute

Ids = NDArray[np.int64]


class TooManyError(Exception):
    """There are more candidates than may be examined."""


def possible_patterns(
    parts: Counts,
    k: int,
    most: int = MOST,
    chosen: NDArray[np.int64] | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> PatternTable | None:
    """All patterns of k nodes whose connected parts of k - 1 nodes all occur; None if there are more than ``most``
    ways to add a node to a part.

    ``parts`` are all patterns of 2 and k - 1 nodes that occur; those of 3, where given, rule out candidates early.
    With ``chosen`` rows of the parts, only patterns that contain one of these are found.

    >>> edge = PatternTable.canonical([[0, 1]], [[[0, 1], [0, 0]]])
    >>> found = possible_patterns(Counts({2: edge}, {2: np.ones(1)}), 3)
    >>> sorted(found.node_types.tolist())  # two edges from a 0, and two edges to a 1
    [[0, 0, 1], [0, 1, 1]]
    """
    kept = [PatternTable.canonical(np.zeros((0, k), np.uint16), np.zeros((0, k, k), np.uint8))]
    seen = 0
    try:
        for share, types, edges in beside(parts, k, chosen):
            progress(share)
            seen += len(types)
            if seen > most:
                return None
            candidates = PatternTable.canonical(types, edges).unique()
            rows = connected_parts(candidates, parts.tables[k - 1])
            connected = np.stack(
                [are_connected(np.delete(np.delete(candidates.edges, i, 1), i, 2)) for i in range(k)], 1
            )
            kept.append(candidates.take(np.flatnonzero(((rows >= 0) | ~connected).all(1))))
    except TooManyError:
        return None
    return PatternTable.concatenate(kept).unique()


def beside(
    parts: Counts, k: int, chosen: NDArray[np.int64] | None = None
) -> Iterator[tuple[float, NDArray[np.uint16], NDArray[np.uint8]]]:
    """The parts of k - 1 nodes with one node added, some parts at a time: (share of the parts done before, types [n,
    k], edges [n, k, k]).

    The new node is tied to the nodes of the part one by one, in every way in which two such nodes are tied somewhere.
    Candidates with three nodes that are connected as no three are in the set are dropped on the way.
    """
    whole = parts.tables[k - 1]
    table = whole if chosen is None else whole.take(chosen)
    known = Ties(parts, k)
    for begin in range(0, len(table), PARTS):
        own = table.take(np.arange(begin, min(begin + PARTS, len(table))))
        nodes, within = known.nodes(own), known.between(own)
        row, new = known.partners(nodes)
        ties = np.zeros((len(row), k - 1), np.int64)
        for i in range(k - 1):
            parent, tie = known.choices(nodes[row, i], new)
            row, new, ties = row[parent], new[parent], ties[parent]
            ties[:, i] = tie
            occurs = np.ones(len(row), np.bool_)
            for j in range(i):
                kinds = nodes[row, j], nodes[row, i], new
                occurs &= known.together(kinds, (within[row, j, i], ties[:, j], tie))
            row, new, ties = row[occurs], new[occurs], ties[occurs]
        tied = ties.any(1)
        row, new, ties = row[tied], new[tied], ties[tied]
        edges = np.zeros((len(row), k, k), np.uint8)
        edges[:, :-1, :-1] = own.edges[row]
        edges[:, :-1, -1], edges[:, -1, :-1] = np.divmod(ties, known.edge_types)
        types, edges[:, -1, -1] = np.divmod(known.kinds[new], known.edge_types)
        yield begin / len(table), np.column_stack([own.node_types[row], types]).astype(np.uint16), edges


class Ties:
    """The ways in which two nodes, and three, are tied in the parts that occur.

    The kind of a node is its type with its loop. A tie is the edge to the other node and the edge back, as one number;
    0: they are not adjacent.
    """

    def __init__(self, parts: Counts, k: int) -> None:
        pairs = parts.tables[2]
        self.edge_types = 1 + max(int(table.edges.max(initial=0)) for table in parts.tables.values())
        self.kinds = np.unique(self.kind_numbers(pairs))
        kinds, ties = self.nodes(pairs), self.between(pairs)
        ways = [
            np.stack([self.pair(kinds[:, i], kinds[:, j]), ties[:, i, j]], 1) for i, j in ((0, 1), (1, 0))
        ]
        pair, self.ties = np.unique(np.concatenate(ways), axis=0).T  # by pairs of kinds
        self.pairs, self.start, self.number = np.unique(pair, return_index=True, return_counts=True)
        self.triples = np.zeros(0, np.int64)
        if k > 3 and 3 in parts.tables:
            kinds, ties = self.nodes(parts.tables[3]), self.between(parts.tables[3])
            keys = [
                self.key(
                    (kinds[:, i], kinds[:, j], kinds[:, h]), (ties[:, i, j], ties[:, i, h], ties[:, j, h])
                )
                for i, j, h in permutations(range(3))
            ]
            self.triples = np.unique(keys)

    def kind_numbers(self, patterns: PatternTable) -> Ids:
        loops = np.diagonal(patterns.edges, axis1=1, axis2=2)
        return patterns.node_types.astype(np.int64) * self.edge_types + loops

    def nodes(self, patterns: PatternTable) -> Ids:
        """[n, k] the kind of each node, as a row of ``kinds``."""
        return np.searchsorted(self.kinds, self.kind_numbers(patterns))

    def between(self, patterns: PatternTable) -> Ids:
        """[n, k, k] the tie of each two nodes."""
        edges = patterns.edges.astype(np.int64)
        result: Ids = edges * self.edge_types + edges.transpose(0, 2, 1)
        return result

    def pair(self, first: Ids, second: Ids) -> Ids:
        """[n] two kinds as one number."""
        return first * len(self.kinds) + second

    def partners(self, nodes: Ids) -> tuple[Ids, Ids]:
        """(row, kind) of every row of nodes [n, k] and kind that is adjacent to one of them."""
        begin, end = (np.searchsorted(self.pairs, self.pair(nodes + more, 0 * nodes)) for more in (0, 1))
        node, which = expanded((end - begin).ravel())
        kinds = self.pairs[begin.ravel()[node] + which] % len(self.kinds)
        return tuple(np.unique([node // nodes.shape[1], kinds], axis=1))

    def choices(self, old: Ids, new: Ids) -> tuple[Ids, Ids]:
        """(row of the argument, tie) for all ways to tie two nodes [n], not to tie them among these."""
        pair = self.pair(old, new)
        place = np.searchsorted(self.pairs, pair).clip(max=len(self.pairs) - 1)
        number = np.where(self.pairs[place] == pair, self.number[place], 0)
        row, which = expanded(1 + number)
        tie = self.ties[np.minimum(self.start[place[row]] + which, len(self.ties) - 1)]
        return row, np.where(which < number[row], tie, 0)

    def together(self, kinds: tuple[Ids, Ids, Ids], ties: tuple[Ids, Ids, Ids]) -> NDArray[np.bool_]:
        """[n] whether three nodes are tied (first and second, first and third, second and third) as some are that
        occur, or not all connected.
        """
        if len(self.triples) == 0:
            return np.ones(len(kinds[0]), np.bool_)
        keys = self.key(kinds, ties)
        place = np.searchsorted(self.triples, keys).clip(max=len(self.triples) - 1)
        apart = np.count_nonzero(ties, axis=0) < 2
        result: NDArray[np.bool_] = apart | (self.triples[place] == keys)
        return result

    def key(self, kinds: tuple[Ids, Ids, Ids], ties: tuple[Ids, Ids, Ids]) -> Ids:
        """[n] all of it as one number. After an overflow two may share a number and one candidate more is examined."""
        result = np.zeros(len(kinds[0]), np.int64)
        for values, base in [(v, len(self.kinds)) for v in kinds] + [(v, self.edge_types**2) for v in ties]:
            result = result * base + values
        return result


def expanded(numbers: Ids) -> tuple[Ids, Ids]:
    """Each row repeated: (row, number of the repetition); `TooManyError` if there are more than `ROWS`.

    >>> [part.tolist() for part in expanded(np.array([2, 0, 1]))]
    [[0, 0, 2], [0, 1, 0]]
    """
    if numbers.sum() > ROWS:
        raise TooManyError
    row = np.repeat(np.arange(len(numbers)), numbers)
    return row, np.arange(len(row)) - (np.cumsum(numbers) - numbers)[row]

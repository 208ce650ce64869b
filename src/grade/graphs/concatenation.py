"""Several graph sets as one: vocabularies are joined by name, so that a type keeps its meaning."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.graphs.graph_set import MAX_EDGE_TYPES, MAX_NODE_TYPES, MAX_NODES, NO_EDGE, GraphSet
from grade.graphs.strings import StringTable


class Vocabulary:
    """Words in the order in which they were first met.

    >>> words = Vocabulary("node", 10)
    >>> words.places(("conv", "relu")), words.places(("add", "conv")), words.words
    (array([0, 1]), array([2, 0]), ['conv', 'relu', 'add'])
    """

    def __init__(self, kind: str, limit: int, words: Iterable[str] = ()) -> None:
        self.kind, self.limit = kind, limit
        self.words: list[str] = []
        self._place: dict[str, int] = {}
        self.places(tuple(words))

    def places(self, words: Sequence[str]) -> NDArray[np.int64]:
        """The place of each word; new ones are put at the end."""
        new = [word for word in dict.fromkeys(words) if word not in self._place]
        if len(self.words) + len(new) > self.limit:
            raise InputError(
                f"The graphs have more than {self.limit:,} {self.kind} types together; put less into the types,"
                " or build several sets."
            )
        for word in new:
            self._place[word] = len(self.words)
            self.words.append(word)
        return np.array([self._place[word] for word in words], np.int64)

    def cut(self, length: int) -> None:
        """Forget all words from this place on."""
        for word in self.words[length:]:
            del self._place[word]
        del self.words[length:]


def node_vocabulary(words: Iterable[str] = ()) -> Vocabulary:
    return Vocabulary("node", MAX_NODE_TYPES, words)


def edge_vocabulary(words: Iterable[str] = (NO_EDGE,)) -> Vocabulary:
    return Vocabulary("edge", MAX_EDGE_TYPES + 1, words)


def reindex(graphs: GraphSet, nodes: Vocabulary, edges: Vocabulary) -> GraphSet:
    """The same graphs with their types numbered as in these vocabularies, which take in the words they lack.

    The first word of an edge vocabulary names the absent edge, whatever it is.
    """
    if NO_EDGE in graphs.edge_vocabulary[1:]:
        raise InputError(
            f"{graphs.origin} has edges of the type {NO_EDGE!r}, which is the word for no edge; rename them."
        )
    node_place = nodes.places(graphs.node_vocabulary)
    edge_place = np.concatenate([[0], edges.places(graphs.edge_vocabulary[1:])])
    return replace(
        graphs,
        node_types=node_place[graphs.node_types].astype(np.uint16),
        out_types=edge_place[graphs.out_types].astype(np.uint8),
        in_types=edge_place[graphs.in_types].astype(np.uint8),
        node_vocabulary=tuple(nodes.words),
        edge_vocabulary=tuple(edges.words),
    )


def join(sets: Iterable[GraphSet], origin: str) -> GraphSet:
    """All graphs of several sets as one set.

    >>> one = GraphSet.from_edges(node_counts=[2], node_types=[0, 1], edge_counts=[1], edges=[[0, 1]],
    ...                           node_vocabulary=["conv", "relu"])
    >>> other = GraphSet.from_edges(node_counts=[1], node_types=[0], edge_counts=[0], edges=[],
    ...                             node_vocabulary=["relu"])
    >>> both = join([one, other], "both")
    >>> len(both), both.node_vocabulary, both.node_types.tolist()
    (2, ('conv', 'relu'), [0, 1, 1])
    """
    nodes, edges = node_vocabulary(), edge_vocabulary()
    parts = [reindex(graphs, nodes, edges) for graphs in sets]
    if not parts:
        nothing = GraphSet.from_edges(
            node_counts=[], node_types=[], edge_counts=[], edges=[], node_vocabulary=[]
        )
        parts = [reindex(nothing, nodes, edges)]
    shifts = np.cumsum([0, *(part.nodes for part in parts)])
    if shifts[-1] > MAX_NODES:
        raise InputError(f"{origin} would have more than {MAX_NODES:,} nodes; build several sets.")
    named = any(part.node_names is not None for part in parts)

    def offsets(name: str) -> NDArray[np.int64]:
        ends = np.cumsum([0, *(getattr(part, name)[-1] for part in parts)])
        tails = [getattr(part, name)[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
        return np.concatenate([np.zeros(1, np.int64), *tails])

    def ends(name: str) -> NDArray[np.uint32]:
        moved = [
            getattr(part, name) + np.uint32(shift) for part, shift in zip(parts, shifts[:-1], strict=True)
        ]
        return np.concatenate(moved).astype(np.uint32)

    def together(name: str) -> NDArray[np.uint8]:
        return np.concatenate([getattr(part, name) for part in parts])

    return GraphSet(
        node_offsets=offsets("node_offsets"),
        node_types=np.concatenate([part.node_types for part in parts]),
        out_offsets=offsets("out_offsets"),
        out_targets=ends("out_targets"),
        out_types=together("out_types"),
        in_offsets=offsets("in_offsets"),
        in_sources=ends("in_sources"),
        in_types=together("in_types"),
        node_vocabulary=tuple(nodes.words),
        edge_vocabulary=tuple(edges.words),
        graph_names=join_strings([part.graph_names for part in parts]),
        node_names=join_strings([names_of(part) for part in parts]) if named else None,
        origin=origin,
    )


def names_of(graphs: GraphSet) -> StringTable:
    """The names of all nodes; empty ones where they have none."""
    if graphs.node_names is not None:
        return graphs.node_names
    return StringTable(np.zeros(0, np.uint8), np.zeros(graphs.nodes + 1, np.int64))


def join_strings(tables: Sequence[StringTable]) -> StringTable:
    ends = np.cumsum([0, *(len(table.data) for table in tables)])
    tails = [table.offsets[1:] + end for table, end in zip(tables, ends[:-1], strict=True)]
    data = np.concatenate([np.zeros(0, np.uint8), *(table.data for table in tables)])
    return StringTable(data, np.concatenate([np.zeros(1, np.int64), *tails]))

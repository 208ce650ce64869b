"""Several graph sets as one: vocabularies are joined by name, so that a type keeps its meaning."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.graphs.checks import MAX_EDGE_TYPES, MAX_NODE_TYPES, MAX_NODES
from grade.graphs.graph_set import NO_EDGE, GraphSet
from grade.graphs.operands import MAX_WORDS, UNKNOWN
from grade.graphs.origins import Origins, join_origins
from grade.graphs.strings import StringTable


class Vocabulary:
    """Words in the order in which they were first met.

    >>> words = Vocabulary("node", 10)
    >>> words.places(("conv", "relu")), words.places(("add", "conv")), words.words
    (array([0, 1]), array([2, 0]), ['conv', 'relu', 'add'])
    """

    def __init__(self, kind: str, limit: int, words: Iterable[str] = (), forgets: bool = False) -> None:
        self.kind, self.limit, self.forgets = kind, limit, forgets
        self.words: list[str] = []
        self._place: dict[str, int] = {}
        self.places(tuple(words))

    def places(self, words: Sequence[str]) -> NDArray[np.int64]:
        """The place of each word; new ones are appended while there is room.

        A vocabulary that forgets gives the words that it has no room for the place 0.
        """
        new = [word for word in dict.fromkeys(words) if word not in self._place]
        if self.forgets:
            new = new[: self.limit - len(self.words)]
        if len(self.words) + len(new) > self.limit:
            raise InputError(
                f"The graphs have more than {self.limit:,} {self.kind} types together; put less into the types,"
                " or build several sets."
            )
        for word in new:
            self._place[word] = len(self.words)
            self.words.append(word)
        return np.array([self._place.get(word, 0) for word in words], np.int64)

    def cut(self, length: int) -> None:
        """Forget all words from this place on."""
        for word in self.words[length:]:
            del self._place[word]
        del self.words[length:]


def node_vocabulary(words: Iterable[str] = ()) -> Vocabulary:
    return Vocabulary("node", MAX_NODE_TYPES, words)


def edge_vocabulary(words: Iterable[str] = (NO_EDGE,)) -> Vocabulary:
    return Vocabulary("edge", MAX_EDGE_TYPES + 1, words)


def operand_vocabulary(words: Iterable[str] = (UNKNOWN,)) -> Vocabulary:
    return Vocabulary("operand", MAX_WORDS, words, forgets=True)


def reindex(
    graphs: GraphSet, nodes: Vocabulary, edges: Vocabulary, operands: Vocabulary | None = None
) -> GraphSet:
    """The same graphs with their types numbered as in these vocabularies; missing words are added.

    The first word of an edge vocabulary names the absent edge, whatever it is.
    """
    if NO_EDGE in graphs.edge_vocabulary[1:]:
        raise InputError(
            f"{graphs.origin} has edges of the type {NO_EDGE!r}, which is the word for no edge; rename them."
        )
    node_place = nodes.places(graphs.node_vocabulary)
    edge_place = np.concatenate([[0], edges.places(graphs.edge_vocabulary[1:])])
    in_operands, operand_words = graphs.in_operands, graphs.operand_vocabulary
    if operands is not None:
        place = operands.places(operand_words)
        operand_words = tuple(operands.words)
        in_operands = None if in_operands is None else place[in_operands].astype(np.uint16)
    return replace(
        graphs,
        node_types=node_place[graphs.node_types].astype(np.uint16),
        out_types=edge_place[graphs.out_types].astype(np.uint8),
        in_types=edge_place[graphs.in_types].astype(np.uint8),
        node_vocabulary=tuple(nodes.words),
        edge_vocabulary=tuple(edges.words),
        in_operands=in_operands,
        operand_vocabulary=operand_words,
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
    nodes, edges, operands = node_vocabulary(), edge_vocabulary(), operand_vocabulary()
    parts = [reindex(graphs, nodes, edges, operands) for graphs in sets]
    if not parts:
        nothing = GraphSet.from_edges(
            node_counts=[], node_types=[], edge_counts=[], edges=[], node_vocabulary=[]
        )
        parts = [reindex(nothing, nodes, edges, operands)]
    shifts = np.cumsum([0, *(part.nodes for part in parts)])
    if shifts[-1] > MAX_NODES:
        raise InputError(f"{origin} would have more than {MAX_NODES:,} nodes; build several sets.")

    def known(name: str) -> bool:
        return any(getattr(part, name) is not None for part in parts)

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
        graph_names=StringTable.joined([part.graph_names for part in parts]),
        node_names=StringTable.joined([names_of(part) for part in parts]) if known("node_names") else None,
        in_operands=np.concatenate([operands_of(part) for part in parts]) if known("in_operands") else None,
        operand_vocabulary=tuple(operands.words),
        graph_outputs=np.concatenate([part.outputs for part in parts]) if known("graph_outputs") else None,
        node_places=np.concatenate([places_of(part) for part in parts]) if known("node_places") else None,
        origins=join_origins([origins_of(part) for part in parts]) if known("origins") else None,
        origin=origin,
    )


def names_of(graphs: GraphSet) -> StringTable:
    """The names of all nodes; empty ones where they have none."""
    if graphs.node_names is not None:
        return graphs.node_names
    return StringTable(np.zeros(0, np.uint8), np.zeros(graphs.nodes + 1, np.int64))


def operands_of(graphs: GraphSet) -> NDArray[np.uint16]:
    """[edges] the operands of all edges; 0 where unknown."""
    return graphs.in_operands if graphs.in_operands is not None else np.zeros(graphs.edges, np.uint16)


def places_of(graphs: GraphSet) -> NDArray[np.uint32]:
    """[nodes] the places of all nodes in their files; their numbers where unknown."""
    if graphs.node_places is not None:
        return graphs.node_places
    first = np.repeat(graphs.node_offsets[:-1], graphs.node_counts)
    return (np.arange(graphs.nodes) - first).astype(np.uint32)


def origins_of(graphs: GraphSet) -> Origins:
    return graphs.origins if graphs.origins is not None else Origins.unknown(len(graphs))

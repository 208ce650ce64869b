"""Queries: patterns with wildcards, which may stand for many patterns.

A query has wildcards among its types, or need not be induced: then edges that it does not name may be there too. Its
occurrences are the node sets on which it fits in at least one way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.graphs.pattern_text import ParsedText, parse, usual_edge
from grade.graphs.patterns import MAX_SIZE, Pattern


@dataclass(frozen=True)
class Query:
    """A pattern with wildcards, or one that need not be induced.

    >>> Query("Conv* -> Relu").pattern(["Conv", "Relu"], ["none", "edge"]) is None
    True
    >>> Query("Conv -> Relu").pattern(["Conv", "Relu"], ["none", "edge"]).key
    'Conv -> Relu'
    """

    text: str
    induced: bool = True

    @cached_property
    def parsed(self) -> ParsedText:
        found = parse(self.text)
        if len(found.nodes) > MAX_SIZE:
            raise InputError(
                f"The pattern {self.text[:80]!r} has {len(found.nodes)} nodes; the most is {MAX_SIZE}."
            )
        return found

    @property
    def connected(self) -> bool:
        """Whether every node is reached from the first one, directions aside.

        >>> Query("a -> b; b -> c").connected, Query("a -> b; c -> d").connected
        (True, False)
        """
        reached = {0}
        for _ in self.parsed.nodes:
            for i, j, _kind in self.parsed.edges:
                if i in reached or j in reached:
                    reached |= {i, j}
        return len(reached) == self.size

    @property
    def size(self) -> int:
        return len(self.parsed.nodes)

    def __str__(self) -> str:
        return self.text

    def pattern(self, node_vocabulary: Sequence[str], edge_vocabulary: Sequence[str]) -> Pattern | None:
        """The one pattern that it stands for; None where it stands for several.

        Its types are those of the vocabularies, where they have them all; of vocabularies of its own otherwise.
        """
        parsed = self.parsed
        kinds = [kind if kind is not None else usual_edge(edge_vocabulary) for _, _, kind in parsed.edges]
        if parsed.wild or not self.induced or any(kind.wild for kind in kinds):
            return None
        nodes = own_or_given([node.name for node in parsed.nodes], node_vocabulary)
        arcs = own_or_given([kind.name for kind in kinds], edge_vocabulary[1:])
        edges = np.zeros((len(parsed.nodes),) * 2, np.int64)
        for (i, j, _), kind in zip(parsed.edges, kinds, strict=True):
            edges[i, j] = 1 + arcs.index(kind.name)
        none = edge_vocabulary[0] if edge_vocabulary else "none"
        types = [nodes.index(node.name) for node in parsed.nodes]
        return Pattern.of(types, edges, nodes, (none, *arcs))

    def choices(
        self, node_vocabulary: Sequence[str], edge_vocabulary: Sequence[str]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """([k, types] whether a node may be of a type, [k, k, 256] whether an edge may be; 0 is no edge)."""
        parsed = self.parsed
        nodes = np.array(
            [[node.matches(name) for name in node_vocabulary] for node in parsed.nodes], np.uint8
        ).reshape(self.size, len(node_vocabulary))
        edges = np.zeros((self.size, self.size, 256), np.uint8)
        edges[:, :, 0] = 1
        if not self.induced:
            edges[:] = 1
        for i, j, kind in parsed.edges:
            wanted = kind if kind is not None else usual_edge(edge_vocabulary)
            edges[i, j] = 0
            for number, name in enumerate(edge_vocabulary[1:], start=1):
                edges[i, j, number] = wanted.matches(name)
        return nodes, edges

    def unknown(self, node_vocabulary: Sequence[str], edge_vocabulary: Sequence[str]) -> list[str]:
        """Its types that no type of the vocabularies matches."""
        kinds = [kind for _, _, kind in self.parsed.edges if kind is not None]
        return [
            *(node.name for node in self.parsed.nodes if not any(map(node.matches, node_vocabulary))),
            *(kind.name for kind in kinds if not any(map(kind.matches, edge_vocabulary[1:]))),
        ]


def own_or_given(names: Sequence[str], vocabulary: Sequence[str]) -> tuple[str, ...]:
    """The vocabulary, if it has all names; the names themselves otherwise."""
    return tuple(vocabulary) if set(names) <= set(vocabulary) else tuple(sorted(set(names)))

"""The grammar of a graph set: symbols for regions that repeat, and every graph as a list of units.

A unit is a region of one graph that edges leave from one node only. Its symbol is its isomorphism class, with the types
of nodes and edges and, where the set has them, operand positions. The native core merges units pair by pair
(native/blocks.hpp); this module holds the result, and the way back: `Grammar.inlined` gives the set again, exactly.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.graph_set import offsets_of
from grade.graphs.strings import ranges
from grade.progress import Progress

NO_LIMIT = 2**32 - 1
NOTHING = 2**32 - 1  # the parts of a single node, the level of a node on a cycle


# Operators of two operands that can change places without changing the result, bit by bit.
COMMUTATIVE = {"add", "mul", "and", "or", "xor", "equal", "max", "min", "eq", "ne", "maximum", "minimum"}
COMMUTATIVE |= {
    f"{kind}{name}" for kind in ("logical_", "bitwise_", "bitwise") for name in ("and", "or", "xor")
}


@dataclass(frozen=True, eq=False)
class Wiring:
    """A graph set as arrays for the core: equal numbers for equal nodes and edges. Edges by target, then source."""

    node_offsets: NDArray[np.int64]  # [graphs + 1]
    types: NDArray[np.uint32]  # [nodes]
    sources: NDArray[np.uint32]  # [edges], global node ids
    targets: NDArray[np.uint32]  # [edges]
    labels: NDArray[np.uint32]  # [edges]
    closed: NDArray[np.bool_]  # [nodes] needed outside of the graph
    type_names: tuple[str, ...]
    label_names: tuple[tuple[str, str], ...]  # edge type, operand word
    graph_names: Sequence[str]

    @classmethod
    def of(cls, graphs: GraphSet, operands: bool = True, outputs: int = 1) -> "Wiring":
        """Types are numbered by name, so that results do not depend on the order of a vocabulary.

        Operand places tell edges apart where the set knows them, except those into an operator whose operands can
        change places. Where blocks may have several outputs, graph outputs are of types of their own.
        """
        targets = np.repeat(np.arange(graphs.nodes, dtype=np.uint32), np.diff(graphs.in_offsets))
        words = graphs.operand_vocabulary
        places = np.zeros(graphs.edges, np.int64)
        if operands and graphs.in_operands is not None:
            places = graphs.in_operands.astype(np.int64)
            commutes = np.array([base_name(name) in COMMUTATIVE for name in graphs.node_vocabulary], np.bool_)
            free = tuple("+".join(re.sub(r"\d+$", "*", arc) for arc in word.split("+")) for word in words)
            places[commutes[graphs.node_types[targets]]] += len(words)
            words = (*words, *free)
        kinds = graphs.in_types.astype(np.int64) * len(words) + places
        met, labels = np.unique(kinds, return_inverse=True)
        names = [
            (graphs.edge_vocabulary[kind // len(words)], words[kind % len(words)]) for kind in met.tolist()
        ]
        distinct = sorted(set(names))
        number = np.array([distinct.index(name) for name in names], np.uint32)
        closed = graphs.outputs & (np.diff(graphs.out_offsets) > 0)
        types, type_names = (
            rank(graphs.node_vocabulary)[graphs.node_types],
            tuple(sorted(graphs.node_vocabulary)),
        )
        if outputs > 1:
            types, type_names = types + len(type_names) * closed, (*type_names, *type_names)
        return cls(
            graphs.node_offsets,
            types.astype(np.uint32),
            graphs.in_sources,
            targets,
            number[labels] if len(names) else np.zeros(0, np.uint32),
            closed,
            type_names,
            tuple(distinct),
            graphs.graph_names,
        )


def base_name(type_name: str) -> str:
    """An operator's name without domain, overload and attributes, in small letters.

    >>> base_name("com.microsoft::FusedConv[group=1]"), base_name("aten.add"), base_name("Conv")
    ('fusedconv', 'add', 'conv')
    """
    return type_name.partition("[")[0].rpartition("::")[2].rpartition(".")[2].lower()


def rank(words: Sequence[str]) -> NDArray[np.int64]:
    """[words] the place of each in alphabetical order.

    >>> rank(("b", "a", "c"))
    array([1, 0, 2])
    """
    places = np.empty(len(words), np.int64)
    places[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
    return places


@dataclass(frozen=True, eq=False)
class Grammar:
    """Symbols and units.

    Symbols below ``types`` are single nodes. Other symbols have two parts, and the one that has the root reads the
    other; or are repetitions: ``copies`` of ``first``, each of which reads the one before it. Only the root is
    read, unless blocks may have several outputs.
    The nodes of a symbol are numbered by place: those of the first part, then those of the second. A unit lists its
    nodes by place, so that the same place is the same role in each unit of a symbol.
    """

    wiring: Wiring
    types: int
    first: NDArray[np.int64]  # [symbols] parts
    second: NDArray[np.int64]
    copies: NDArray[np.int64]  # [symbols] 0 where it is no repetition
    sizes: NDArray[np.int64]  # [symbols] nodes
    roots: NDArray[np.int64]  # [symbols] place of the root
    read_offsets: NDArray[np.int64]  # [symbols + 1]
    reads: NDArray[np.uint32]  # [reads, 3] place in the part that is read, in the one that reads, edge label
    labels: NDArray[np.int64]  # [units] symbols
    offsets: NDArray[np.int64]  # [units + 1] into order
    order: NDArray[np.uint32]  # [nodes] the nodes of each unit by place; units by graph
    levels: NDArray[np.uint32]  # [nodes] longest path from a source

    @property
    def symbols(self) -> int:
        return len(self.sizes)

    @cached_property
    def graph_of_unit(self) -> NDArray[np.int64]:
        """[units] the graph that each lies in."""
        starts = self.order[self.offsets[:-1]].astype(np.int64)
        return np.searchsorted(self.wiring.node_offsets, starts, side="right") - 1

    @cached_property
    def unit_of(self) -> NDArray[np.int64]:
        """[nodes] the unit of each."""
        units = np.empty(len(self.order), np.int64)
        units[self.order] = np.repeat(np.arange(len(self.labels)), np.diff(self.offsets))
        return units

    @cached_property
    def between(self) -> NDArray[np.bool_]:
        """[edges] whether an edge leads from one unit to another. All others follow from the symbols."""
        return np.asarray(self.unit_of[self.wiring.sources] != self.unit_of[self.wiring.targets])

    def structure(self, symbol: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Node types [size] and edges [edges, 3] (place, place, label) of a symbol, by inlining its rules."""
        types = np.empty(self.sizes[symbol], np.int64)
        edges: list[NDArray[np.int64]] = []
        waiting = [(symbol, 0)]
        while waiting:
            part, begin = waiting.pop()
            if part < self.types:
                types[begin] = part
                continue
            reads = self.reads[self.read_offsets[part] : self.read_offsets[part + 1]].astype(np.int64)
            first, size = int(self.first[part]), int(self.sizes[self.first[part]])
            if self.copies[part]:
                links = [(begin + i * size, begin + (i - 1) * size) for i in range(1, self.copies[part])]
                waiting += [(first, begin + i * size) for i in range(self.copies[part])]
            else:
                waiting += [(first, begin), (int(self.second[part]), begin + size)]
                below = self.roots[part] < size  # the first part has the root and reads the second
                links = [(begin, begin + size) if below else (begin + size, begin)]
            edges += [reads + np.array([read, reader, 0], np.int64) for reader, read in links]
        return types, np.concatenate(edges) if edges else np.empty((0, 3), np.int64)

    def inlined(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Types [nodes] and edges [edges, 3] (source, target, label) of the whole set, by target and source:
        from the symbols of the units and the edges between units alone.
        """
        wiring = self.wiring
        types = np.empty(len(self.order), np.uint32)
        outer = np.stack([wiring.sources, wiring.targets, wiring.labels], axis=1).astype(np.int64)
        edges = [outer[self.between]]
        for symbol in np.unique(self.labels):
            inner_types, inner = self.structure(int(symbol))
            units = np.flatnonzero(self.labels == symbol)
            nodes = self.order[ranges(self.offsets[units], np.full(len(units), self.sizes[symbol]))]
            nodes = nodes.reshape(len(units), -1).astype(np.int64)
            types[nodes] = inner_types
            labels = np.broadcast_to(inner[:, 2], (len(units), len(inner)))
            edges.append(
                np.stack([nodes[:, inner[:, 0]], nodes[:, inner[:, 1]], labels], axis=2).reshape(-1, 3)
            )
        found = np.concatenate(edges)
        return types, found[np.lexsort((found[:, 0], found[:, 1]))]


Lists = tuple[
    NDArray[np.int64],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.int64],
    NDArray[np.uint32],
    NDArray[np.uint32],
]


def both_lists(wiring: Wiring) -> Lists:
    """Lists of neighbours as the core takes them: offsets, other ends and labels of edges out, then of edges in."""
    order = np.argsort(wiring.sources, kind="stable")
    nodes = len(wiring.types)
    return (
        offsets_of(wiring.sources[order].astype(np.int64), nodes),
        wiring.targets[order],
        wiring.labels[order],
        offsets_of(wiring.targets.astype(np.int64), nodes),
        wiring.sources,
        wiring.labels,
    )


def levels_of(wiring: Wiring) -> NDArray[np.uint32]:
    """[nodes] longest path from a source."""
    lists = both_lists(wiring)
    return _core.block_levels(lists[0], lists[1], lists[3])


def isomorphism_classes(wiring: Wiring) -> NDArray[np.uint32]:
    """[graphs] numbers that are equal for isomorphic graphs of a set, found by exact comparison."""
    return _core.graph_classes(wiring.node_offsets, wiring.types, *both_lists(wiring))


def make_grammar(
    wiring: Wiring,
    min_count: int = 2,
    min_graphs: int = 1,
    max_size: int | None = None,
    outputs: int = 1,
    progress: Progress | None = None,
) -> Grammar:
    """Merge units until nothing occurs often enough. For ``outputs`` above 1 the wiring must be made for that."""
    try:
        made: dict[str, Any] = _core.block_grammar(
            wiring.node_offsets,
            wiring.types,
            *both_lists(wiring),
            wiring.closed.astype(np.uint8),
            min(min_count, NO_LIMIT),  # no set has more of anything
            min(min_graphs, NO_LIMIT),
            NO_LIMIT if max_size is None else min(max_size, NO_LIMIT),
            min(outputs, NO_LIMIT),
            progress,
        )
    except ValueError as error:
        node = int(str(error).rpartition(" ")[2])
        graph = int(np.searchsorted(wiring.node_offsets, node, side="right")) - 1
        raise InputError(
            f"The graph {wiring.graph_names[graph]!r} has a directed cycle; blocks are regions of acyclic graphs,"
            " so leave it out or cut the cycle."
        ) from None
    return Grammar(
        wiring=wiring,
        types=int(np.flatnonzero(made["size"] > 1)[0]) if (made["size"] > 1).any() else len(made["size"]),
        first=made["first"].astype(np.int64),
        second=made["second"].astype(np.int64),
        copies=made["copies"].astype(np.int64),
        sizes=made["size"].astype(np.int64),
        roots=made["root"].astype(np.int64),
        read_offsets=made["read_offsets"].astype(np.int64),
        reads=made["reads"].reshape(-1, 3),
        labels=made["unit_labels"].astype(np.int64),
        offsets=made["unit_offsets"].astype(np.int64),
        order=made["order"],
        levels=made["levels"],
    )

"""GraphSet: many directed, typed graphs as one concatenated compressed sparse row (CSR) structure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grade import _core
from grade.errors import InputError
from grade.frames import to_pandas
from grade.graphs.checks import (
    check_edges,
    check_lengths,
    check_nodes,
    check_vocabularies,
    checked_annotations,
    integers,
    refuse_in_graph,
)
from grade.graphs.in_pieces import give_back, pieces
from grade.graphs.operands import UNKNOWN, Arc, arcs_of
from grade.graphs.origins import Origins
from grade.graphs.stored_arrays import DTYPES, PLACES, STRUCTURE, arrays_of, checksum, digest_of
from grade.graphs.strings import StringTable, ranges
from grade.machine import thread_count
from grade.reprs import shown_by

NO_EDGE = "none"


@dataclass(frozen=True, eq=False)
class GraphSet:
    """An immutable set of directed graphs with typed nodes and typed edges.

    Nodes of all graphs are numbered consecutively (global ids); graph g owns the ids ``node_offsets[g] ..
    node_offsets[g + 1] - 1``. Cycles, self-loops, isolated nodes and empty graphs are legal; two edges with the same
    source and target are not. Edge type 0 means "no edge", so stored types start at 1.

    Besides its structure a set may have annotations: operand places of edges (`operands`), graph outputs (`outputs`),
    names and places of nodes in their files, and the files themselves (`origins`). Counting, matching and the identity
    of patterns ignore them.

    Make one with `GraphSet.from_edges`, which validates; the constructor trusts its arrays.

    Examples
    --------
    >>> graphs = GraphSet.from_edges(
    ...     node_counts=[3, 2], node_types=[0, 1, 1, 0, 1], edges=[[0, 1], [1, 2], [0, 1]], edge_counts=[2, 1],
    ...     node_vocabulary=["input", "conv"], graph_names=["a", "b"])
    >>> len(graphs), graphs.nodes, graphs.edges
    (2, 5, 3)
    >>> graphs.successors(0), graphs.graph_of(4)
    (array([1], dtype=uint32), 1)
    >>> graphs.subset([1]).edge_list(0)
    array([[0, 1]])
    """

    node_offsets: NDArray[np.int64]  # [graphs + 1]
    node_types: NDArray[np.uint16]  # [nodes]
    out_offsets: NDArray[np.int64]  # [nodes + 1]
    out_targets: NDArray[np.uint32]  # [edges], global ids, ascending within a node
    out_types: NDArray[np.uint8]  # [edges], 1 ...
    in_offsets: NDArray[np.int64]  # [nodes + 1]
    in_sources: NDArray[np.uint32]  # [edges], global ids, ascending within a node
    in_types: NDArray[np.uint8]  # [edges], 1 ...
    node_vocabulary: tuple[str, ...]
    edge_vocabulary: tuple[str, ...]  # [0] names the absence of an edge
    graph_names: StringTable
    node_names: StringTable | None = None
    in_operands: NDArray[np.uint16] | None = (
        None  # [edges] in the order of in_sources: words of operand_vocabulary
    )
    operand_vocabulary: tuple[str, ...] = (UNKNOWN,)  # `grade.graphs.operands`; [0]: nothing is known
    graph_outputs: NDArray[np.bool_] | None = None  # [nodes]; None where the source does not tell
    node_places: NDArray[np.uint32] | None = None  # [nodes] places in their files; None: as numbered here
    origins: Origins | None = None  # the files
    origin: str = field(default="")  # where the set came from, for messages and reports
    folder: str = field(default="")  # the folder that it was opened from
    # Checksums of its arrays in that folder. Not for `dataclasses.replace` to hand on: it may change the arrays.
    stored: Mapping[str, str] = field(default_factory=dict, init=False)

    @classmethod
    def from_edges(
        cls,
        *,
        node_counts: ArrayLike,
        node_types: ArrayLike,
        edge_counts: ArrayLike,
        edges: ArrayLike,
        node_vocabulary: Sequence[str],
        edge_types: ArrayLike | None = None,
        edge_vocabulary: Sequence[str] = (NO_EDGE, "edge"),
        graph_names: Sequence[str] | None = None,
        node_names: Sequence[str] | None = None,
        operands: ArrayLike | None = None,
        operand_vocabulary: Sequence[str] = (UNKNOWN,),
        outputs: ArrayLike | None = None,
        node_places: ArrayLike | None = None,
        origin: str = "graph set",
    ) -> "GraphSet":
        """Build and validate a set from per-graph node counts and edges in graph-local node numbers.

        Parameters
        ----------
        node_counts, edge_counts
            [graphs] integers
        node_types
            [nodes] integers below ``len(node_vocabulary)``
        edges
            [edges, 2] integers, (source, target) local to their graph
        edge_types
            [edges] integers from 1 to ``len(edge_vocabulary) - 1``; all 1 when left out
        operands, outputs, node_places
            [edges] operands that each edge feeds, as numbers in ``operand_vocabulary``; [nodes] whether a node is a
            graph output; [nodes] its place in its file
        """
        node_count = integers(node_counts, "node_counts", origin)
        edge_count = integers(edge_counts, "edge_counts", origin)
        types = integers(node_types, "node_types", origin)
        arcs = integers(edges, "edges", origin).reshape(-1, 2)
        kinds = (
            np.ones(len(arcs), np.int64) if edge_types is None else integers(edge_types, "edge_types", origin)
        )
        names = StringTable.from_strings(
            graph_names if graph_names is not None else (f"graph-{i}" for i in range(len(node_count)))
        )
        labels = None if node_names is None else StringTable.from_strings(node_names)

        check_lengths(origin, node_count, edge_count, names, types, arcs, kinds, labels)
        vocabularies = {"node": node_vocabulary, "edge": edge_vocabulary, "operand": operand_vocabulary}
        places, ends, numbers = checked_annotations(
            len(types), len(arcs), operands, operand_vocabulary, outputs, node_places, origin
        )
        check_vocabularies(origin, vocabularies)
        node_offsets = np.concatenate([[0], np.cumsum(node_count)]).astype(np.int64)
        graph_of_edge = np.repeat(np.arange(len(node_count)), edge_count)
        refuse = partial(refuse_in_graph, origin, names)
        check_nodes(types, np.repeat(np.arange(len(node_count)), node_count), len(node_vocabulary), refuse)
        check_edges(arcs, kinds, graph_of_edge, node_count, len(edge_vocabulary), refuse)
        source = arcs[:, 0] + node_offsets[graph_of_edge]
        target = arcs[:, 1] + node_offsets[graph_of_edge]
        out_order = np.lexsort((target, source))
        source, target, kinds = source[out_order], target[out_order], kinds[out_order]
        bad = np.concatenate([[False], (source[1:] == source[:-1]) & (target[1:] == target[:-1])])
        if bad.any():
            edge = arcs[out_order][bad][0].tolist()
            raise refuse(bad, graph_of_edge[out_order], f"the edge {edge} twice; merge parallel edges first.")
        in_order = np.lexsort((source, target))
        return cls(
            node_offsets=node_offsets,
            node_types=types.astype(np.uint16),
            out_offsets=offsets_of(source, len(types)),
            out_targets=target.astype(np.uint32),
            out_types=kinds.astype(np.uint8),
            in_offsets=offsets_of(target[in_order], len(types)),
            in_sources=source[in_order].astype(np.uint32),
            in_types=kinds[in_order].astype(np.uint8),
            node_vocabulary=tuple(node_vocabulary),
            edge_vocabulary=tuple(edge_vocabulary),
            graph_names=names,
            node_names=labels,
            in_operands=None if places is None else places[out_order][in_order].astype(np.uint16),
            operand_vocabulary=tuple(operand_vocabulary),
            graph_outputs=None if ends is None else ends.astype(np.bool_),
            node_places=None if numbers is None else numbers.astype(np.uint32),
            origin=origin,
        )

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    def __repr__(self) -> str:
        return f"GraphSet({self.origin!r}: {len(self):,} graphs, {self.nodes:,} nodes, {self.edges:,} edges)"

    _repr_html_ = shown_by("grade.report.notebook", "graphs_html")

    def columns(self) -> dict[str, list[Any]]:
        """The graphs column by column: their names and sizes."""
        sizes = {"nodes": self.node_counts.tolist(), "edges": self.edge_counts.tolist()}
        return {"graph": list(self.graph_names), **sizes}

    def to_pandas(self) -> Any:
        """The graphs with their sizes as a pandas.DataFrame."""
        return to_pandas(self.columns())

    @property
    def nodes(self) -> int:
        """Number of nodes of all graphs."""
        return len(self.node_types)

    @property
    def edges(self) -> int:
        """Number of edges of all graphs."""
        return len(self.out_targets)

    @property
    def node_counts(self) -> NDArray[np.int64]:
        """[graphs] number of nodes of each graph."""
        return np.diff(self.node_offsets)

    @property
    def edge_counts(self) -> NDArray[np.int64]:
        """[graphs] number of edges of each graph."""
        return np.diff(self.out_offsets[self.node_offsets])

    @property
    def largest(self) -> int:
        """Number of nodes of the largest graph; 0 for an empty set."""
        return int(self.node_counts.max(initial=0))

    @cached_property
    def fusible_index(self) -> _core.FusibleIndex:
        """The index for deciding which node sets can be fused into one operator (native/fusible.hpp)."""
        known = self.graph_outputs
        return _core.FusibleIndex(
            self.core, np.zeros(0, np.uint8) if known is None else known.astype(np.uint8)
        )

    @cached_property
    def core(self) -> _core.Graph:
        """The native core's view of the set; built once, shared by all threads.

        A set that was opened from a folder has only its outlines checked there; here is every index.
        """
        try:
            if self.nodes and self.node_types.max() >= len(self.node_vocabulary):
                raise ValueError("a node type is not in the vocabulary")
            if self.edges and self.out_types.max() >= len(self.edge_vocabulary):
                raise ValueError("an edge type is not in the vocabulary")
            core = _core.Graph(
                self.node_offsets,
                self.node_types,
                self.out_offsets,
                self.out_targets,
                self.out_types,
                self.in_offsets,
                self.in_sources,
                self.in_types,
                thread_count(None),
            )
            for name in STRUCTURE:  # mapped arrays have been read; most work needs the core alone
                give_back(getattr(self, name))
            return core
        except ValueError as error:
            raise self.damaged(str(error)) from error

    def check(self) -> "GraphSet":
        """The set itself, after its files have been compared with their checksums and every index has been checked."""
        self.check_files()
        try:
            for _ in pieces(self, thread_count(None)):
                pass
        except ValueError as error:
            raise self.damaged(str(error)) from error
        return self

    def check_files(self) -> None:
        """Compare all arrays with the checksums that were saved with them."""
        for name, array in arrays_of(self).items():
            expected = self.stored.get(name)
            if expected and name not in PLACES and checksum(array, DTYPES[name]) != expected:
                raise self.damaged(f"{name}.npy does not match its checksum")
            give_back(array)
        if self.in_operands is not None and self.in_operands.max(initial=0) >= len(self.operand_vocabulary):
            raise self.damaged("an operand is not in the vocabulary")

    def damaged(self, what: str) -> InputError:
        return InputError(f"The graph set {self.folder or self.origin} is damaged ({what}); build it again.")

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all arrays, names and vocabularies: equal exactly for equal content.

        An opened set takes it from the checksums that were saved with it.
        """
        checksums = self.stored or {
            name: checksum(array, DTYPES[name]) for name, array in arrays_of(self).items()
        }
        return digest_of(checksums, self.vocabularies)

    @property
    def vocabularies(self) -> dict[str, tuple[str, ...]]:
        """The words of node types, edge types and operands."""
        return {
            "node_vocabulary": self.node_vocabulary,
            "edge_vocabulary": self.edge_vocabulary,
            "operand_vocabulary": self.operand_vocabulary,
        }

    @cached_property
    def outputs(self) -> NDArray[np.bool_]:
        """[nodes] whether a node is an output of its graph; where unknown, whether nothing reads it."""
        return self.graph_outputs if self.graph_outputs is not None else np.diff(self.out_offsets) == 0

    def operands(self, node: int) -> list[tuple[Arc, int]]:
        """(arc, global id of the producer) for all arcs into a node whose operand is known, in the order of operands.

        Examples
        --------
        >>> graphs = GraphSet.from_edges(
        ...     node_counts=[3], node_types=[0, 0, 1], edges=[[0, 2], [1, 2]], edge_counts=[2],
        ...     operands=[1, 2], operand_vocabulary=["", "1", "0"], node_vocabulary=["conv", "sub"])
        >>> graphs.operands(2)
        [(Arc(operand=0, result=0), 1), (Arc(operand=1, result=0), 0)]
        """
        if self.in_operands is None:
            return []
        edges = slice(self.in_offsets[node], self.in_offsets[node + 1])
        pairs = zip(self.in_operands[edges].tolist(), self.in_sources[edges].tolist(), strict=True)
        return sorted(
            (arc, source) for word, source in pairs for arc in arcs_of(self.operand_vocabulary[word])
        )

    def successors(self, node: int) -> NDArray[np.uint32]:
        """Global ids of the targets of a node's outgoing edges, ascending."""
        return self.out_targets[self.out_offsets[node] : self.out_offsets[node + 1]]

    def predecessors(self, node: int) -> NDArray[np.uint32]:
        """Global ids of the sources of a node's incoming edges, ascending."""
        return self.in_sources[self.in_offsets[node] : self.in_offsets[node + 1]]

    def graph_of(self, node: int) -> int:
        """The graph that owns a global node id."""
        return int(np.searchsorted(self.node_offsets, node, side="right")) - 1

    def graphs_of(self, nodes: NDArray[Any]) -> NDArray[np.int64]:
        """The graphs that own these global node ids."""
        return np.searchsorted(self.node_offsets, nodes, side="right") - 1

    def edge_list(self, graph: int) -> NDArray[np.int64]:
        """[edges, 2] edges of one graph in its local node numbers."""
        begin, end = self.node_offsets[graph], self.node_offsets[graph + 1]
        degrees = np.diff(self.out_offsets[begin : end + 1])
        sources = np.repeat(np.arange(end - begin), degrees)
        targets = self.out_targets[self.out_offsets[begin] : self.out_offsets[end]].astype(np.int64) - begin
        return np.stack([sources, targets], axis=1)

    def edge_types_of(self, graph: int) -> NDArray[np.uint8]:
        """[edges] types of the edges of one graph, in the order of `edge_list`."""
        begin, end = self.node_offsets[graph], self.node_offsets[graph + 1]
        return self.out_types[self.out_offsets[begin] : self.out_offsets[end]]

    def renamed(self, graph_names: Sequence[str]) -> "GraphSet":
        """The same graphs under other names."""
        return replace(self, graph_names=StringTable.from_strings(graph_names))

    def operand_words(self, graph: int) -> list[str]:
        """[edges] the operand words of the edges of one graph, in the order of `edge_list`."""
        begin, end = self.node_offsets[graph], self.node_offsets[graph + 1]
        edges = slice(self.in_offsets[begin], self.in_offsets[end])
        words = np.zeros(edges.stop - edges.start, np.int64)
        if self.in_operands is not None:
            targets = np.repeat(np.arange(end - begin), np.diff(self.in_offsets[begin : end + 1]))
            words = self.in_operands[edges][np.lexsort((targets, self.in_sources[edges]))].astype(np.int64)
        return [self.operand_vocabulary[word] for word in words.tolist()]

    def slice(self, first: int, last: int) -> "GraphSet":
        """The set of the graphs first .. last - 1: as `subset`, but nothing of the others is looked at.

        Examples
        --------
        >>> graphs = GraphSet.from_edges(
        ...     node_counts=[3, 2], node_types=[0, 1, 1, 0, 1], edges=[[0, 1], [1, 2], [0, 1]], edge_counts=[2, 1],
        ...     node_vocabulary=["input", "conv"])
        >>> graphs.slice(1, 2).digest == graphs.subset([1]).digest
        True
        """
        nodes = slice(int(self.node_offsets[first]), int(self.node_offsets[last]))
        edges = [
            slice(int(offsets[nodes.start]), int(offsets[nodes.stop]))
            for offsets in (self.out_offsets, self.in_offsets)
        ]
        out, into = edges
        some = slice(first, last)
        return GraphSet(
            node_offsets=self.node_offsets[first : last + 1] - nodes.start,
            node_types=self.node_types[nodes],
            out_offsets=self.out_offsets[nodes.start : nodes.stop + 1] - out.start,
            out_targets=self.out_targets[out] - np.uint32(nodes.start),
            out_types=self.out_types[out],
            in_offsets=self.in_offsets[nodes.start : nodes.stop + 1] - into.start,
            in_sources=self.in_sources[into] - np.uint32(nodes.start),
            in_types=self.in_types[into],
            node_vocabulary=self.node_vocabulary,
            edge_vocabulary=self.edge_vocabulary,
            graph_names=self.graph_names[some],
            node_names=None if self.node_names is None else self.node_names[nodes],
            in_operands=None if self.in_operands is None else self.in_operands[into],
            operand_vocabulary=self.operand_vocabulary,
            graph_outputs=None if self.graph_outputs is None else self.graph_outputs[nodes],
            node_places=None if self.node_places is None else self.node_places[nodes],
            origins=None if self.origins is None else self.origins.take(np.arange(first, last)),
            origin=self.origin,
        )

    def subset(self, graphs: ArrayLike) -> "GraphSet":
        """The set of these graphs only, in this order; the vocabularies stay as they are."""
        chosen = integers(graphs, "graph numbers", self.origin)
        if ((chosen < -len(self)) | (chosen >= len(self))).any():
            raise InputError(f"{self.origin}: a graph number is outside 0 to {len(self) - 1}.")
        chosen = chosen % max(len(self), 1)
        counts = self.node_counts[chosen]
        nodes = ranges(self.node_offsets[chosen], counts)
        node_offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        shift = np.repeat(node_offsets[:-1] - self.node_offsets[chosen], counts)

        def take(
            offsets: NDArray[np.int64], ends: NDArray[np.uint32]
        ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
            """Offsets and ends of the edges of these nodes, and where those edges were."""
            degrees = np.diff(offsets)[nodes]
            index = ranges(offsets[:-1][nodes], degrees)
            moved = (ends[index].astype(np.int64) + np.repeat(shift, degrees)).astype(np.uint32)
            return np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64), moved, index

        out_offsets, out_targets, out_edges = take(self.out_offsets, self.out_targets)
        in_offsets, in_sources, in_edges = take(self.in_offsets, self.in_sources)
        return GraphSet(
            node_offsets=node_offsets,
            node_types=self.node_types[nodes],
            out_offsets=out_offsets,
            out_targets=out_targets,
            out_types=self.out_types[out_edges],
            in_offsets=in_offsets,
            in_sources=in_sources,
            in_types=self.in_types[in_edges],
            node_vocabulary=self.node_vocabulary,
            edge_vocabulary=self.edge_vocabulary,
            graph_names=self.graph_names.take(chosen),
            node_names=None if self.node_names is None else self.node_names.take(nodes),
            in_operands=None if self.in_operands is None else self.in_operands[in_edges],
            operand_vocabulary=self.operand_vocabulary,
            graph_outputs=None if self.graph_outputs is None else self.graph_outputs[nodes],
            node_places=None if self.node_places is None else self.node_places[nodes],
            origins=None if self.origins is None else self.origins.take(chosen),
            origin=self.origin,
        )


def offsets_of(sorted_owners: NDArray[np.int64], owners: int) -> NDArray[np.int64]:
    """CSR offsets [owners + 1] of a sorted list of owners.

    Examples
    --------
    >>> offsets_of(np.array([0, 0, 2]), 3)
    array([0, 2, 2, 3])
    """
    return np.searchsorted(sorted_owners, np.arange(owners + 1)).astype(np.int64)

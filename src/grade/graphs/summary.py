"""A graph set in numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grade.graphs.digests import structure_digests
from grade.graphs.graph_set import GraphSet
from grade.graphs.in_pieces import Piece, pieces
from grade.machine import thread_count

HUBS = 5  # how many nodes of large degree are named


@dataclass(frozen=True)
class Summary:
    """The figures that `grade graphs info` prints; field names are the keys of its JSON."""

    set: str
    graphs: int
    nodes: int
    edges: int
    node_types: dict[str, int]  # nodes of each type that occurs, most frequent first
    edge_types: dict[str, int]  # edges of each type that occurs, most frequent first
    largest_graph: int  # nodes
    largest_graph_name: str
    mean_graph: float  # nodes
    mean_degree: float
    largest_degree: int  # edges that enter or leave one node; a self-loop does both
    largest_in_degree: int
    largest_out_degree: int
    degrees: dict[str, int]  # nodes by degree, in ranges that double
    hubs: dict[str, int]  # the nodes of the largest degrees
    components: int  # parts that no edge connects, whatever its direction
    connected_graphs: int  # graphs of one such part
    duplicate_graphs: int  # graphs with the exact structure of an earlier one
    cyclic_graphs: int  # graphs with a directed cycle, self-loops included
    isolated_nodes: int  # nodes without an edge to or from another node
    self_loops: int


def summarize(graphs: GraphSet) -> Summary:
    """Count nodes, edges, types, degrees and cycles of a set.

    >>> graphs = GraphSet.from_edges(node_counts=[3, 1], node_types=[0, 1, 1, 0], edge_counts=[2, 1],
    ...                              edges=[[0, 1], [1, 0], [0, 0]], node_vocabulary=["input", "conv"])
    >>> summary = summarize(graphs)
    >>> summary.node_types, summary.cyclic_graphs, summary.isolated_nodes, summary.self_loops
    ({'input': 2, 'conv': 2}, 2, 2, 1)
    """
    graphs.check_files()
    tally = Tally(graphs)
    try:
        for piece in pieces(graphs, thread_count(None)):
            tally.add(piece)
    except ValueError as error:
        raise graphs.damaged(str(error)) from error
    counts = graphs.node_counts
    parts_of, fingerprints = np.concatenate(tally.components), np.concatenate(tally.fingerprints)
    largest = int(np.argmax(counts)) if len(graphs) else 0
    return Summary(
        set=graphs.origin,
        graphs=len(graphs),
        nodes=graphs.nodes,
        edges=graphs.edges,
        node_types=histogram(tally.node_types, graphs.node_vocabulary),
        edge_types=histogram(tally.edge_types, graphs.edge_vocabulary),
        largest_graph=graphs.largest,
        largest_graph_name=graphs.graph_names[largest] if len(graphs) else "",
        mean_graph=float(counts.mean()) if len(graphs) else 0.0,
        mean_degree=2 * graphs.edges / graphs.nodes if graphs.nodes else 0.0,
        largest_degree=len(tally.degrees) - 1 if graphs.nodes else 0,
        largest_in_degree=tally.largest_in,
        largest_out_degree=tally.largest_out,
        degrees=doubling_ranges(tally.degrees),
        hubs=name_hubs(graphs, tally.hubs),
        components=int(parts_of.sum()),
        connected_graphs=int((parts_of == 1).sum()),
        duplicate_graphs=count_duplicates(graphs, fingerprints),
        cyclic_graphs=tally.cyclic,
        isolated_nodes=tally.isolated,
        self_loops=tally.loops,
    )


class Tally:
    """Sums over the pieces of a set."""

    def __init__(self, graphs: GraphSet) -> None:
        self.node_types = np.zeros(len(graphs.node_vocabulary), np.int64)
        self.edge_types = np.zeros(len(graphs.edge_vocabulary), np.int64)
        self.degrees = np.zeros(0, np.int64)  # nodes of each degree
        self.largest_in = self.largest_out = self.cyclic = self.isolated = self.loops = 0
        self.hubs: list[tuple[int, int]] = []  # (degree, node), the largest degrees first
        self.components, self.fingerprints = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint64)]

    def add(self, piece: Piece) -> None:
        self.node_types += np.bincount(piece.node_types, minlength=len(self.node_types))
        self.edge_types += np.bincount(piece.out_types, minlength=len(self.edge_types))
        out, into = np.diff(piece.out_offsets), np.diff(piece.in_offsets)
        self.largest_out = max(self.largest_out, int(out.max(initial=0)))
        self.largest_in = max(self.largest_in, int(into.max(initial=0)))
        degrees = out + into
        here = np.bincount(degrees, minlength=len(self.degrees))
        here[: len(self.degrees)] += self.degrees
        self.degrees = here
        if len(degrees):
            least = np.partition(degrees, max(len(degrees) - HUBS, 0))[max(len(degrees) - HUBS, 0)]
            found = np.flatnonzero(degrees >= least)
            best = found[np.argsort(-degrees[found], kind="stable")[:HUBS]].tolist()
            self.hubs += [(int(degrees[node]), piece.first_node + node) for node in best]
            self.hubs = sorted(self.hubs, key=lambda hub: (-hub[0], hub[1]))[:HUBS]
        self.cyclic += int(piece.cyclic.sum())
        self.isolated += int(piece.isolated.sum())
        self.loops += int(piece.loops.sum())
        self.components.append(piece.components)
        self.fingerprints.append(piece.fingerprints)


def count_duplicates(graphs: GraphSet, fingerprints: NDArray[np.uint64]) -> int:
    """Graphs with the structure of an earlier one. Those of one fingerprint are compared by `structure_digests`."""
    _, group, sizes = np.unique(fingerprints, return_inverse=True, return_counts=True)
    alike = np.flatnonzero(sizes[group] > 1)
    if len(alike) == 0:
        return 0
    digests = structure_digests(graphs.subset(alike))
    return len(digests) - len(set(digests))


def histogram(counts: NDArray[np.int64], vocabulary: tuple[str, ...]) -> dict[str, int]:
    """How often each word occurs; most frequent first, ties in the order of the vocabulary."""
    order = np.argsort(-counts, kind="stable")
    return {vocabulary[i]: int(counts[i]) for i in order if counts[i]}


def doubling_ranges(counts: NDArray[np.int64]) -> dict[str, int]:
    """Nodes by degree: 0, 1, 2, 3-4, 5-8, 9-16 ..., from the number of nodes of each degree.

    >>> doubling_ranges(np.bincount([0, 1, 1, 3, 4, 9]))
    {'0': 1, '1': 2, '3-4': 2, '9-16': 1}
    """
    degrees = np.arange(len(counts))
    place = np.where(degrees < 2, degrees, np.ceil(np.log2(np.maximum(degrees, 1))).astype(np.int64) + 1)
    sums = np.bincount(place, counts).astype(np.int64)
    names = ["0", "1", "2", *(f"{2**i + 1}-{2 ** (i + 1)}" for i in range(1, 64))]
    return {names[i]: int(count) for i, count in enumerate(sums) if count}


def name_hubs(graphs: GraphSet, found: list[tuple[int, int]]) -> dict[str, int]:
    """(degree, node) of the largest degrees, those above 2, by type, name (or number in the graph) and graph."""
    hubs = {}
    for degree, node in found:
        if degree > 2:
            graph = graphs.graph_of(node)
            number = node - int(graphs.node_offsets[graph])
            label = graphs.node_names[node] if graphs.node_names is not None else ""
            kind = graphs.node_vocabulary[graphs.node_types[node]]
            hubs[f"{kind} {label or number} (node {number}) in {graphs.graph_names[graph]}"] = degree
    return hubs

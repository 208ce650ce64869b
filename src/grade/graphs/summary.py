"""A graph set in numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grade.graphs.digests import structure_digests
from grade.graphs.graph_set import GraphSet

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
    graphs.check()
    out_degrees, in_degrees = np.diff(graphs.out_offsets), np.diff(graphs.in_offsets)
    looping = np.zeros(graphs.nodes, np.bool_)
    edge_sources = np.repeat(np.arange(graphs.nodes), out_degrees)
    looping[edge_sources[edge_sources == graphs.out_targets]] = True
    degrees = out_degrees + in_degrees
    counts = graphs.node_counts
    parts_of = components_of_graphs(graphs)
    digests = structure_digests(graphs)
    largest = int(np.argmax(counts)) if len(graphs) else 0
    return Summary(
        set=graphs.origin,
        graphs=len(graphs),
        nodes=graphs.nodes,
        edges=graphs.edges,
        node_types=histogram(graphs.node_types, graphs.node_vocabulary),
        edge_types=histogram(graphs.out_types, graphs.edge_vocabulary),
        largest_graph=graphs.largest,
        largest_graph_name=graphs.graph_names[largest] if len(graphs) else "",
        mean_graph=float(counts.mean()) if len(graphs) else 0.0,
        mean_degree=float(degrees.mean()) if graphs.nodes else 0.0,
        largest_degree=int(degrees.max(initial=0)),
        largest_in_degree=int(in_degrees.max(initial=0)),
        largest_out_degree=int(out_degrees.max(initial=0)),
        degrees=doubling_ranges(degrees),
        hubs=name_hubs(graphs, degrees),
        components=int(parts_of.sum()),
        connected_graphs=int((parts_of == 1).sum()),
        duplicate_graphs=len(digests) - len(set(digests)),
        cyclic_graphs=count_cyclic(graphs, looping),
        isolated_nodes=int((degrees == 2 * looping).sum()),
        self_loops=int(looping.sum()),
    )


def histogram(values: NDArray[np.uint16] | NDArray[np.uint8], vocabulary: tuple[str, ...]) -> dict[str, int]:
    """How often each word occurs; most frequent first, ties in the order of the vocabulary."""
    counts = np.bincount(values, minlength=len(vocabulary))
    order = np.argsort(-counts, kind="stable")
    return {vocabulary[i]: int(counts[i]) for i in order if counts[i]}


def doubling_ranges(degrees: NDArray[np.int64]) -> dict[str, int]:
    """Nodes by degree: 0, 1, 2, 3-4, 5-8, 9-16 ...

    >>> doubling_ranges(np.array([0, 1, 1, 3, 4, 9]))
    {'0': 1, '1': 2, '3-4': 2, '9-16': 1}
    """
    place = np.where(degrees < 2, degrees, np.ceil(np.log2(np.maximum(degrees, 1))).astype(np.int64) + 1)
    counts = np.bincount(place)
    names = ["0", "1", "2", *(f"{2**i + 1}-{2 ** (i + 1)}" for i in range(1, 64))]
    return {names[i]: int(count) for i, count in enumerate(counts) if count}


def name_hubs(graphs: GraphSet, degrees: NDArray[np.int64]) -> dict[str, int]:
    """The nodes of the largest degrees above 2, by type, name (or number in the graph) and graph."""
    hubs = {}
    for node in np.argsort(-degrees, kind="stable")[:HUBS].tolist():
        if degrees[node] > 2:
            graph = graphs.graph_of(node)
            number = node - int(graphs.node_offsets[graph])
            label = graphs.node_names[node] if graphs.node_names is not None else ""
            kind = graphs.node_vocabulary[graphs.node_types[node]]
            hubs[f"{kind} {label or number} (node {number}) in {graphs.graph_names[graph]}"] = int(
                degrees[node]
            )
    return hubs


def connectivity(graphs: GraphSet, connection: str) -> tuple[int, NDArray[np.int32]]:
    """(number of components, [nodes] component): weak or strong."""
    # A third of a second to import, and only this needs it.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    matrix = csr_array(
        (np.ones(graphs.edges, np.int8), np.asarray(graphs.out_targets, np.int64), graphs.out_offsets),
        shape=(graphs.nodes, graphs.nodes),
    )
    components, component = connected_components(matrix, directed=True, connection=connection)
    return components, component


def components_of_graphs(graphs: GraphSet) -> NDArray[np.int64]:
    """[graphs] number of weakly connected components."""
    if graphs.nodes == 0:
        return np.zeros(len(graphs), np.int64)
    _, component = connectivity(graphs, "weak")
    _, first = np.unique(component, return_index=True)  # a component lies in one graph
    return np.bincount(graphs.graphs_of(first), minlength=len(graphs))


def count_cyclic(graphs: GraphSet, looping: NDArray[np.bool_]) -> int:
    """Number of graphs with a directed cycle: a self-loop, or a strong component of two nodes or more."""
    if graphs.nodes == 0:
        return 0
    components, component = connectivity(graphs, "strong")
    in_cycle = looping | (np.bincount(component, minlength=components)[component] > 1)
    return len(np.unique(graphs.graphs_of(np.flatnonzero(in_cycle))))

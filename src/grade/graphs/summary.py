"""What a graph set is made of, in numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grade.graphs.graph_set import GraphSet


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
    largest_degree: int  # edges that enter or leave one node; a self-loop does both
    cyclic_graphs: int  # graphs with a directed cycle, self-loops included
    isolated_nodes: int  # nodes without an edge to or from another node
    self_loops: int


def summarize(graphs: GraphSet) -> Summary:
    """Count what a set is made of.

    >>> graphs = GraphSet.from_edges(node_counts=[3, 1], node_types=[0, 1, 1, 0], edge_counts=[2, 1],
    ...                              edges=[[0, 1], [1, 0], [0, 0]], node_vocabulary=["input", "conv"])
    >>> summary = summarize(graphs)
    >>> summary.node_types, summary.cyclic_graphs, summary.isolated_nodes, summary.self_loops
    ({'input': 2, 'conv': 2}, 2, 2, 1)
    """
    _ = graphs.core  # refuses a damaged set
    out_degrees, in_degrees = np.diff(graphs.out_offsets), np.diff(graphs.in_offsets)
    looping = np.zeros(graphs.nodes, np.bool_)
    edge_sources = np.repeat(np.arange(graphs.nodes), out_degrees)
    looping[edge_sources[edge_sources == graphs.out_targets]] = True
    degrees = out_degrees + in_degrees
    counts = graphs.node_counts
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
        largest_degree=int(degrees.max(initial=0)),
        cyclic_graphs=count_cyclic(graphs, looping),
        isolated_nodes=int((degrees == 2 * looping).sum()),
        self_loops=int(looping.sum()),
    )


def histogram(values: NDArray[np.uint16] | NDArray[np.uint8], vocabulary: tuple[str, ...]) -> dict[str, int]:
    """How often each word occurs; most frequent first, ties in the order of the vocabulary."""
    counts = np.bincount(values, minlength=len(vocabulary))
    order = np.argsort(-counts, kind="stable")
    return {vocabulary[i]: int(counts[i]) for i in order if counts[i]}


def count_cyclic(graphs: GraphSet, looping: NDArray[np.bool_]) -> int:
    """Number of graphs with a directed cycle: a self-loop, or a strong component of two nodes or more."""
    # A third of a second to import, and only this needs it.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if graphs.nodes == 0:
        return 0
    matrix = csr_array(
        (np.ones(graphs.edges, np.int8), np.asarray(graphs.out_targets, np.int64), graphs.out_offsets),
        shape=(graphs.nodes, graphs.nodes),
    )
    components, component = connected_components(matrix, directed=True, connection="strong")
    in_cycle = looping | (np.bincount(component, minlength=components)[component] > 1)
    return len(np.unique(graphs.graphs_of(np.flatnonzero(in_cycle))))

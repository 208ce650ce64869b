"""Slow, plain implementations that the tests compare with: brute force and pynauty."""

from collections import Counter
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pynauty

from grade.graphs import GraphSet


def random_digraph(
    rng: np.random.Generator, k: int, types: int, edge_types: int, density: float, loops: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Types [k] and edges [k, k] of a random digraph (cycles, opposite edges and self-loops included)."""
    edges = rng.integers(1, edge_types + 1, (k, k)) * (rng.random((k, k)) < density)
    if not loops:
        np.fill_diagonal(edges, 0)
    return rng.integers(0, types, k), edges.astype(np.uint8)


def relabelled(
    rng: np.random.Generator, types: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same digraph under a random numbering of its nodes, and the numbering."""
    order = rng.permutation(len(types))
    return types[order], edges[np.ix_(order, order)], order


def nauty_graph(types: np.ndarray, edges: np.ndarray) -> tuple[pynauty.Graph, Any]:
    """A coloured digraph that pynauty can handle: one layer of vertices per bit of the edge types.

    Vertex ``layer * k + node`` stands for a node in a layer; the vertices of a node are tied together; an edge of type
    t is drawn in the layers of t's bits. The second value holds what the certificate leaves out: the colours' sizes.
    """
    k = len(types)
    layers = max(int(edges.max(initial=0)).bit_length(), 1)
    colours: dict[Any, set[int]] = {}
    arcs: dict[int, list[int]] = {vertex: [] for vertex in range(layers * k)}
    for layer in range(layers):
        for node in range(k):
            vertex = layer * k + node
            colours.setdefault((layer, int(types[node]), int(edges[node, node])), set()).add(vertex)
            if layer:
                arcs[vertex - k].append(vertex)
                arcs[vertex].append(vertex - k)
            arcs[vertex] += [
                layer * k + other for other in range(k) if other != node and edges[node, other] >> layer & 1
            ]
    ordered = sorted(colours)
    graph = pynauty.Graph(
        layers * k, directed=True, adjacency_dict=arcs, vertex_coloring=[colours[c] for c in ordered]
    )
    return graph, tuple((c, len(colours[c])) for c in ordered)


def nauty_key(types: np.ndarray, edges: np.ndarray) -> Any:
    """Equal for two digraphs exactly when they are isomorphic."""
    graph, labels = nauty_graph(types, edges)
    return labels, pynauty.certificate(graph)


def nauty_automorphisms(types: np.ndarray, edges: np.ndarray) -> int:
    """Order of the automorphism group."""
    _, mantissa, exponent, _, _ = pynauty.autgrp(nauty_graph(types, edges)[0])
    return round(mantissa * 10**exponent)


def dense(graphs: GraphSet, graph: int) -> tuple[np.ndarray, np.ndarray]:
    """Types [n] and edges [n, n] of one graph."""
    begin, end = graphs.node_offsets[graph : graph + 2]
    edges = np.zeros((end - begin, end - begin), np.uint8)
    source, target = graphs.edge_list(graph).T
    edges[source, target] = graphs.edge_types_of(graph)
    return np.asarray(graphs.node_types[begin:end]), edges


def connected(edges: np.ndarray) -> bool:
    """Whether a digraph is connected, directions aside."""
    touches = (edges > 0) | (edges.T > 0)
    reached, frontier = {0}, [0]
    while frontier:
        for node in np.flatnonzero(touches[frontier.pop()]).tolist():
            if node not in reached:
                reached.add(node)
                frontier.append(node)
    return len(reached) == len(edges)


def connected_subsets(edges: np.ndarray, k: int) -> list[tuple[int, ...]]:
    """All k-subsets of nodes that induce a connected subgraph."""
    return [nodes for nodes in combinations(range(len(edges)), k) if connected(edges[np.ix_(nodes, nodes)])]


def brute_force_census(graphs: GraphSet, k: int) -> Counter[Any]:
    """Occurrences by pynauty key."""
    counts: Counter[Any] = Counter()
    for graph in range(len(graphs)):
        types, edges = dense(graphs, graph)
        for nodes in connected_subsets(edges, k):
            counts[nauty_key(types[list(nodes)], edges[np.ix_(nodes, nodes)])] += 1
    return counts


def brute_force_orders(edges: np.ndarray) -> tuple[int, int]:
    """(linear extensions, level orders) by trying all permutations."""
    k = len(edges)
    reach = (edges > 0) & ~np.eye(k, dtype=bool)
    for via in range(k):
        reach |= reach[:, [via]] & reach[[via], :]
    before = reach & ~reach.T
    np.fill_diagonal(before, False)
    level = np.zeros(k, int)
    for _ in range(k):
        for node in range(k):
            level[node] = max([level[u] + 1 for u in np.flatnonzero(before[:, node])], default=0)
    linear = levelled = 0
    for order in permutations(range(k)):
        linear += not any(before[order[q], order[p]] for p in range(k) for q in range(p + 1, k))
        levelled += all(level[order[p]] <= level[order[p + 1]] for p in range(k - 1))
    return linear, levelled

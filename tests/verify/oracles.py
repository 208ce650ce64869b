"""Other people's counters, and plain Python, to compare the counting of patterns with."""

import igraph
import numpy as np
import rustworkx

from grade.graphs import GraphSet
from tests.reference import (
    connected,
    connected_subsets,
    dense,
    nauty_automorphisms,
    nauty_key,
    random_digraph,
)

Digraph = tuple[np.ndarray, np.ndarray]  # types [n], edges [n, n]


def one_graph(types: np.ndarray, edges: np.ndarray) -> GraphSet:
    """A set of one graph; node types "0", "1" ..., edge types "1", "2" ..."""
    arcs = np.argwhere(edges)
    return GraphSet.from_edges(
        node_counts=[len(types)],
        node_types=types,
        edge_counts=[len(arcs)],
        edges=arcs,
        edge_types=edges[tuple(arcs.T)],
        node_vocabulary=[str(i) for i in range(10)],
        edge_vocabulary=[str(i) for i in range(256)],
    )


def random_target(rng: np.random.Generator, edge_types: int) -> Digraph:
    """A sparse digraph with cycles, opposite edges, self-loops and, half of the time, a hub."""
    n = int(rng.integers(8, 26))
    types, edges = random_digraph(rng, n, int(rng.integers(1, 5)), edge_types, rng.choice([1.0, 2.0]) / n)
    if rng.random() < 0.5:
        hub = int(rng.integers(n))
        fan = (rng.random(n) < 0.7) * rng.integers(1, edge_types + 1, n)
        side = edges[hub] if rng.random() < 0.5 else edges[:, hub]
        side[:] = np.where(np.arange(n) == hub, side, fan)
    return types, edges


def random_pattern(rng: np.random.Generator, target: Digraph, edge_types: int) -> Digraph:
    """A connected pattern: one that occurs in the target, or one a change away from that, or any."""
    types, edges = target
    k = int(rng.integers(2, 7))
    while True:
        kind = rng.random()
        if kind < 0.2:
            pattern = random_digraph(rng, k, 3, edge_types, 0.3)
        else:
            nodes = grown(rng, edges, k)
            pattern = types[nodes].copy(), edges[np.ix_(nodes, nodes)].copy()
            if kind < 0.4:
                i, j = rng.integers(0, len(nodes), 2)
                pattern[1][i, j] = rng.integers(0, edge_types + 1)
        if connected(pattern[1]):
            return pattern


def grown(rng: np.random.Generator, edges: np.ndarray, k: int) -> np.ndarray:
    """At most k nodes that hang together, in random order."""
    touches = (edges > 0) | (edges.T > 0)
    nodes = [int(rng.integers(len(edges)))]
    while len(nodes) < k:
        border = [v for v in np.flatnonzero(touches[nodes].any(axis=0)).tolist() if v not in nodes]
        if not border:
            break
        nodes.append(int(rng.choice(border)))
    return rng.permutation(nodes)


def without_loops(graph: Digraph) -> tuple[list[tuple[int, int]], np.ndarray]:
    """(type, type of the self-loop) of each node, and the other edges."""
    types, edges = graph
    labels = list(zip(types.tolist(), np.diag(edges).tolist(), strict=True))
    return labels, edges * ~np.eye(len(types), dtype=bool)


def lad_count(target: Digraph, pattern: Digraph) -> int:
    """igraph's LAD, induced, with label domains, over the number of automorphisms. It knows no edge types."""
    labels, edges = without_loops(target)
    wanted, arcs = without_loops(pattern)
    assert edges.max(initial=0) <= 1
    assert arcs.max(initial=0) <= 1
    domains = [[v for v, label in enumerate(labels) if label == want] for want in wanted]
    if not all(domains):
        return 0
    graph = igraph.Graph(n=len(labels), edges=np.argwhere(edges).tolist(), directed=True)
    small = igraph.Graph(n=len(wanted), edges=np.argwhere(arcs).tolist(), directed=True)
    mappings = graph.get_subisomorphisms_lad(small, domains=domains, induced=True)
    return divided(len(mappings), pattern)


def vf2_count(target: Digraph, pattern: Digraph) -> int:
    """rustworkx's VF2, induced, with types of nodes and edges, over the number of automorphisms."""

    def built(graph: Digraph) -> rustworkx.PyDiGraph:
        labels, edges = without_loops(graph)
        result = rustworkx.PyDiGraph()
        result.add_nodes_from(labels)
        result.add_edges_from([(int(i), int(j), int(edges[i, j])) for i, j in np.argwhere(edges)])
        return result

    def same(a: object, b: object) -> bool:
        return a == b

    mappings = rustworkx.vf2_mapping(
        built(target), built(pattern), node_matcher=same, edge_matcher=same, subgraph=True, induced=True
    )
    return divided(sum(1 for _ in mappings), pattern)


def divided(mappings: int, pattern: Digraph) -> int:
    count, rest = divmod(mappings, nauty_automorphisms(*pattern))
    assert rest == 0
    return count


def brute_force_occurrences(graphs: GraphSet, pattern: Digraph) -> set[tuple[int, ...]]:
    """All node sets that induce the pattern, as ascending global ids."""
    found, wanted = set(), nauty_key(*pattern)
    for graph in range(len(graphs)):
        types, edges = dense(graphs, graph)
        for nodes in connected_subsets(edges, len(pattern[0])):
            if nauty_key(types[list(nodes)], edges[np.ix_(nodes, nodes)]) == wanted:
                found.add(tuple(int(graphs.node_offsets[graph]) + node for node in nodes))
    return found

"""Small graph sets for tests: strategies, comparison, and a census that is slow and obviously right."""

import itertools
from collections import Counter
from typing import Any

import networkx
import numpy as np
from hypothesis import strategies as st

from grade import GraphSet, PatternTable

ARRAYS = (
    "node_offsets",
    "node_types",
    "out_offsets",
    "out_targets",
    "out_types",
    "in_offsets",
    "in_sources",
    "in_types",
)
Key = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


@st.composite
def raw_graph_sets(draw: st.DrawFn, max_graphs: int = 4, max_nodes: int = 7) -> dict[str, Any]:
    """Arguments of GraphSet.from_edges: cycles, loops, several edge types, isolated nodes, empty graphs."""
    node_counts = draw(st.lists(st.integers(0, max_nodes), min_size=1, max_size=max_graphs))
    edges, edge_types, edge_counts = [], [], []
    for count in node_counts:
        pairs = [(i, j) for i in range(count) for j in range(count)]
        chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * count)) if pairs else []
        edges += chosen
        edge_counts.append(len(chosen))
        edge_types += draw(st.lists(st.integers(1, 2), min_size=len(chosen), max_size=len(chosen)))
    nodes = sum(node_counts)
    return {
        "node_counts": node_counts,
        "node_types": draw(st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes)),
        "edge_counts": edge_counts,
        "edges": edges,
        "edge_types": edge_types,
        "node_vocabulary": ["input", "conv", "pool"],
        "edge_vocabulary": ["none", "edge", "skip"],
        "graph_names": [f"net-{i}" for i in range(len(node_counts))],
        "node_names": [f"node {i} ü" for i in range(nodes)] if draw(st.booleans()) else None,
    }


def graph_sets(**limits: int) -> st.SearchStrategy[GraphSet]:
    return raw_graph_sets(**limits).map(lambda raw: GraphSet.from_edges(**raw))


def assert_equal(one: GraphSet, other: GraphSet) -> None:
    """Same graphs, types, vocabularies and names."""
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert getattr(one, name).dtype == getattr(other, name).dtype, name
    assert one.node_vocabulary == other.node_vocabulary
    assert one.edge_vocabulary == other.edge_vocabulary
    assert list(one.graph_names) == list(other.graph_names)
    assert (one.node_names is None) == (other.node_names is None)
    if one.node_names is not None and other.node_names is not None:
        assert list(one.node_names) == list(other.node_names)


def smallest_key(types: tuple[int, ...], edges: tuple[tuple[int, ...], ...]) -> Key:
    """The smallest (types, edges) over all orders of the nodes: a canonical form that needs no cleverness."""
    return min(
        (tuple(types[i] for i in order), tuple(tuple(edges[i][j] for j in order) for i in order))
        for order in itertools.permutations(range(len(types)))
    )


def brute_force_census(graphs: GraphSet, k: int) -> Counter[Key]:
    """Counts of all connected induced subgraphs of k nodes: every k-subset of every graph is looked at."""
    counts: Counter[Key] = Counter()
    known: dict[Key, Key] = {}
    for graph in range(len(graphs)):
        begin, end = graphs.node_offsets[graph], graphs.node_offsets[graph + 1]
        types = graphs.node_types[begin:end].tolist()
        matrix = np.zeros((len(types), len(types)), int)
        arcs = graphs.edge_list(graph)
        matrix[arcs[:, 0], arcs[:, 1]] = graphs.edge_types_of(graph)
        neighbours = networkx.Graph()
        neighbours.add_nodes_from(range(len(types)))
        neighbours.add_edges_from(arcs.tolist())
        adjacent = [set(neighbours.adj[node]) for node in range(len(types))]
        rows = matrix.tolist()
        for nodes in itertools.combinations(range(len(types)), k):
            if not connected(nodes, adjacent):
                continue
            raw = (tuple(types[i] for i in nodes), tuple(tuple(rows[i][j] for j in nodes) for i in nodes))
            if raw not in known:
                known[raw] = smallest_key(*raw)
            counts[known[raw]] += 1
    return counts


def connected(nodes: tuple[int, ...], adjacent: list[set[int]]) -> bool:
    reached, frontier, rest = {nodes[0]}, [nodes[0]], set(nodes)
    while frontier:
        new = (adjacent[frontier.pop()] & rest) - reached
        reached |= new
        frontier += new
    return len(reached) == len(nodes)


def counted(patterns: PatternTable, counts: np.ndarray) -> dict[Key, int]:
    """Counts of a census by `smallest_key`, to compare with the brute-force one."""
    keys = [smallest_key(pattern.node_types, pattern.edges) for pattern in patterns]
    assert len(set(keys)) == len(keys), "two patterns of the census are isomorphic"
    return dict(zip(keys, counts.tolist(), strict=True))

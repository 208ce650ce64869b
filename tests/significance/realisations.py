"""All graphs of a null model by brute force, for graphs small enough to list them."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product

import networkx as nx
import numpy as np

from grade import GraphSet

Edges = frozenset[tuple[int, int, int]]  # (source, target, type)


def small_graph(
    node_types: list[int], edges: list[tuple[int, ...]], copies: int = 1, edge_types: int = 1
) -> GraphSet:
    """So many copies of one graph; edges are (source, target) or (source, target, type)."""
    kinds = [edge[2] if len(edge) > 2 else 1 for edge in edges]
    return GraphSet.from_edges(
        node_counts=[len(node_types)] * copies,
        node_types=node_types * copies,
        edge_counts=[len(edges)] * copies,
        edges=np.array([edge[:2] for edge in edges] * copies, int).reshape(-1, 2),
        edge_types=kinds * copies,
        node_vocabulary=list("abcdef"),
        edge_vocabulary=["none", *[f"edge-{i}" for i in range(edge_types)]],
    )


def edges_of(graphs: GraphSet, graph: int = 0) -> Edges:
    ends, kinds = graphs.edge_list(graph).tolist(), graphs.edge_types_of(graph).tolist()
    return frozenset((u, v, t) for (u, v), t in zip(ends, kinds, strict=True))


def same_degrees(nodes: int, edges: Edges) -> Iterator[Edges]:
    """All graphs without new loops and without parallel edges with the typed degrees of this one."""
    loops = {edge for edge in edges if edge[0] == edge[1]}
    rest = edges - loops
    types = sorted({t for _, _, t in rest})
    wanted_out = Counter((u, t) for u, _, t in rest)
    wanted_in = Counter((v, t) for _, v, t in rest)

    def grow(
        node: int, chosen: tuple[tuple[int, int, int], ...], left: Counter[tuple[int, int]]
    ) -> Iterator[Edges]:
        if node == nodes:
            yield frozenset(chosen) | loops
            return
        others = [v for v in range(nodes) if v != node]
        choices = [list(combinations(others, wanted_out[node, t])) for t in types]
        for targets in product(*choices):
            new = [(node, v, t) for t, row in zip(types, targets, strict=True) for v in row]
            if len({v for _, v, _ in new}) < len(new):
                continue
            rest_left = left.copy()
            rest_left.subtract((v, t) for _, v, t in new)
            if min(rest_left.values(), default=0) >= 0:
                yield from grow(node + 1, (*chosen, *new), rest_left)

    yield from grow(0, (), wanted_in)


def acyclic(edges: Edges) -> bool:
    return nx.is_directed_acyclic_graph(nx.DiGraph([(u, v) for u, v, _ in edges if u != v]))


def class_counts(edges: Edges, classes: list[int]) -> Counter[tuple[int, int, int]]:
    return Counter((classes[u], classes[v], t) for u, v, t in edges if u != v)


def mutual_degrees(nodes: int, edges: Edges) -> list[Counter[tuple[int, int]]]:
    """Of each node: mutual edges by the types of both directions."""
    kind = {(u, v): t for u, v, t in edges}
    return [
        Counter(
            (kind[u, v], kind[v, u]) for v in range(nodes) if v != u and (u, v) in kind and (v, u) in kind
        )
        for u in range(nodes)
    ]


def levels(nodes: int, edges: Edges) -> list[int]:
    """Length of the longest path to each node, cycles counted as one node."""
    whole = nx.DiGraph([(u, v) for u, v, _ in edges])
    whole.add_nodes_from(range(nodes))
    condensed = nx.condensation(whole)
    level: dict[int, int] = {}
    for component in nx.topological_sort(condensed):
        level[component] = max((level[p] + 1 for p in condensed.predecessors(component)), default=0)
    member = condensed.graph["mapping"]
    return [level[member[node]] for node in range(nodes)]

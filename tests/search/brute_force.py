"""A miner in plain Python, to compare the real one with: every definition written down once more, without the core.

Node sets are tried one by one, classes found by trying permutations, supports counted from their definitions. Sets must
be small. `Found` holds all patterns of one size of a set, `which` says which of them a search must return, in order.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, permutations, product

import numpy as np

from grade.graphs import GraphSet

Code = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]  # node types, edge types row by row


@dataclass
class Found:
    """One pattern with all its occurrences."""

    code: Code
    occurrences: list[tuple[int, ...]] = field(default_factory=list)  # ascending global ids
    images: list[set[int]] = field(default_factory=list)  # [k] nodes that can stand for each node of the code
    graphs: set[int] = field(default_factory=set)

    @property
    def count(self) -> int:
        return len(self.occurrences)

    @property
    def coverage(self) -> int:
        return len({node for nodes in self.occurrences for node in nodes})

    @property
    def mni(self) -> int:
        return min(len(image) for image in self.images)

    @property
    def edges(self) -> np.ndarray:
        """[k, k] edge types."""
        return np.array(self.code[1], np.uint8)


class Plain:
    """A graph set as dictionaries."""

    def __init__(self, graphs: GraphSet) -> None:
        self.graphs = graphs
        self.types = np.asarray(graphs.node_types).tolist()
        self.edges: dict[tuple[int, int], int] = {}
        self.after: dict[int, set[int]] = defaultdict(set)  # consumers, self-loops aside
        self.near: dict[int, set[int]] = defaultdict(set)
        self.owner: dict[int, int] = {}
        for graph in range(len(graphs)):
            begin, end = (int(n) for n in graphs.node_offsets[graph : graph + 2])
            self.owner.update(dict.fromkeys(range(begin, end), graph))
            pairs = (np.asarray(graphs.edge_list(graph)) + begin).tolist()
            for (source, target), kind in zip(pairs, graphs.edge_types_of(graph).tolist(), strict=True):
                self.edges[source, target] = kind
                if source != target:
                    self.after[source].add(target)
                    self.near[source].add(target)
                    self.near[target].add(source)
        self.outputs = graphs.outputs.tolist()
        self.drains = self._drains()

    def _drains(self) -> set[int]:
        """Graph outputs; nodes that nobody consumes; and of strongly connected components that end a graph, one."""
        known = {node for node in self.owner if self.outputs[node] or not self.after[node]}
        for node in self.owner:
            mutual = {other for other in self.reach(node) if node in self.reach(other)} | {node}
            ends = all(self.after[member] <= mutual for member in mutual)
            if len(mutual) > 1 and ends and not mutual & known:
                rank = {n: (-len(self.near[n]), n) for n in mutual}  # the core numbers by degree
                known.add(min(mutual, key=rank.__getitem__))
        return known

    def reach(self, node: int) -> set[int]:
        seen: set[int] = set()
        frontier = [node]
        while frontier:
            for target in self.after[frontier.pop()]:
                if target not in seen:
                    seen.add(target)
                    frontier.append(target)
        return seen

    def connected_sets(self, k: int) -> list[tuple[int, ...]]:
        """All connected sets of k nodes: grown node by node, doubles removed."""
        sets = {frozenset([node]) for node in self.owner}
        for _ in range(k - 1):
            sets = {s | {n} for s in sets for member in s for n in self.near[member] if n not in s}
        return sorted(tuple(sorted(s)) for s in sets)

    def is_fusible(self, nodes: Sequence[int]) -> bool:
        """Convex, and results leave at one node."""
        inside = set(nodes)
        exits = [node for node in nodes if node in self.drains or self.after[node] - inside]
        outside = [t for node in nodes for t in self.after[node] if t not in inside]
        return len(exits) == 1 and not any(t in inside or self.reach(t) & inside for t in outside)

    def code(self, order: Sequence[int]) -> Code:
        rows = tuple(tuple(self.edges.get((i, j), 0) for j in order) for i in order)
        return tuple(self.types[node] for node in order), rows

    def patterns(self, k: int, fusible: bool = False) -> list[Found]:
        """All patterns of k nodes."""
        found: dict[Code, Found] = {}
        for nodes in self.connected_sets(k):
            if fusible and not self.is_fusible(nodes):
                continue
            codes = [(self.code(order), order) for order in sorted_by_type(nodes, self.types)]
            least = min(code for code, _ in codes)
            entry = found.setdefault(least, Found(least, images=[set() for _ in range(k)]))
            entry.occurrences.append(nodes)
            entry.graphs.add(self.owner[nodes[0]])
            for code, order in codes:
                if code == least:
                    for place, node in enumerate(order):
                        entry.images[place].add(node)
        return list(found.values())


def sorted_by_type(nodes: Sequence[int], types: Sequence[int]) -> list[tuple[int, ...]]:
    """All orders of the nodes in which the types ascend: the least code is among theirs."""
    ordered = sorted(nodes, key=types.__getitem__)
    parts = [list(part) for _, part in groupby(ordered, key=types.__getitem__)]
    return [tuple(sum(choice, ())) for choice in product(*(permutations(part) for part in parts))]


def packed(occurrences: Sequence[Sequence[int]]) -> int:
    """Occurrences taken in the given order whenever they share no node with those taken before."""
    used: set[int] = set()
    taken = 0
    for nodes in occurrences:
        if used.isdisjoint(nodes):
            used.update(nodes)
            taken += 1
    return taken


def most_disjoint(occurrences: Sequence[Sequence[int]]) -> int:
    """The true maximum, by trying; for few occurrences."""
    best = 0

    def extend(at: int, used: frozenset[int], taken: int) -> None:
        nonlocal best
        best = max(best, taken)
        for i in range(at, len(occurrences)):
            if used.isdisjoint(occurrences[i]) and taken + len(occurrences) - i > best:
                extend(i + 1, used | set(occurrences[i]), taken + 1)

    extend(0, frozenset(), 0)
    return best


def which(
    patterns: Sequence[Found],
    support: Callable[[Found], float],
    holds: Callable[[Found], bool] = lambda pattern: True,
) -> list[tuple[float, int]]:
    """(support, occurrences) of the patterns that hold, best first: by support, then by occurrences."""
    return sorted(((support(p), p.count) for p in patterns if holds(p)), reverse=True)


def network_like(
    rng: np.random.Generator, graphs: int = 4, nodes: int = 10, types: int = 2, edge_types: int = 1
) -> GraphSet:
    """Networks as operators form them: mostly forward, fan-in of one or two, now and then a cycle, loop or wide fan."""
    node_counts, node_types, edge_counts, edges, kinds = [], [], [], [], []
    for _ in range(graphs):
        n = int(rng.integers(1, nodes + 1))
        arcs = set()
        for node in range(1, n):
            kind = rng.random()  # a graph input, a consumer of the node before, or one of two nodes
            arcs |= {(node - 1, node)} if kind > 0.2 else set()
            arcs |= {(int(rng.integers(max(0, node - 3), node)), node)} if kind > 0.7 else set()
        for _ in range(int(rng.random() < 0.4)):
            arcs.add(tuple(sorted(rng.integers(0, n, 2).tolist(), reverse=True)))  # backwards, or a loop
        if rng.random() < 0.3:
            arcs |= {(source, n - 1) for source in range(n - 1) if rng.random() < 0.6}
        ordered = sorted(arcs)
        node_counts.append(n)
        node_types += rng.integers(0, types, n).tolist()
        edge_counts.append(len(ordered))
        edges += ordered
        kinds += rng.integers(1, edge_types + 1, len(ordered)).tolist()
    return GraphSet.from_edges(
        node_counts=node_counts,
        node_types=node_types,
        edge_counts=edge_counts,
        edges=np.array(edges, int).reshape(-1, 2),
        edge_types=kinds,
        node_vocabulary=[f"type-{i}" for i in range(types)],
        edge_vocabulary=[f"edge-{i}" for i in range(edge_types + 1)],
    )


def with_outputs(graphs: GraphSet, outputs: np.ndarray) -> GraphSet:
    """The set, with these nodes as graph outputs."""
    return replace(graphs, graph_outputs=outputs)

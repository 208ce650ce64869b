"""Canonical forms per second, side by side with pynauty, on subgraphs of real operator graphs and on random ones.

Run: python benchmarks/canonical.py
"""

import numpy as np
import pynauty

from common import best_of, machine, write_results
from grade import _core
from grade.sources import load

Graphs = tuple[np.ndarray, np.ndarray]


def random_patterns(rng: np.random.Generator, n: int, k: int) -> Graphs:
    """Random connected DAGs with four node types and k / 3 edges more than a tree, nodes in random order."""
    types = rng.integers(0, 4, (n, k)).astype(np.uint16)
    edges = np.zeros((n, k, k), np.uint8)
    for row in edges:
        for node in range(1, k):
            row[rng.integers(node), node] = 1
        for a, b in rng.integers(0, k, (k // 3, 2)):
            row[min(a, b), max(a, b)] |= a != b
        order = rng.permutation(k)
        row[:] = row[np.ix_(order, order)]
    return types, edges


def real_patterns(rng: np.random.Generator, n: int, k: int) -> Graphs:
    """Connected induced subgraphs of `zoo`, grown from a random node by random neighbours, nodes in random order."""
    graphs = load("zoo")
    types, edges = np.zeros((n, k), np.uint16), np.zeros((n, k, k), np.uint8)
    row = 0
    while row < n:
        members = [int(rng.integers(graphs.nodes))]
        while len(members) < k:
            around = np.concatenate([[*graphs.successors(m), *graphs.predecessors(m)] for m in members])
            fresh = np.setdiff1d(around, members)
            if len(fresh) == 0:
                break
            members.append(int(rng.choice(fresh)))
        if len(members) < k:
            continue
        rng.shuffle(members)
        place = {node: i for i, node in enumerate(members)}
        types[row] = graphs.node_types[members]
        for node in members:
            for target in graphs.successors(node).tolist():
                if target in place:
                    edges[row, place[node], place[target]] = 1
        row += 1
    return types, edges


def as_lists(types: np.ndarray, edges: np.ndarray) -> list[tuple[dict[int, list[int]], list[set[int]]]]:
    """What pynauty's Graph takes, prepared beforehand, so that only pynauty's own work is timed."""
    result = []
    for node_types, matrix in zip(types.tolist(), edges, strict=True):
        colours: dict[int, set[int]] = {}
        for node, node_type in enumerate(node_types):
            colours.setdefault(node_type, set()).add(node)
        adjacency = {i: np.flatnonzero(row).tolist() for i, row in enumerate(matrix)}
        result.append((adjacency, [colours[c] for c in sorted(colours)]))
    return result


def main() -> None:
    where = machine()
    table = []
    for name, make in (("subgraphs of zoo", real_patterns), ("random DAGs", random_patterns)):
        for k in (5, 10, 15):
            types, edges = make(np.random.default_rng(k), 2000, k)
            lists = as_lists(types, edges)
            built = [pynauty.Graph(k, True, adjacency, colours) for adjacency, colours in lists]

            def from_lists(lists: list = lists, k: int = k) -> None:
                for adjacency, colours in lists:
                    pynauty.certificate(pynauty.Graph(k, True, adjacency, colours))

            def certificates(built: list = built) -> None:
                for graph in built:
                    pynauty.certificate(graph)

            ours = best_of(50, lambda t=types, e=edges: _core.canonical_forms(t, e)) / len(types)
            building = best_of(5, from_lists) / len(types)
            certificate = best_of(5, certificates) / len(types)
            table.append(
                {
                    "graphs": name,
                    "k": k,
                    "ours (M/s)": f"{1e-6 / ours:.2f}",
                    "pynauty, graph and certificate (k/s)": f"{1e-3 / building:.0f}",
                    "ratio": f"{building / ours:.0f}",
                    "pynauty, certificate alone (k/s)": f"{1e-3 / certificate:.0f}",
                    "ratio to certificate alone": f"{certificate / ours:.1f}",
                }
            )
    notes = [
        "One thread each, in one run, best of several. Ours reads arrays [n, k], [n, k, k] and writes the canonical"
        " arrays, the order and the automorphism count; pynauty is given prepared Python lists.",
        "pynauty has to build a Graph before it can certify it, so the first ratio is what a user of either meets; the"
        " second leaves pynauty's building out and keeps our reading and writing in.",
    ]
    write_results("canonical", "Canonical forms per second", table, notes, where)


if __name__ == "__main__":
    main()

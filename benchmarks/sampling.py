"""Samples per second of each sampler on zoo, side by side with a plain Python Rand-ESU in the same run, and the time of
40,000 samples for each size from 4 to 15.

Run: python benchmarks/sampling.py [--quick]
"""

import argparse
import random
import time
import warnings
from typing import Any

import networkx

from common import best_of, machine, write_results
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.machine import available_threads
from grade.sampling import sample
from grade.sampling.rand_esu import paper_probabilities
from grade.sources import load

METHODS = ("rand-esu", "rand-fase", "nrs")


class PlainRandEsu:
    """The paper's algorithm Rand-ESU on networkx graphs, as one would write it in Python."""

    def __init__(self, graphs: GraphSet) -> None:
        self.graphs, self.undirected = [], []
        types = graphs.node_types.tolist()
        for g in range(len(graphs)):
            begin, end = graphs.node_offsets[g], graphs.node_offsets[g + 1]
            graph = networkx.DiGraph()
            graph.add_nodes_from((i, {"type": str(types[begin + i])}) for i in range(end - begin))
            graph.add_edges_from(graphs.edge_list(g).tolist())
            self.graphs.append(graph)
            self.undirected.append(graph.to_undirected(as_view=False))

    def rate(self, k: int, r: float, seconds: float, patterns: bool) -> float:
        """Subgraphs found per second, from roots in random order, until the time is up. With patterns: the induced
        subgraph of each and its Weisfeiler-Lehman hash, networkx's (inexact) way to tell patterns apart."""
        generator = random.Random(0)
        probability = paper_probabilities(k, r).tolist()
        roots = [(g, v) for g, graph in enumerate(self.graphs) for v in graph]
        generator.shuffle(roots)
        found: list[Any] = []
        start = time.perf_counter()
        deadline = start + seconds

        def extend(g: int, members: list[int], extension: list[int], near: set[int], root: int) -> None:
            if len(members) == k:
                found.append(pattern(self.graphs[g].subgraph(members)) if patterns else members)
                return
            while extension and time.perf_counter() < deadline:
                w = extension.pop()
                if generator.random() < probability[len(members)]:
                    new = [u for u in self.undirected[g].adj[w] if u > root and u not in near]
                    extend(g, [*members, w], extension + new, near.union(new), root)

        for g, v in roots:
            if time.perf_counter() >= deadline:
                break
            if generator.random() < probability[0]:
                first = [u for u in self.undirected[g].adj[v] if u > v]
                extend(g, [v], list(first), {v, *first}, v)
        return len(found) / (time.perf_counter() - start)


def pattern(graph: networkx.DiGraph) -> str:
    return str(networkx.weisfeiler_lehman_graph_hash(graph, node_attr="type"))


def ars_note(graphs: GraphSet) -> str:
    cells = load("nas-bench-101")
    seconds = best_of(2, lambda: sample(cells, 5, "ars", count=200_000, threads=1, parts=0))
    try:
        sample(graphs, 5, "ars", count=1000, parts=0)
    except InputError as refusal:
        return (
            f"ARS: {200_000 / seconds:,.0f} samples/s on nas-bench-101, k = 5, one thread; on zoo: {refusal}"
        )
    return f"ARS: {200_000 / seconds:,.0f} samples/s on nas-bench-101, k = 5, one thread."


def seconds_of(graphs: GraphSet, k: int, method: str, count: int, threads: int) -> float:
    return best_of(2, lambda: sample(graphs, k, method, count=count, threads=threads, parts=0))


def main() -> None:
    warnings.filterwarnings("ignore", "The hashes produced", UserWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small set, few samples")
    quick = parser.parse_args().quick
    graphs = load("zoo-mini" if quick else "zoo")
    count, patience = (1000, 1.0) if quick else (40_000, 20.0)
    where, threads = machine(), available_threads()
    plain = PlainRandEsu(graphs)
    table: list[dict[str, Any]] = []
    for k in range(4, 16):
        row: dict[str, Any] = {"k": k}
        for method in METHODS:
            row[f"{method} (s)"] = f"{seconds_of(graphs, k, method, count, threads):.2f}"
        if k in (5, 10, 15):
            rates = {method: count / seconds_of(graphs, k, method, count, threads=1) for method in METHODS}
            row |= {f"{method}, 1 thread (samples/s)": f"{rate:,.0f}" for method, rate in rates.items()}
            r = sample(graphs, k, "rand-esu", count=count, parts=0).drawn["effective_r"]
            for what, patterns in (("plain Python", True), ("plain Python, no patterns", False)):
                rate = plain.rate(k, r, patience, patterns)
                row[f"{what} (samples/s)"] = f"{rate:,.1f}"
                row[f"times {what}"] = f"{rates['rand-esu'] / rate:,.0f}" if rate else "none found"
        table.append(row)
        print(row, flush=True)
    notes = [
        f"The first columns: seconds for {count:,} samples of {graphs.origin} with their patterns on {threads} threads,"
        " best of two. Then samples per second on one thread, patterns included.",
        "Plain Python: the paper's recursion over networkx graphs with the r at which Rand-ESU reaches as many leaves,"
        f" {patience:.0f} s at each size, one thread; the induced subgraph of each with its Weisfeiler-Lehman hash"
        " (ours gives the exact canonical form), and once more without either (node sets alone, while ours still"
        " counts its patterns in).",
        ars_note(graphs),
    ]
    if not quick:
        write_results("sampling", "Sampling", table, notes, where)


if __name__ == "__main__":
    main()

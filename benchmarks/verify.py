"""Counting given patterns: seconds per pattern side by side with igraph LAD and rustworkx VF2, all induced, in one run.

Run: python benchmarks/verify.py [--quick]
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import igraph
import numpy as np
import rustworkx

from common import machine, write_results
from grade.graphs import GraphSet, Pattern, PatternTable
from grade.sampling.census import take_census
from grade.sources import load
from grade.verify import count_pattern, count_patterns

NODES = 2000
LABELS = 10
HUBS = 10
HUB_DEGREE = 100
MOST_MAPPINGS = (
    20_000  # the peers list every mapping: patterns with more are left out, ours would only look better
)


def layered(rng: np.random.Generator, hubs: int) -> GraphSet:
    """One acyclic graph: each node gets one to three edges from the 30 nodes before it; hubs get 100 more."""
    edges = {
        (int(rng.integers(max(0, v - 30), v)), v) for v in range(1, NODES) for _ in range(rng.integers(1, 4))
    }
    for hub in rng.choice(NODES - 200, hubs, replace=False).tolist():
        edges |= {(hub, int(v)) for v in rng.choice(np.arange(hub + 1, NODES), HUB_DEGREE, replace=False)}
    return GraphSet.from_edges(
        node_counts=[NODES],
        node_types=rng.integers(0, LABELS, NODES),
        edge_counts=[len(edges)],
        edges=sorted(edges),
        node_vocabulary=[f"type-{i}" for i in range(LABELS)],
    )


def occurring_patterns(rng: np.random.Generator, graphs: GraphSet, k: int, count: int) -> PatternTable:
    """Patterns of connected subgraphs that were grown at random, few enough mappings each for the peers."""
    types = np.asarray(graphs.node_types)
    touching = [
        {*graphs.successors(v).tolist(), *graphs.predecessors(v).tolist()} for v in range(graphs.nodes)
    ]
    found: dict[str, Pattern] = {}
    while len(found) < count:
        nodes = [int(rng.integers(graphs.nodes))]
        while len(nodes) < k:
            border = sorted(set().union(*(touching[v] for v in nodes)) - set(nodes))
            nodes.append(int(rng.choice(border)))
        edges = [[int(u in graphs.predecessors(v)) for v in nodes] for u in nodes]
        pattern = Pattern.of(types[nodes], edges, graphs.node_vocabulary, graphs.edge_vocabulary)
        occurrences = count_pattern(graphs, pattern, threads=1, supports=False, seconds=10).occurrences
        if occurrences * pattern.automorphisms <= MOST_MAPPINGS:
            found[pattern.key] = pattern
    return PatternTable.from_keys(list(found), graphs.node_vocabulary, graphs.edge_vocabulary)


def lad(graphs: GraphSet, patterns: PatternTable) -> Callable[[], list[int]]:
    """igraph's LAD with the nodes of the right type as domains; graphs and domains are built beforehand."""
    target = igraph.Graph(n=graphs.nodes, edges=graphs.edge_list(0).tolist(), directed=True)
    of_type = {t: np.flatnonzero(graphs.node_types == t).tolist() for t in range(LABELS)}
    prepared = [
        (
            igraph.Graph(n=p.size, edges=[(i, j) for i, j, _ in p.edge_list], directed=True),
            [of_type[t] for t in p.node_types],
        )
        for p in patterns
    ]
    return lambda: [
        len(target.get_subisomorphisms_lad(small, domains=domains, induced=True))
        for small, domains in prepared
    ]


def vf2(graphs: GraphSet, patterns: PatternTable) -> Callable[[], list[int]]:
    """rustworkx's VF2 with node types compared; graphs are built beforehand."""

    def built(types: list[int], edges: list[Any]) -> rustworkx.PyDiGraph:
        graph = rustworkx.PyDiGraph()
        graph.add_nodes_from(types)
        graph.add_edges_from_no_data([(int(i), int(j)) for i, j in edges])
        return graph

    target = built(graphs.node_types.tolist(), graphs.edge_list(0).tolist())
    prepared = [built(list(p.node_types), [(i, j) for i, j, _ in p.edge_list]) for p in patterns]

    def same(a: int, b: int) -> bool:
        return a == b

    return lambda: [
        sum(1 for _ in rustworkx.vf2_mapping(target, small, node_matcher=same, subgraph=True, induced=True))
        for small in prepared
    ]


def processor_seconds(work: Callable[[], Any], at_least: float) -> float:
    """Mean processor time of a run, over as many runs as take so long: others on the machine do not count."""
    runs, begin = 0, time.process_time()
    while runs == 0 or time.process_time() - begin < at_least:
        work()
        runs += 1
    return (time.process_time() - begin) / runs


def compare(name: str, graphs: GraphSet, k: int, count: int, repeats: int) -> dict[str, Any]:
    patterns = occurring_patterns(np.random.default_rng(k), graphs, k, count)
    _ = graphs.core
    counts = count_patterns(graphs, patterns, threads=1)[0].tolist()
    expected = [c * a for c, a in zip(counts, patterns.automorphisms.tolist(), strict=True)]
    ways = {
        "ours": lambda: count_patterns(graphs, patterns, threads=1),
        "one call each": lambda: [
            count_pattern(graphs, p, threads=1, supports=False).occurrences for p in patterns
        ],
        "all supports": lambda: [count_pattern(graphs, p, threads=1).occurrences for p in patterns],
        "LAD": lad(graphs, patterns),
        "VF2": vf2(graphs, patterns),
    }
    assert ways["LAD"]() == ways["VF2"]() == expected
    seconds = dict.fromkeys(ways, float("inf"))
    for _ in range(repeats):  # in turns, so that a slow spell of the machine meets them all
        for way, work in ways.items():
            seconds[way] = min(seconds[way], processor_seconds(work, at_least=0.2))
    row: dict[str, Any] = {
        "graph": name,
        "k": k,
        "patterns": count,
        "occurrences (median)": int(np.median(counts)),
    }
    row |= {f"{way} (s)": f"{seconds[way] / count:.2e}" for way in ways}
    row |= {f"times {peer}": f"{seconds[peer] / seconds['ours']:.0f}" for peer in ("LAD", "VF2")}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer patterns, one turn")
    quick = parser.parse_args().quick
    where = machine()
    table = []
    for name, hubs in (("no hubs", 0), (f"{HUBS} hubs of degree {HUB_DEGREE}", HUBS)):
        graphs = layered(np.random.default_rng(0), hubs)
        for k in (6, 8, 10, 12):
            table.append(compare(name, graphs, k, 20 if quick or hubs else 100, 1 if quick or hubs else 5))
            print(table[-1], flush=True)
    notes = [
        f"Target: one acyclic graph of {NODES} nodes with {LABELS} node types. Patterns: connected subgraphs of it,"
        f" grown at random, with at most {MOST_MAPPINGS:,} mappings (the peers list them all). One thread; processor"
        " time per pattern, runs repeated for 0.2 s, the best of five turns (of one with hubs).",
        "'ours': `count_patterns` for all patterns in one call, indexing of the graph included. 'one call each' indexes"
        " the graph for every pattern; 'all supports' adds graphs, disjoint occurrences and coverage.",
        "LAD: igraph `get_subisomorphisms_lad(induced=True, domains=...)`. VF2: rustworkx `vf2_mapping(induced=True,"
        " node_matcher=...)`. Their graphs and domains are built beforehand and not timed. All three counts are equal.",
        zoo_note(),
    ]
    write_results("verify", "Counting given patterns", table, notes, where)


def zoo_note() -> str:
    """The same on real models with hubs, where the peers do not come to an end."""
    zoo = load("zoo")
    census = take_census(zoo, 5)
    patterns = census.patterns.take(np.argsort(~census.counts, kind="stable")[:300])
    begin = time.perf_counter()
    counts, exact = count_patterns(zoo, patterns, threads=1)
    seconds = time.perf_counter() - begin
    assert exact.all()
    assert np.array_equal(counts, np.sort(census.counts)[::-1][:300])
    return (
        f"zoo, k = 5, the 300 most frequent patterns ({int(counts.sum()):,} occurrences): {seconds / 300:.1e} s per"
        " pattern on one thread; the counts equal the census."
    )


if __name__ == "__main__":
    main()

"""The exact census side by side with its peers, one thread each, in one run; then k = 6 on zoo, and two threads.

Run: python benchmarks/census.py [--quick]
"""

import argparse
import resource
import time

import igraph
import numpy as np
import pynauty

from common import best_of, machine, write_results
from grade import _core
from grade.graphs import GraphSet
from grade.sampling.census import take_census
from grade.sources import load

CEILING = 80e6  # classified subgraphs per second and thread: the bound for one look-up per occurrence


def pynauty_rate(graphs: GraphSet, k: int, sample: int = 3000) -> float:
    """Occurrences per second when each is given to pynauty: induced subgraph, Graph, certificate."""
    rng = np.random.default_rng(0)
    chosen = graphs.subset(rng.permutation(len(graphs))[: min(len(graphs), 2000)])
    rows = _core.enumerate(chosen.core, k, _core.count_instances(chosen.core, k, 1, None), 1, None)
    rows = rows[rng.permutation(len(rows))[:sample]]
    successors = [chosen.successors(node).tolist() for node in range(chosen.nodes)]
    types = chosen.node_types.tolist()

    def classify_all() -> None:
        for nodes in rows.tolist():
            place = {node: i for i, node in enumerate(nodes)}
            adjacency = {i: [place[t] for t in successors[node] if t in place] for node, i in place.items()}
            colours: dict[int, set[int]] = {}
            for node, i in place.items():
                colours.setdefault(types[node], set()).add(i)
            graph = pynauty.Graph(k, True, adjacency, [colours[c] for c in sorted(colours)])
            _ = (tuple(sorted(types[node] for node in nodes)), pynauty.certificate(graph))

    return len(rows) / best_of(3, classify_all)


def igraph_seconds(graphs: GraphSet, k: int) -> tuple[float, int]:
    """Seconds of igraph's UNLABELLED directed motif counter over all graphs, and what it counts."""
    built = [
        igraph.Graph(n=int(graphs.node_counts[g]), edges=graphs.edge_list(g).tolist(), directed=True)
        for g in range(len(graphs))
    ]
    found = [0]

    def count() -> None:
        found[0] = sum(int(np.nansum(g.motifs_randesu(size=k))) for g in built)

    return best_of(2, count), found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out k = 6")
    quick = parser.parse_args().quick
    where = machine()
    zoo = load("zoo")
    small = zoo.subset(np.flatnonzero(zoo.node_counts <= 500))
    nas101 = load("nas-bench-101")
    table = []
    for name, graphs, k in (
        (f"zoo, {len(small)} graphs of at most 500 nodes", small, 4),
        (f"zoo, {len(small)} graphs of at most 500 nodes", small, 5),
        ("zoo", zoo, 4),
        ("zoo", zoo, 5),
        ("nas-bench-101", nas101, 4),
        ("nas-bench-101", nas101, 5),
    ):
        _ = graphs.core
        census = take_census(graphs, k, threads=1)
        ours = best_of(5, lambda g=graphs, k=k: _core.census(g.core, k, 1, None))
        both = best_of(5, lambda g=graphs, k=k: _core.census(g.core, k, 2, None))
        row = {
            "set": name,
            "k": k,
            "instances": f"{census.instances:,}",
            "patterns": f"{len(census.patterns):,}",
            "ours, 1 thread (s)": f"{ours:.3f}",
            "M/s": f"{census.instances / ours / 1e6:.0f}",
            "of the bound": f"{census.instances / ours / CEILING:.0%}",
            "2 threads": f"{ours / both:.2f}x",
            "times pynauty": f"{census.instances / ours / pynauty_rate(graphs, k):.0f}",
        }
        if k == 4 and len(graphs) < 1000:
            peer, counted = igraph_seconds(graphs, k)
            assert counted == census.instances, (counted, census.instances)
            row["times igraph, unlabelled"] = f"{peer / ours:.1f}"
        table.append(row)
        print(row, flush=True)
    if not quick:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        census = take_census(zoo, 6, threads=1)
        one = time.perf_counter() - start
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        start = time.perf_counter()
        take_census(zoo, 6, threads=2)
        two = time.perf_counter() - start
        assert (census.instances, len(census.patterns)) == (3_763_524_999, 83_562)
        table.append(
            {
                "set": "zoo",
                "k": 6,
                "instances": f"{census.instances:,}",
                "patterns": f"{len(census.patterns):,}",
                "ours, 1 thread (s)": f"{one:.1f}",
                "M/s": f"{census.instances / one / 1e6:.0f}",
                "of the bound": f"{census.instances / one / CEILING:.0%}",
                "2 threads": f"{one / two:.2f}x",
                "memory over k = 5 (MB)": f"{grown / 1024:.0f}",
            }
        )
    notes = [
        "'times pynauty': rate of this census over the rate of pynauty given one occurrence at a time (induced"
        " subgraph, Graph, certificate; enumeration not counted), on a sample of the same occurrences.",
        "'times igraph': seconds of `Graph.motifs_randesu(size=4)`, which ignores node types, over ours, on the same"
        " graphs in the same run; its total equals ours.",
        f"The bound is {CEILING / 1e6:.0f} M/s per thread for one random look-up per occurrence; counting the last two"
        " nodes by groups goes past it where hubs give many occurrences at once.",
    ]
    write_results("census", "Exact census", table, notes, where)


if __name__ == "__main__":
    main()

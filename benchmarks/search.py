"""The search on zoo: occurrences made and classified per second, peak memory, growth with the beam and with the set.

Run: python benchmarks/search.py
"""

import resource
import subprocess
import sys
import time

import numpy as np

from common import machine, write_results
from grade.graphs import GraphSet
from grade.search import Constraints, beam_search
from grade.search.beam import Bounds
from grade.sources import load

K = 7
CAPACITY = 4_000_000


def part_of(graphs: GraphSet, share: float) -> GraphSet:
    """About this share of the nodes: graphs in random order until there are enough."""
    order = np.random.default_rng(0).permutation(len(graphs))
    wanted = np.searchsorted(np.cumsum(graphs.node_counts[order]), share * graphs.nodes) + 1
    return graphs.subset(order[:wanted])


def one(beam: int, share: float) -> None:
    """One search in a process of its own, so that its peak memory is its own."""
    graphs = part_of(load("zoo"), share)
    _ = graphs.core
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    levels = list(
        beam_search(
            graphs,
            K,
            beam=beam,
            score=lambda lists: lists.counts,
            constraints=Constraints(),
            bounds=Bounds(CAPACITY, 2000),
            threads=2,
        )
    )
    seconds = time.perf_counter() - begin
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    made = sum(level.instances for level in levels)
    print(graphs.nodes, seconds, made, grown / 1024, float(levels[-1].lists.counts.max()))


def main() -> None:
    where = machine()
    table = []
    for beam, share in ((100, 1.0), (300, 1.0), (1000, 1.0), (3000, 1.0), (1000, 0.25), (1000, 0.5)):
        output = subprocess.run(
            [sys.executable, __file__, str(beam), str(share)], capture_output=True, text=True, check=True
        ).stdout.split()
        nodes, seconds, made, memory, best = map(float, output)
        table.append(
            {
                "beam": beam,
                "nodes": f"{nodes:,.0f}",
                "seconds to k = 7": f"{seconds:.1f}",
                "occurrences made": f"{made:,.0f}",
                "per second": f"{made / seconds:,.0f}",
                "peak memory over the set (MB)": f"{memory:,.0f}",
                "count of the best pattern": f"{best:.3g}",
            }
        )
        print(table[-1], flush=True)
    notes = [
        f"Two threads, lists of 2,000 occurrences, at most about {CAPACITY:,} occurrences made in a step; from all"
        " 3-subgraphs to k = 7, ranked by occurrences. Made: grown, joined by node set and classified exactly.",
    ]
    write_results("search", "Search", table, notes, where)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        one(int(sys.argv[1]), float(sys.argv[2]))
    else:
        main()

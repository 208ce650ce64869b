"""Randomisations with a census per second, one thread, beside graph-tool in the same run.

Run: python benchmarks/significance.py [--quick]   (graph-tool in Debian's Python, or in that of GRAPH_TOOL_PYTHON)
"""

import argparse
import json
import os
import subprocess
import time
from typing import Any

import networkx as nx
import numpy as np

from common import machine, write_results
from grade import _core
from grade.graphs import GraphSet
from grade.significance import NullModel
from grade.significance.mixing import choose_switches
from grade.sources import from_networkx, load

PYTHON = os.environ.get("GRAPH_TOOL_PYTHON", "/usr/bin/python3")
PEER = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import graph_tool.all as gt
task = json.load(sys.stdin)
gt.seed_rng(1)
gt.openmp_set_num_threads(1)
graphs = []
for nodes, edges in task["graphs"]:
    graph = gt.Graph(directed=task["directed"])
    graph.add_vertex(nodes)
    graph.add_edge_list(edges)
    graphs.append(graph)
begin = time.process_time()
for _ in range(task["draws"]):
    for graph in graphs:
        gt.random_rewire(graph, n_iter=1, self_loops=False, parallel_edges=False)
        gt.motifs(graph, task["k"])
print(json.dumps([(time.process_time() - begin) / task["draws"], gt.__version__]))
"""


def peer_seconds(graphs: GraphSet, k: int, draws: int, directed: bool) -> float:
    """Processor seconds of one sweep of graph-tool's random_rewire and its motifs, over all graphs, without types."""
    rows = []
    for graph in range(len(graphs)):
        edges = graphs.edge_list(graph)
        edges = edges[edges[:, 0] != edges[:, 1]] if directed else edges[edges[:, 0] < edges[:, 1]]
        if len(edges):
            rows.append((int(graphs.node_counts[graph]), edges.tolist()))
    task = {"graphs": rows, "k": k, "draws": draws, "directed": directed}
    done = subprocess.run(
        [PYTHON, "-W", "ignore", "-c", PEER],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(done.stdout.strip().splitlines()[-1])[0])


def our_seconds(graphs: GraphSet, k: int, null: NullModel, switches: float, draws: int) -> float:
    """Processor seconds of a draw with its exact typed census; the way to the hub is shared by all draws."""
    begin = time.process_time()
    _core.null_ensemble(graphs.core, k, *null.arguments, switches, 1, draws, False, 1, None)
    return (time.process_time() - begin) / draws


def side_by_side(
    name: str, graphs: GraphSet, k: int, ours: int, theirs: int, directed: bool
) -> dict[str, Any]:
    null = NullModel(allow_cycles=True).fitted(graphs)
    mine = our_seconds(graphs, k, null, 1.0, ours)
    peer = peer_seconds(graphs, k, theirs, directed)
    row = {
        "set": name,
        "k": k,
        "null model": "degrees, cycles allowed",
        "switches per edge": 1,
        "ours (per s)": f"{1 / mine:.3g}",
        "graph-tool (per s)": f"{1 / peer:.3g}",
        "times graph-tool": f"{peer / mine:.0f}",
    }
    print(row, flush=True)
    return row


def untyped(graphs: GraphSet) -> GraphSet:
    """The same graphs with one type of node, which is how graph-tool sees them."""
    return GraphSet.from_edges(
        node_counts=graphs.node_counts,
        node_types=np.zeros(graphs.nodes, int),
        edge_counts=graphs.edge_counts,
        edges=np.concatenate([graphs.edge_list(graph) for graph in range(len(graphs))]),
        node_vocabulary=["node"],
        origin=graphs.origin,
    )


def as_used(name: str, graphs: GraphSet, k: int, null: str, draws: int) -> dict[str, Any]:
    """With as many switches as mixing asks for."""
    model = NullModel(name=null).fitted(graphs)
    mixing = choose_switches(graphs, min(k, 3), model, 1, 1)
    mine = our_seconds(graphs, k, model, mixing.switches, draws)
    row = {
        "set": name,
        "k": k,
        "null model": null,
        "switches per edge": f"{mixing.switches:.0f}" + ("" if mixing.mixed else " (not mixed)"),
        "ours (per s)": f"{1 / mine:.3g}",
    }
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    quick, where = parser.parse_args().quick, machine()
    zoo, mini = load("zoo"), load("zoo-mini")
    small = zoo.subset(np.flatnonzero(zoo.node_counts <= 200))
    network = nx.DiGraph(nx.les_miserables_graph().to_directed().edges)
    nx.set_node_attributes(network, "character", "type")
    miserables = from_networkx([network])
    table = []
    for k in (3, 4, 5):
        table.append(
            side_by_side("Les Miserables (Knuth 1993)", miserables, k, 200 // k, 2 if k == 5 else 10, False)
        )
    for k in (3, 4, 5):
        table.append(
            side_by_side(
                f"zoo, {len(small)} graphs of at most 200 nodes, no types", untyped(small), k, 30, 1, True
            )
        )
    if not quick:
        for k in (3, 4):
            table.append(side_by_side("zoo, no types", untyped(zoo), k, 5, 1, True))
        for k, draws in ((3, 10), (4, 5), (5, 2)):
            row = {"set": "zoo", "k": k, "null model": "degrees, cycles allowed", "switches per edge": 1}
            mine = our_seconds(zoo, k, NullModel(allow_cycles=True), 1.0, draws)
            table.append({**row, "ours (per s)": f"{1 / mine:.3g}"})
            print(table[-1], flush=True)
        for null in ("levels", "types"):
            table.append(as_used("zoo-mini", mini, 3, null, 20))
        for null in ("levels", "degrees"):
            table.append(as_used("zoo", zoo, 3, null, 5))
    notes = [
        "One randomisation moves the edges of all graphs and counts every connected subgraph of k nodes. One thread,"
        " processor time, both programs in one run. Both propose one switch for each edge. graph-tool knows no types,"
        " so beside it ours counts without them as well; rows with types count typed patterns.",
        "graph-tool: `random_rewire(n_iter=1)` and `motifs(k)` for each graph, no self-loops, no parallel edges; Les"
        " Miserables is undirected, zoo directed.",
        "Rows without graph-tool: it has no such null model, or takes too long (zoo, k = 5). There the number of"
        " switches is the one that `grade significance` chooses by autocorrelation.",
    ]
    write_results("significance", "Randomisations with an exact census", table, notes, where)


if __name__ == "__main__":
    main()

"""graph-tool in a process of its own: Debian packages it for Debian's Python, seldom the one that runs this."""

import json
import os
import subprocess
from functools import cache
from typing import Any

PYTHON = os.environ.get("GRAPH_TOOL_PYTHON", "/usr/bin/python3")

SIGNIFICANCE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import graph_tool.all as gt
task = json.load(sys.stdin)
gt.seed_rng(task["seed"])
gt.openmp_set_num_threads(1)
def build(nodes, edges):
    graph = gt.Graph(directed=True)
    graph.add_vertex(nodes)
    graph.add_edge_list(edges)
    return graph
listed = [build(task["k"], edges) for edges in task["patterns"]]
found, z, counts, means, deviations = gt.motif_significance(
    build(task["nodes"], task["edges"]), task["k"], n_shuffles=task["draws"], motif_list=listed, full_output=True
)
edges = [[[int(u), int(v)] for u, v in pattern.iter_edges()] for pattern in found]  # in an order of its own
print(json.dumps([edges, *([float(value) for value in column] for column in (counts, means, deviations, z))]))
"""


@cache
def version() -> str:
    """The version of graph-tool, or nothing where there is none."""
    try:
        done = subprocess.run(
            [PYTHON, "-W", "ignore", "-c", "import graph_tool; print(graph_tool.__version__)"],
            capture_output=True,
            text=True,
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def run(program: str, task: dict[str, Any]) -> Any:
    """The JSON that a program prints last when it is given this task."""
    done = subprocess.run(
        [PYTHON, "-W", "ignore", "-c", program],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])

"""Complete mode on `zoo`: all patterns in at least S graphs, and gspan-mining on the same graphs without directions.

Run: python benchmarks/complete.py [--quick] (gspan-mining: pip install --no-deps gspan-mining; left out without it)
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from common import machine, write_results
from grade.sources import load

OURS = """
import json, sys
from grade.search import Constraints
from grade.search.complete import frequent_patterns
from grade.sources import load
k, least = int(sys.argv[1]), int(sys.argv[2])
found = frequent_patterns(load("zoo"), k, Constraints(min_graphs=least), threads=1)
print(json.dumps({level.size: len(level) for level in found}))
"""
THEIRS = """
import collections, io, json, sys
sys.argv[0] = "gspan"
from contextlib import redirect_stdout
from gspan_mining.gspan import gSpan
file, k, least = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
mined = gSpan(file, min_support=least, min_num_vertices=2, max_num_vertices=k, is_undirected=True)
sizes = collections.Counter()
mined._report = lambda projected: sizes.update([mined._DFScode.get_num_vertices()])
with redirect_stdout(io.StringIO()):
    mined.run()
print(json.dumps(sizes))
"""


def run(program: str, arguments: list[str], seconds: float) -> dict[str, Any]:
    """Processor seconds, peak memory and patterns by size of a program in a process of its own."""
    child = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, error = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return {"processor seconds": f"not done in {seconds:.0f} s of wall time"}
    if child.returncode:
        raise RuntimeError(error)
    return {"patterns by size": json.dumps(json.loads(out.splitlines()[-1])).strip("{}").replace('"', "")}


def measured(program: str, arguments: list[str], seconds: float) -> dict[str, Any]:
    """`run`, in a child whose own children are the program alone, so that the system tells what that used."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        import resource

        result = run(program, arguments, seconds)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        result.setdefault("processor seconds", round(used.ru_utime + used.ru_stime, 1))
        result["peak MB"] = used.ru_maxrss // 1024
        os.write(write, json.dumps(result).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        result = json.loads(pipe.read())
    os.waitpid(child, 0)
    return dict(result)


def without_directions(file: Path) -> None:
    """The graphs of zoo as gspan-mining reads them; opposite edges and self-loops are dropped."""
    zoo = load("zoo")
    lines = []
    for graph in range(len(zoo)):
        begin, end = zoo.node_offsets[graph : graph + 2]
        lines.append(f"t # {graph}")
        lines += [f"v {i} {kind}" for i, kind in enumerate(zoo.node_types[begin:end].tolist())]
        pairs = np.sort(zoo.edge_list(graph), axis=1)
        lines += [f"e {i} {j} 1" for i, j in np.unique(pairs, axis=0).tolist() if i != j]
    file.write_text("\n".join([*lines, "t # -1"]) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--limit", type=float, default=300, help="seconds of wall time for each run of gspan-mining"
    )
    chosen = parser.parse_args()
    where = machine()
    table: list[dict[str, Any]] = []
    for k, least in (
        [(4, 20), (5, 20)] if chosen.quick else [(4, 20), (5, 20), (8, 20), (10, 20), (6, 5), (8, 5)]
    ):
        table.append({"tool": "GraDE, complete", "k": k, "graphs at least": least})
        table[-1] |= measured(OURS, [str(k), str(least)], 3600)
        print(table[-1], flush=True)
    try:
        import gspan_mining  # noqa: F401 (only whether it is there)
    except ImportError:
        print("gspan-mining is not installed")
    else:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "zoo.txt"
            without_directions(file)
            for k, least in [(3, 150)] if chosen.quick else [(3, 100), (4, 20), (5, 20)]:
                table.append({"tool": "gspan-mining, undirected", "k": k, "graphs at least": least})
                table[-1] |= measured(THEIRS, [str(file), str(k), str(least)], chosen.limit)
                print(table[-1], flush=True)
    notes = [
        "One thread; seconds and memory include the start of Python and the loading of the set.",
        "gspan-mining finds other patterns: without directions, and not induced. Its figures say how such a search in"
        " Python scales, not who is right; the tests compare ours with the census filtered by graphs.",
    ]
    write_results("complete", "Every pattern in at least so many graphs of zoo", table, notes, where)


if __name__ == "__main__":
    main()

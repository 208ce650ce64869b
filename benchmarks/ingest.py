"""Building a graph set from generated files: time, and memory that does not grow with the set.

Run: python benchmarks/ingest.py [--nodes N] [--onnx-nodes N]

The default builds 30 million nodes (the size of Younger) from JSON lines and 3 million from ONNX files, in four minutes
on two cores; 30 million from ONNX files take a quarter of an hour.

Each row runs `grade graphs build` in a process of its own; its memory and that of all its workers are looked at
every 50 ms. A row of a tenth of the size comes first: where memory is bounded, both peaks are about the same.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onnx import TensorProto, helper

from common import machine, write_results
from grade.graphs.storage import load_graph_set

MODEL_NODES = 20_000  # of one ONNX file; the largest graph of Younger has 45,670
LINE_NODES = 400  # of one graph in JSON lines
LINES = 500  # graphs of one file
KINDS = ("Conv", "BatchNormalization", "Relu", "Add", "MaxPool", "Concat", "Sigmoid", "Mul")


def onnx_model(variant: int) -> bytes:
    """A chain of operators, each fourth of which also reads one from further up."""
    nodes = []
    for i in range(MODEL_NODES):
        inputs = [f"v{i}"] + ([f"v{i - 3}"] if i % 4 == 3 else [])
        kind = KINDS[(i + variant) % len(KINDS)]
        nodes.append(helper.make_node(kind, inputs, [f"v{i + 1}"], name=f"/layer{i // 8}/{kind}_{i}"))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("v0", f"v{MODEL_NODES}")]
    graph = helper.make_graph(nodes, "generated", ends[:1], ends[1:])
    return helper.make_model(graph).SerializeToString()


def json_lines(variant: int) -> bytes:
    """Graphs of the same shape as JSON."""
    lines = []
    for line in range(LINES):
        types = [KINDS[(i * (line + 1) + variant) % len(KINDS)] for i in range(LINE_NODES)]
        edges = [[i, i + 1] for i in range(LINE_NODES - 1)] + [
            [i, i + 4] for i in range(0, LINE_NODES - 4, 4)
        ]
        lines.append(json.dumps({"nodes": types, "edges": edges, "name": f"{variant}/{line}"}))
    return "\n".join(lines).encode()


def generate(folder: Path, suffix: str, make: Callable[[int], bytes], files: int) -> None:
    """Files of which every tenth is new and the others are links to it: disk is not what is measured."""
    folder.mkdir()
    for number in range(files):
        place = folder / f"{number:06}{suffix}"
        if number < 10:
            place.write_bytes(make(number))
        else:
            os.link(folder / f"{number % 10:06}{suffix}", place)


def memory_of(root: int) -> tuple[float, float]:
    """(MB of a process, MB of all its descendants): resident and not shared with a file."""
    parents, sizes = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = (folder / "status").read_text()
            except OSError:
                continue
            values = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            parents[int(folder.name)] = int(values["PPid"])
            sizes[int(folder.name)] = int(values.get("RssAnon", "0 kB").split()[0]) / 1024

    def below(process: int) -> bool:
        while process not in (0, 1):
            process = parents.get(process, 0)
            if process == root:
                return True
        return False

    return sizes.get(root, 0.0), sum(size for process, size in sizes.items() if below(process))


def measure(folder: Path, out: Path) -> dict[str, Any]:
    program = "import sys, grade.cli; sys.argv[0] = 'grade'; grade.cli.main()"
    command = [sys.executable, "-c", program, "graphs", "build", str(folder), str(out), "--json"]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = peak_workers = 0.0
    while process.poll() is None:
        main, workers = memory_of(process.pid)
        peak, peak_workers = max(peak, main), max(peak_workers, workers)
        time.sleep(0.05)
    seconds = time.perf_counter() - begin
    assert process.stdout is not None
    report = json.loads(process.stdout.read())
    assert not report["skipped"], report["skipped"][:3]
    begin = time.perf_counter()
    opened = load_graph_set(out)
    open_seconds = time.perf_counter() - begin
    assert (opened.nodes, opened.edges) == (report["nodes"], report["edges"])
    stored = sum(file.stat().st_size for file in out.iterdir())
    return {
        "files": f"{report['inputs']:,}",
        "graphs": f"{report['graphs']:,}",
        "nodes": f"{report['nodes']:,}",
        "seconds": f"{seconds:.1f}",
        "nodes/s": f"{report['nodes'] / seconds:,.0f}",
        "peak MB": f"{peak:.0f}",
        "peak MB of all workers": f"{peak_workers:.0f}",
        "MB on disk": f"{stored / 2**20:.0f}",
        "ms to open": f"{1000 * open_seconds:.1f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=30_000_000, help="nodes of the larger set of JSON lines")
    parser.add_argument("--onnx-nodes", type=int, default=3_000_000, help="nodes of that of ONNX files")
    sizes = parser.parse_args()
    where = machine()
    table = []
    with tempfile.TemporaryDirectory() as place:
        for kind, suffix, make, each, nodes in (
            ("ONNX", ".onnx", onnx_model, MODEL_NODES, sizes.onnx_nodes),
            ("JSON lines", ".jsonl", json_lines, LINE_NODES * LINES, sizes.nodes),
        ):
            for size in (nodes // 10, nodes):
                folder = Path(place) / f"{kind}-{size}"
                generate(folder, suffix, make, max(size // each, 1))
                table.append({"kind": kind, **measure(folder, folder.with_suffix(".set"))})
                print(table[-1], flush=True)
    notes = [
        "Memory is what the processes have to themselves (RssAnon): first that of the process that writes, then the sum"
        " over its workers (one for each core) and their forks.",
        f"ONNX files have {MODEL_NODES:,} operators each; a JSON lines file has {LINES} graphs of {LINE_NODES} nodes.",
    ]
    write_results("ingest", "Building sets from files", table, notes, where)


if __name__ == "__main__":
    main()

"""Processor time and peak memory of all commands, on generated sets of 0.3, 3 and 30 million nodes.

Run: python benchmarks/scale.py --work FOLDER [--sizes 0.3 3 30] [--only NAME ...]

Sets come from experiments/scale/generate.py: 314 types, graphs of 1,980 nodes in the mean. A cell is one command in a
process of its own. Cells that are done are kept in FOLDER, with the commit they were measured on, and not run again.
One that takes more than --seconds of processor time is killed, and noted as such. A search that was killed goes on when
it is asked for again; its cell then has the time of all its parts.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from common import machine, write_results

ROOT = Path(__file__).parents[1]
GRADE = [sys.executable, "-m", "grade.cli"]
DEMO = ["--contains", "Conv*", "--max-in-degree", "2", "--max-out-degree", "2"]
RANKINGS = ("occurrences", "graphs", "disjoint")
COUNTED = "Conv -> BatchNormalization -> Relu"
MOST = 9 << 30  # bytes of private memory


def commands(place: Path, nodes: float) -> dict[str, list[str]]:
    """By name, the commands on the set of so many million nodes, in the order in which they can run."""
    folder = str(place / f"set-{nodes:g}")
    found = {
        "build": [
            sys.executable,
            str(ROOT / "experiments" / "scale" / "generate.py"),
            *("--nodes", f"{nodes}e6", "--mean-size", "1980", "--force", "--out", folder),
        ],
        "info": [*GRADE, "graphs", "info", folder, "--json"],
    }
    for k in (3, 4):
        found[f"census k={k}"] = [*GRADE, "census", folder, "-k", str(k), "--json"]
    for k in (10, 15):
        for method in ("rand-esu", "rand-fase", "nrs"):
            found[f"{method} k={k}"] = [*GRADE, "sample", folder, "-k", str(k), "--count", "40000"]
            found[f"{method} k={k}"] += [
                "--method",
                method,
                "--out",
                str(place / f"sample-{method}-{k}-{nodes:g}"),
            ]
    found["verify"] = [*GRADE, "verify", COUNTED, folder, "--json"]
    for memory in ("4G", "8G"):
        for limits, wishes in (("", []), (" demo", DEMO)):
            for by in RANKINGS:
                run = str(place / f"run-{nodes:g}-{memory}-{by}{limits.strip()}")
                found[f"mine {memory} {by}{limits}"] = [*GRADE, "mine", folder, "-k", "8", "--all", "--json"]
                found[f"mine {memory} {by}{limits}"] += [
                    "--rank-by",
                    by,
                    "--memory",
                    memory,
                    "--out",
                    run,
                    *wishes,
                ]
                found[f"mine {memory} {by}{limits}"] += ["--seconds-per-pattern", "2"]
    found["report"] = [*GRADE, "report", str(place / f"run-{nodes:g}-4G-occurrences"), "--json"]
    found["blocks"] = [*GRADE, "blocks", folder, "--json"]
    return found


def measured(command: list[str], seconds: int) -> dict[str, Any]:
    """Processor seconds and peak memory of a command, and how it ended."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MOST, MOST))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))

    script = "import json, resource, subprocess, sys; p = subprocess.run(sys.argv[1:]);" + (
        "u = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(json.dumps([p.returncode, u.ru_utime + u.ru_stime, u.ru_maxrss]), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
    )
    *said, last = done.stderr.strip().splitlines()
    code, spent, peak = json.loads(last)
    ended = f"exit code {code}: {said[-1][:120] if said else ''}" if code else ""
    if code < 0:
        ended = f"killed after {spent:.0f} s" if spent >= seconds else f"killed by signal {-code}"
    return {"ended": ended, "processor_s": round(spent, 1), "peak_mb": peak // 1024}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True, help="folder for sets, runs and finished cells")
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.3, 3, 30], help="million nodes")
    parser.add_argument(
        "--only", nargs="*", help="names of cells, or how they begin; none: only write the table"
    )
    parser.add_argument("--seconds", type=int, default=1800, help="most processor time for one cell")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    where, kept = machine(), given.work / "cells.json"
    cells: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {}
    for nodes in given.sizes:
        for name, command in commands(given.work, nodes).items():
            wanted = given.only is None or any(name.startswith(start) for start in given.only)
            key = f"{nodes:g} {name}"
            if not wanted or cells.get(key, {}).get("ended") == "":
                continue
            now = machine()
            found = {
                "commit": now["commit"],
                "load": now["load_at_start"],
                **measured(command, given.seconds),
            }
            if cells.get(key, {}).get("ended", "").startswith("killed") and name.startswith("mine"):
                found["processor_s"] = round(found["processor_s"] + cells[key]["processor_s"], 1)
            cells = {**(json.loads(kept.read_text()) if kept.exists() else {}), key: found}
            print(key, found, flush=True)
            kept.write_text(json.dumps(cells, indent=1) + "\n")
    table = []
    for name in commands(given.work, 1):
        row: dict[str, Any] = {"command": name}
        for nodes in (0.3, 3, 30):
            cell = cells.get(f"{nodes:g} {name}", {})
            row[f"{nodes:g} M: processor s"] = cell.get("processor_s", "")
            row[f"{nodes:g} M: peak MB"] = cell.get("ended") or cell.get("peak_mb", "")
        if len(set(row.values())) > 2:
            table.append(row)
    loads = [cell["load"] / (os.cpu_count() or 1) for cell in cells.values() if "load" in cell] or [0.0]
    notes = [
        "Sets of `experiments/scale/generate.py`: 314 node types, 1,980 nodes a graph in the mean; `build` makes them.",
        "Peak memory counts pages of mapped files. `mine` is to 8 nodes with a beam of 1,000;"
        f" demo: `{' '.join(DEMO)}`; the number after it is `--memory`.",
        "Other work ran on the machine, which as much as doubles processor time: processes per core that wanted to run"
        f" when a cell began: {min(loads):.0f} to {max(loads):.0f}. Empty cells were not run.",
        "Commits on which the cells were measured: "
        + ", ".join(sorted({c.get("commit", "earlier") for c in cells.values()}))
        + ".",
    ]
    write_results("scale", "Scale: 0.3, 3 and 30 million nodes", table, notes, where)


if __name__ == "__main__":
    main()

"""What all benchmarks share: timing, the machine, and the files that results go to."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def best_of(repeats: int, work: Callable[[], Any]) -> float:
    """Seconds of the fastest of several runs: what the machine can do when others leave it alone."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def machine() -> dict[str, Any]:
    """The processor, the load and the commit under which figures were taken."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    named = os.environ.get("GRADE_COMMIT")  # where the tree was copied without its history
    commit = (
        named
        or subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent
        ).stdout.strip()
    )
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "load_at_start": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "commit": commit,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def write_results(
    name: str, title: str, table: list[dict[str, Any]], notes: list[str], where: dict[str, Any]
) -> None:
    """Write a table as JSON and as Markdown, and print the latter."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(
        json.dumps({"machine": where, "rows": table, "notes": notes}, indent=1) + "\n"
    )
    columns = list(dict.fromkeys(column for row in table for column in row))
    lines = [f"# {title}", "", f"Made by `python benchmarks/{name}.py`.", ""]
    lines += ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(row.get(column, "")) for column in columns) + " |" for row in table]
    lines += [""] + [f"- {note}" for note in notes]
    lines += ["- Machine: " + ", ".join(f"{key} {value}" for key, value in where.items()) + "."]
    text = "\n".join(lines) + "\n"
    (RESULTS / f"{name}.md").write_text(text)
    print(text)

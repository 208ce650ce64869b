"""Seconds of a fit of the autoregressive estimator on a CPU with one thread and with all, in the same run, and whether
both give the same model.

Run: python benchmarks/fit.py [--quick]
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from common import machine, write_results
from grade.estimators import fit_to_folder, preset_for
from grade.estimators.protocol import TENSOR_FILE
from grade.machine import available_threads
from grade.sampling import sample
from grade.sources import load


def row(name: str, k: int, preset: str, **changes: Any) -> dict[str, Any]:
    drawn = sample(load(name), k, "rand-esu", density=0.1)
    settings = preset_for([drawn], "autoregressive", preset, device="cpu", **changes)
    seconds, models = [], []
    with tempfile.TemporaryDirectory() as folder:
        for threads in (1, available_threads()):
            out, start = Path(folder) / str(threads), time.perf_counter()
            model = fit_to_folder(drawn, settings, out, threads=threads)
            seconds.append(time.perf_counter() - start)
            models.append((out / TENSOR_FILE).read_bytes())
    return {
        "set": name,
        "k": k,
        "preset": preset,
        "occurrences": f"{len(drawn):,}",
        "steps": f"{model.fitted['steps']:,}",
        "one thread": f"{seconds[0]:.0f} s",
        "all threads": f"{seconds[1]:.0f} s",
        "times faster": f"{seconds[0] / seconds[1]:.2f}",
        "the same model": "yes" if models[0] == models[1] else "NO",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few steps, to see that it runs")
    quick = parser.parse_args().quick
    changes = {"maximum_steps": 50} if quick else {}
    where = machine()
    table = [
        row(name, k, preset, **changes)
        for name, k, preset in (
            ("nas-bench-201", 4, "fast"),
            ("nas-bench-201", 4, "default"),
            ("nas-bench-101", 4, "fast"),
            ("nas-bench-101", 4, "default"),
        )
    ]
    notes = [
        "Each training takes one thread; the default preset has nine of them (2 trials, 2 rehearsals, 5 networks), the"
        " fast one three that wait for each other.",
    ]
    if quick:
        print(*table, sep="\n")
    else:
        write_results("fit", "Fits on a CPU", table, notes, where)


if __name__ == "__main__":
    main()

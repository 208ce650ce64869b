"""Processor seconds of a fit of the autoregressive estimator on a CPU, beside rho against the exact census.

Run: python benchmarks/fit.py [--quick]
"""

import argparse
import time
from typing import Any

from common import machine, write_results
from grade.estimators import fit, preset_for
from grade.evaluation.correlation import spearman
from grade.sampling import sample
from grade.sampling.census import take_census
from grade.sources import load


def row(name: str, k: int, preset: str, **changes: Any) -> dict[str, Any]:
    graphs = load(name)
    census = take_census(graphs, k)
    drawn = sample(graphs, k, "rand-esu", count=10_000)
    settings = preset_for([drawn], "autoregressive", preset, device="cpu", **changes)
    begin = time.process_time()
    model = fit(drawn, settings)
    seconds = time.process_time() - begin
    return {
        "set": name,
        "k": k,
        "preset": preset,
        "occurrences": f"{len(drawn):,}",
        "steps": f"{model.fitted.steps or 0:,}",
        "processor seconds": f"{seconds:.0f}",
        "rho": f"{spearman(model.log_probability(census.patterns), census.counts):.3f}",
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
            ("zoo", 4, "fast"),
            ("zoo", 4, "default"),
            ("nas-bench-101", 5, "fast"),
            ("nas-bench-101", 5, "default"),
            ("nas-bench-201", 6, "fast"),
            ("nas-bench-201", 6, "default"),
        )
    ]
    notes = ["10,000 occurrences each. A training takes one thread."]
    if quick:
        print(*table, sep="\n")
    else:
        write_results("fit", "Fits on a CPU", table, notes, where)


if __name__ == "__main__":
    main()

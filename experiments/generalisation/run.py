"""How well estimators rank the patterns of sets of several domains.

    python experiments/generalisation/run.py --set zoo --set molecules -k 4          # appends to results/rows.jsonl
    python experiments/generalisation/run.py --table                                 # writes results/results.md

Each row: the exact census, a Rand-ESU sample that shows a tenth of the patterns, and Spearman's rho and Kendall's tau-b
over all patterns by each estimator. Rows that are there are not made again. The design of the posterior was chosen by
looking at some rows (`LOOKED_AT`); the others are reports. Seconds are of the processor, sample and parts not counted.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from domains import load_domain
from numpy.typing import NDArray

from grade.estimators import fit, preset_for
from grade.estimators.evidence.part_sources import affordable_size, part_sources
from grade.evaluation.correlation import kendall, spearman
from grade.files import whole_file
from grade.sampling import sample
from grade.sampling.census import take_census

RESULTS = Path(__file__).parent / "results"
ROWS = RESULTS / "rows.jsonl"
# Sets and sizes that were looked at while the posterior was designed, with the sample of seed 0.
LOOKED_AT = {
    (name, k)
    for k, names in {
        4: "nas-bench-101 nas-bench-201 darts nas-bench-nlp zoo molecules circuits onnx-light bytecode syntax",
        5: "nas-bench-201 nas-bench-nlp zoo molecules circuits onnx-light bytecode",
    }.items()
    for name in names.split()
}
ESTIMATORS = {
    "frequency": ("frequency", "default"),
    "parts": ("parts", "default"),
    "fast": ("autoregressive", "fast"),
    "default": ("autoregressive", "default"),
}

Values = NDArray[np.float64]


def rows_of(name: str, k: int, seed: int, estimators: list[str], folder: Path | None, most: int) -> None:
    """Measure what is not there yet."""
    known = {(r["set"], r["k"], r["seed"], r["estimator"]) for r in read_rows()}
    wanted = [e for e in estimators if (name, k, seed, e) not in known]
    if not wanted:
        return
    graphs = load_domain(name, folder)
    census = take_census(graphs, k)
    if census.instances > most:
        drawn = sample(graphs, k, "rand-esu", count=40_000, seed=seed)
    else:
        drawn = sample(graphs, k, "rand-esu", density=0.1, seed=seed, census=census)
    facts = {
        "set": name,
        "k": k,
        "seed": seed,
        "instances": census.instances,
        "patterns": len(census.patterns),
        "occurrences": len(drawn),
        "seen": len(drawn.patterns),
    }

    def note(estimator: str, scores: Values, **more: Any) -> None:
        figures = {"spearman": spearman(scores, census.counts), "kendall": kendall(scores, census.counts)}
        row = {**facts, "estimator": estimator, **figures, **more}
        RESULTS.mkdir(exist_ok=True)
        with ROWS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{name} k = {k} {estimator}: {figures['spearman']:.3f}", flush=True)

    if (name, k, seed, "joined") not in known and drawn.parts is not None:
        sources = part_sources(census.patterns, drawn.parts.counts, affordable_size(k, drawn.parts.size))
        for source, scores in zip(("joined", "rarest"), sources.T, strict=False):
            note(source, scores)
    for one in wanted:
        estimator, preset = ESTIMATORS[one]
        begin = time.process_time()
        model = fit(drawn, preset_for([drawn], estimator, preset, seed=seed, device="cpu"))
        seconds = time.process_time() - begin
        posterior = model.fitted.to_json().get("posterior", {}).get(str(k))
        scores = model.log_probability(census.patterns)
        note(
            one,
            scores,
            fit_seconds=round(seconds, 1),
            steps=model.fitted.steps,
            posterior=posterior,
        )


def read_rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []


def table() -> str:
    """All rows as a table, the means over seeds."""
    columns = ["joined", "rarest", "frequency", "parts", "fast", "default"]
    cells: dict[tuple[str, int], dict[str, list[dict[str, Any]]]] = {}
    for row in read_rows():
        cells.setdefault((row["set"], row["k"]), {}).setdefault(row["estimator"], []).append(row)
    lines = [
        "# Sets of several domains",
        "",
        "Spearman's rho / Kendall's tau-b over all patterns, from a Rand-ESU sample that shows a tenth of them, or of",
        "40,000 occurrences where that would take more. 'Gain' is the rho of default (where it is missing, of fast",
        "or parts) above the best of joined, rarest and frequency. Rows with * were looked at while the posterior was",
        "designed. Seconds are those of the processor for the fit. Made by `python experiments/generalisation/run.py`.",
        "",
        "| set | k | patterns | occurrences | "
        + " | ".join(columns)
        + " | gain | seconds of parts, fast, default |",
        "|" + "---|" * (6 + len(columns)),
    ]
    gains = []
    for (name, k), found in sorted(cells.items(), key=lambda item: (item[0][1], item[0][0])):
        first = next(iter(found.values()))[0]

        def mean(estimator: str, key: str, found: dict[str, list[dict[str, Any]]] = found) -> float:
            return float(np.mean([row[key] for row in found[estimator]])) if estimator in found else np.nan

        texts = [
            f"{mean(c, 'spearman'):.3f} / {mean(c, 'kendall'):.3f}" if c in found else "-" for c in columns
        ]
        best = max(mean(c, "spearman") for c in ("joined", "rarest", "frequency") if c in found)
        last = next((e for e in ("default", "fast", "parts") if e in found), "")
        gain = mean(last, "spearman") - best
        gains.append(gain)
        seconds = ", ".join(
            f"{mean(e, 'fit_seconds'):.0f}" if e in found else "-" for e in ("parts", "fast", "default")
        )
        mark = "*" if (name, k) in LOOKED_AT else ""
        lines.append(
            f"| {name}{mark} | {k} | {first['patterns']:,} | {first['occurrences']:,} | {' | '.join(texts)} |"
            f" {gain:+.3f} | {seconds} |"
        )
    lines += ["", f"Gain: least {min(gains):+.3f}, mean {np.mean(gains):+.3f}, of {len(gains)} rows.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", action="append", default=[], help="a domain, or a source that grade knows")
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--estimators", default="frequency,parts,fast,default")
    parser.add_argument("--data", type=Path, help="the folder of the wheels and of NAS-Bench-NLP's recipes")
    parser.add_argument(
        "--most", type=int, default=10**9, help="instances up to which a tenth of the patterns is drawn"
    )
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.set:
        rows_of(
            name, arguments.k, arguments.seed, arguments.estimators.split(","), arguments.data, arguments.most
        )
    if arguments.table:
        with whole_file(RESULTS / "results.md") as temporary:
            temporary.write_text(table())


if __name__ == "__main__":
    main()

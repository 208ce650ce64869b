"""How well estimators rank the patterns of sets of several domains.

    python experiments/generalisation/run.py --set zoo --set molecules -k 4 --seed 1    # appends to results/rows.jsonl
    python experiments/generalisation/run.py --set zoo -k 4 --seed 1 --estimators settings
    python experiments/generalisation/run.py --table                                    # writes results/results.md

Each row: the exact census, a Rand-ESU sample that shows a tenth of the patterns, and Spearman's rho and Kendall's tau-b
over all patterns by each estimator. Rows that are there are not made again. The design of the posterior was chosen by
looking at some rows (`LOOKED_AT`); the others are reports. Settings of `parts` (`SETTINGS`) are chosen, one set left
out, by the others. Seconds are of the processor, sample and parts not counted.
"""

import argparse
import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

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
EVIDENCE = "grade.estimators.evidence"
# What `parts` could do otherwise: values of its modules that take the place of theirs.
SETTINGS: dict[str, dict[str, Any]] = {
    "parts": {},
    "no raking": {f"{EVIDENCE}.part_model.MOST_RAKED": 0},
    "weights from the sample alone": {f"{EVIDENCE}.part_model.weights_below": lambda parts, gap: None},
    "no exchangeable types": {f"{EVIDENCE}.exchangeable.MOST_TYPES": 0},
    "pull 0.1": {f"{EVIDENCE}.rates.PULL": 0.1},
    "pull 2.5": {f"{EVIDENCE}.rates.PULL": 2.5},
}
ESTIMATORS = {
    **dict.fromkeys(SETTINGS, ("parts", "default")),
    "frequency": ("frequency", "default"),
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
        with ExitStack() as changed:
            for place, value in SETTINGS.get(one, {}).items():
                changed.enter_context(patch(place, value))
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


Cells = dict[tuple[str, int], dict[str, list[dict[str, Any]]]]


def cells_of(rows: list[dict[str, Any]]) -> Cells:
    """Rows by set and size, and by estimator."""
    cells: Cells = {}
    for row in sorted(rows, key=lambda row: (row["k"], row["set"])):
        cells.setdefault((row["set"], row["k"]), {}).setdefault(row["estimator"], []).append(row)
    return cells


def mean(rows: list[dict[str, Any]], key: str = "spearman") -> float:
    return float(np.mean([row[key] for row in rows]))


def table(cells: Cells) -> list[str]:
    """The estimators beside what needs no training, the means over seeds."""
    columns = ["joined", "rarest", "frequency", "parts", "fast", "default"]
    lines = [
        "| set | k | patterns | occurrences | "
        + " | ".join(columns)
        + " | gain | seconds of parts, fast, default |",
        "|" + "---|" * (6 + len(columns)),
    ]
    gains = []
    for (name, k), found in cells.items():
        first = next(iter(found.values()))[0]
        texts = [
            f"{mean(found[c]):.3f} / {mean(found[c], 'kendall'):.3f}" if c in found else "-" for c in columns
        ]
        last = next((e for e in ("default", "fast", "parts") if e in found), None)
        if last is None:
            continue
        gain = mean(found[last]) - max(mean(found[c]) for c in columns[:3] if c in found)
        gains.append(gain)
        seconds = [f"{mean(found[e], 'fit_seconds'):.0f}" if e in found else "-" for e in columns[3:]]
        lines.append(
            f"| {name} | {k} | {first['patterns']:,} | {first['occurrences']:,} | {' | '.join(texts)} |"
            f" {gain:+.3f} | {', '.join(seconds)} |"
        )
    lines += ["", f"Gain: least {min(gains):+.3f}, mean {np.mean(gains):+.3f}, of {len(gains)} rows.", ""]
    return lines


def one_left_out(cells: Cells) -> list[str]:
    """For each set, the setting with the highest mean rho on the other sets, and what it brings on this one."""
    rho: dict[str, dict[str, float]] = {}  # by set, the mean over sizes of those that have all settings
    for name in dict.fromkeys(name for name, _ in cells):
        sizes = [found for (own, _), found in cells.items() if own == name and set(SETTINGS) <= set(found)]
        if sizes:
            rho[name] = {s: float(np.mean([mean(found[s]) for found in sizes])) for s in SETTINGS}
    lines = ["| set left out | chosen by the others | " + " | ".join(SETTINGS) + " |"]
    lines.append("|" + "---|" * (2 + len(SETTINGS)))
    won = []
    for name, own in rho.items():
        others = {s: np.mean([values[s] for other, values in rho.items() if other != name]) for s in SETTINGS}
        chosen = max(SETTINGS, key=lambda s: others[s])
        won.append(own[chosen] - own["parts"])
        lines.append(f"| {name} | {chosen} | " + " | ".join(f"{own[s]:.3f}" for s in SETTINGS) + " |")
    means = " | ".join(f"{np.mean([own[s] for own in rho.values()]):.3f}" for s in SETTINGS)
    lines += [f"| mean | | {means} |", ""]
    lines += [f"Chosen this way, rho is {np.mean(won):+.4f} from that of `parts` as it is.", ""]
    return lines


def page() -> str:
    """All rows."""
    rows = read_rows()
    looked = [row["seed"] == 0 and (row["set"], row["k"]) in LOOKED_AT for row in rows]
    fresh = cells_of([row for row, seen in zip(rows, looked, strict=True) if not seen])
    seen = cells_of([row for row, seen in zip(rows, looked, strict=True) if seen])
    return "\n".join(
        [
            "# Sets of several domains",
            "",
            "Spearman's rho / Kendall's tau-b over all patterns, from a Rand-ESU sample that shows a tenth of them, or",
            "of 40,000 occurrences where that would take more. 'Gain' is the rho of default (where it is missing, of",
            "fast or parts) above the best of joined, rarest and frequency. Seconds are those of the processor for",
            "the fit. Made by `python experiments/generalisation/run.py`.",
            "",
            "## Samples that nobody had looked at",
            "",
            *table(fresh),
            "## Samples that were looked at while the posterior was designed",
            "",
            *table(seen),
            "## Settings chosen on the other sets",
            "",
            "Rho of `parts` and of what it could do otherwise, the means over the sizes of a set; fresh samples only.",
            "",
            *one_left_out(fresh),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", action="append", default=[], help="a domain, or a source that grade knows")
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--estimators", default="frequency,parts,fast,default", help="names, or settings: all those of parts"
    )
    parser.add_argument("--data", type=Path, help="the folder of the wheels and of NAS-Bench-NLP's recipes")
    parser.add_argument(
        "--most", type=int, default=10**9, help="instances up to which a tenth of the patterns is drawn"
    )
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    estimators = list(SETTINGS) if arguments.estimators == "settings" else arguments.estimators.split(",")
    for name in arguments.set:
        rows_of(name, arguments.k, arguments.seed, estimators, arguments.data, arguments.most)
    if arguments.table:
        with whole_file(RESULTS / "results.md") as temporary:
            temporary.write_text(page())


if __name__ == "__main__":
    main()

"""How many patterns of 7 and 8 nodes get a count within 20 % in a minute of one core?

    python experiments/rare_patterns/run.py [--sizes 7 8] [--only-bounds] [--out FOLDER]

Stratified sampling beside uniform sampling (Rand-ESU, with weights that estimate counts), which draws until the minute
of processor time is over. A census of these sizes takes too long, so patterns are drawn at random from all that either
method found, and each is counted exactly by matching.
How often counts keep their bounds is told for 6 nodes, where a census gives the truth for all patterns.
Results: rare.csv, bounds.csv and README.md.
"""

import argparse
import csv
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.graphs import GraphSet, PatternTable
from grade.sampling import sample
from grade.sampling.census import take_census
from grade.sources import load
from grade.verify import count_patterns

HERE = Path(__file__).parent
Row = dict[str, Any]


def merged(
    tables: list[PatternTable], weights: list[NDArray[np.float64]]
) -> tuple[PatternTable, NDArray[np.float64]]:
    """(distinct patterns, their weights added up)."""
    keys = np.concatenate([table.keys for table in tables])
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    sums = np.bincount(place, np.concatenate(weights))
    whole = PatternTable(
        np.concatenate([table.node_types for table in tables]),
        np.concatenate([table.edges for table in tables]),
        np.concatenate([table.automorphisms for table in tables]),
        tables[0].node_vocabulary,
        tables[0].edge_vocabulary,
    )
    return whole.take(first), sums


@dataclass(frozen=True)
class Found:
    """Patterns with their estimated counts, and the bounds on the relative errors of these."""

    patterns: PatternTable
    counts: NDArray[np.float64]
    errors: NDArray[np.float64]
    seconds: float  # of processor time


def uniform(graphs: GraphSet, k: int, settings: Row) -> Found:
    """Batches until the time is over, averaged."""
    begin, batches = time.process_time(), 0
    known: PatternTable | None = None
    sums = np.zeros(0)
    while (took := time.process_time() - begin) < settings["seconds"] or known is None:
        drawn = sample(
            graphs,
            k,
            "rand-esu",
            count=settings["batch"],
            seed=settings["seed"] + batches,
            threads=1,
            parts=0,
        )
        weights = np.bincount(drawn.pattern_ids, drawn.weights, minlength=len(drawn.patterns))
        known, sums = merged(
            [*([known] if known else []), drawn.patterns], [*([sums] if known else []), weights]
        )
        batches += 1
    return Found(known, sums / batches, np.full(len(known), np.inf), took)


def stratified(graphs: GraphSet, k: int, settings: Row) -> Found:
    begin = time.process_time()
    room = settings["room"][str(k)]
    drawn = sample(graphs, k, "stratified", count=room, seed=settings["seed"], threads=1, parts=0)
    assert drawn.errors is not None
    return Found(drawn.patterns, drawn.weighted_counts, drawn.errors, time.process_time() - begin)


def compare(k: int, settings: Row) -> list[Row]:
    graphs = load(settings["set"])
    _ = graphs.core
    found = {"stratified": stratified(graphs, k, settings), "rand-esu": uniform(graphs, k, settings)}
    every, _ = merged([one.patterns for one in found.values()], [one.counts for one in found.values()])
    rng = np.random.default_rng(settings["seed"])
    judged = every.take(rng.choice(len(every), min(settings["judged"], len(every)), replace=False))
    truth, exact = count_patterns(graphs, judged, settings["match_seconds"], threads=1)
    rows = []
    for method, one in found.items():
        place = {key: row for row, key in enumerate(one.patterns.keys.tolist())}
        rows_judged = [place.get(key, -1) for key in judged.keys.tolist()]
        estimates = np.array([one.counts[row] if row >= 0 else 0.0 for row in rows_judged])
        bounds = np.array([one.errors[row] if row >= 0 else np.inf for row in rows_judged])
        ratio = estimates[exact] / truth[exact].astype(float)
        broken = np.abs(ratio - 1) > bounds[exact] + 1e-9
        share = float((np.abs(ratio - 1) <= settings["tolerance"]).mean())
        error = np.sqrt(share * (1 - share) / exact.sum())
        rows.append(
            {
                "k": k,
                "method": method,
                "processor seconds": round(one.seconds, 1),
                "patterns found": len(one.patterns),
                "found by either": len(every),
                "called exact": f"{100 * float((one.errors == 0).mean()):.1f} %",
                "bounded": f"{100 * float((np.isfinite(one.errors) & (one.errors > 0)).mean()):.1f} %",
                "judged": int(exact.sum()),
                "within 20 %": f"{100 * share:.1f} % +- {100 * error:.1f}",
                "patterns within 20 %": round(share * len(every)),
                "bounds broken": int(broken.sum()),
            }
        )
        print(rows[-1], flush=True)
    return rows


def kept_bounds(settings: Row) -> list[Row]:
    """How many counts of each quality are off by more than they state, against a census."""
    graphs, k = load(settings["set"]), settings["bounds"]["size"]
    census = take_census(graphs, k)
    found = stratified(graphs, k, {**settings, "room": {str(k): settings["bounds"]["room"]}})
    place = {key: row for row, key in enumerate(census.patterns.keys.tolist())}
    truth = census.counts[[place[key] for key in found.patterns.keys.tolist()]].astype(float)
    errors = np.abs(found.counts / truth - 1)
    rows = []
    for name, chosen in (
        ("exact", found.errors == 0),
        ("bounded", (found.errors > 0) & np.isfinite(found.errors)),
        ("no bound", np.isinf(found.errors)),
    ):
        allowed = np.minimum(found.errors[chosen], settings["tolerance"]) + 1e-9
        off = int((errors[chosen] > allowed).sum())
        rows.append(
            {
                "k": k,
                "counts": name,
                "patterns": int(chosen.sum()),
                "off by more": off,
                "share": f"{100 * off / max(int(chosen.sum()), 1):.2f} %",
            }
        )
        print(rows[-1], flush=True)
    return rows


def table(path: Path) -> list[str]:
    """A CSV file as lines of Markdown."""
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]


def save(rows: list[Row], path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_page(out: Path) -> None:
    lines = [
        "# Counts of rare patterns in a minute",
        "",
        "Made by `python experiments/rare_patterns/run.py`.",
        "",
        *table(out / "rare.csv"),
        "",
        "`zoo`, one thread. 'Judged' are patterns drawn at random from all that either method found, and counted",
        "exactly by matching in the time allowed; a method that did not find a pattern estimates 0. The number of",
        "patterns within 20 % is the share of those judged times all that were found by either. 'Called exact' and",
        "'bounded' (within 20 % with a probability of 95 %) are shares of the patterns that the method found; 'bounds",
        "broken' are judged patterns with a larger error than the method states.",
        "",
        "## Are bounds kept?",
        "",
        "All counts of patterns of 6 nodes, with little room, against a census; 'off by more' than they state, those",
        "without a bound by more than 20 %. Of bounded counts 5 % may be.",
        "",
        *table(out / "bounds.csv"),
    ]
    (out / "README.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[7, 8])
    parser.add_argument("--only-bounds", action="store_true", help="make bounds.csv again and keep rare.csv")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    settings = tomllib.loads((HERE / "settings.toml").read_text())
    save(kept_bounds(settings), options.out / "bounds.csv")
    if not options.only_bounds:
        save([row for k in options.sizes for row in compare(k, settings)], options.out / "rare.csv")
    write_page(options.out)


if __name__ == "__main__":
    main()

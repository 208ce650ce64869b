"""What an estimator adds to a search whose memory and samples are starved.

    python experiments/starved/run.py            # minutes on one core; appends to results/rows.jsonl
    python experiments/starved/run.py --table    # writes results/results.md only

A beam search with the whole memory, a tenth and a hundredth of it, ranked by its own unbiased counts (occurrences), by
an estimator alone (probability) and by the posterior mean of both (estimator). The estimator is `parts`, fitted to
40,000 samples of each size, a tenth and a hundredth of them. The census counts all patterns of the largest size.
Reported is which share of the N most frequent patterns is among the first N that the search names; at the border
equal counts all are among the most frequent.
"""

import argparse
import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from grade.estimators import fit, preset_for
from grade.files import whole_file
from grade.graphs import PatternTable
from grade.graphs.counts import Counts
from grade.sampling import sample
from grade.sampling.census import take_census
from grade.search import Constraints, beam_search
from grade.search.beam import Bounds
from grade.search.ranking import ranking
from grade.sources import load

RESULTS = Path(__file__).parent / "results"
ROWS = RESULTS / "rows.jsonl"
SETS = {"zoo": 6, "zoo-mini": 7, "darts": 5, "nas-bench-101": 5}
SHARES = (1.0, 0.1, 0.01)
RANKINGS = ("occurrences", "probability", "estimator")
SEEDS = (0, 1, 2)
MEMORY, SAMPLES, BEAM = 256 * 2**20, 40_000, 1000
FIRST = (50, 500)
START = 4


@cache
def truth(name: str) -> tuple[PatternTable, np.ndarray]:
    census = take_census(load(name), SETS[name])
    return census.patterns, census.counts.astype(np.float64)


@cache
def models(name: str, share: float, seed: int) -> dict[int, Any]:
    """The log-probability of each size, by `parts`."""
    found = {}
    for k in range(START, SETS[name] + 1):
        drawn = sample(load(name), k, "rand-esu", count=round(SAMPLES * share), seed=seed)
        found[k] = fit(drawn, preset_for([drawn], "parts", seed=seed)).log_probability
    return found


def cell(name: str, share: float, rank_by: str, seed: int) -> dict[str, Any]:
    graphs, k = load(name), SETS[name]
    surrogates = {} if rank_by == "occurrences" else models(name, share, seed)
    begin = time.process_time()
    *_, last = beam_search(
        graphs,
        k,
        beam=BEAM,
        score=ranking(rank_by, graphs, BEAM, surrogates),
        constraints=Constraints(),
        bounds=Bounds.from_memory(round(MEMORY * share), k, BEAM),
        seed=seed,
    )
    seconds = time.process_time() - begin
    patterns, counts = truth(name)
    named = Counts({k: patterns}, {k: counts}).of(last.lists.patterns)[0]
    best = np.sort(counts)[::-1]
    return {
        "set": name,
        "k": k,
        "patterns": len(patterns),
        "share": share,
        "rank_by": rank_by,
        "seed": seed,
        "exact": float(last.lists.exact.mean()),
        "seconds": round(seconds, 1),
        **{f"precision_{n}": float((named[:n] >= best[n - 1]).mean()) for n in FIRST},
        **{f"caught_{n}": float(named[:n].sum() / best[:n].sum()) for n in FIRST},
    }


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []


def table() -> str:
    found: dict[tuple[str, float, str], list[dict[str, Any]]] = {}
    for row in rows():
        found.setdefault((row["set"], row["share"], row["rank_by"]), []).append(row)
    lines = [
        "# Starved searches",
        "",
        "Share of the 50 / 500 most frequent patterns among the first 50 / 500 that a search names; mean of"
        f" {len(SEEDS)} seeds, the widest range over seeds behind it. Made by `python experiments/starved/run.py`.",
        "",
        "| set | k | patterns | memory and samples | " + " | ".join(RANKINGS) + " | widest range |",
        "|" + "---|" * (5 + len(RANKINGS)),
    ]
    measured = {name for name, _, _ in found}
    for name, k in SETS.items():
        for share in SHARES if name in measured else ():
            cells, ranges, patterns = [], [], 0
            for rank_by in RANKINGS:
                one = found.get((name, share, rank_by), [])
                values = {n: [row[f"precision_{n}"] for row in one] for n in FIRST}
                ranges += [max(v) - min(v) for v in values.values() if v]
                cells.append(" / ".join(f"{np.mean(v):.3f}" if v else "-" for v in values.values()))
                patterns = one[0]["patterns"] if one else patterns
            if patterns:
                lines.append(
                    f"| {name} | {k} | {patterns:,} | {share:g} | {' | '.join(cells)} | {max(ranges, default=0):.2f} |"
                )
    missing = [f"{name}, k = {k}" for name, k in SETS.items() if name not in measured]
    notes = ["", f"Not run yet: {'; '.join(missing)}."] if missing else []
    return "\n".join([*lines, *notes, ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", action="append", default=[], choices=list(SETS))
    parser.add_argument("--table", action="store_true", help="only write the table")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    known = {(r["set"], r["share"], r["rank_by"], r["seed"]) for r in rows()}
    for name in [] if arguments.table else arguments.set or list(SETS):
        for share, rank_by, seed in [(s, r, d) for d in SEEDS for s in SHARES for r in RANKINGS]:
            if (name, share, rank_by, seed) in known:
                continue
            row = cell(name, share, rank_by, seed)
            with ROWS.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(row, flush=True)
    with whole_file(RESULTS / "results.md") as temporary:
        temporary.write_text(table())


if __name__ == "__main__":
    main()

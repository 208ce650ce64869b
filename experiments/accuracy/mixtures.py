"""Is a second model worth more when it is of another kind? Mixtures of two, of the sample alone.

    python experiments/accuracy/mixtures.py --inputs carry --only set=nas-bench-101,nas-bench-201 --only k=4
    python experiments/accuracy/mixtures.py --quick --out /tmp/quick

An autoregressive network that learned random linear extensions is joined by one of another seed, of another family of
orders, or by DisCo-E, each fitted to the same sample. A pattern's score is the mean of both logarithms of its class's
probability: DisCo-E gives a bound, and that mean does not mind how far below the truth it lies. No counts are used.
One JSON line for each set, size and seed is kept in `mixtures.jsonl`, what is there is not made again, and
`mixtures.md` has the means. A line takes ten minutes on a core, nearly all of them for DisCo-E.
"""

import argparse
from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from cells import (
    FIELDS,
    HERE,
    Cell,
    Result,
    Settings,
    changes,
    read_results,
    read_settings,
    select,
    write_lines,
)
from fitting import (
    Scores,
    class_scores,
    compare,
    estimator_changes,
    read_inputs,
    size_of,
    training_settings,
)
from prepare import prepare
from run import commit, device_name

from grade.errors import InputError
from grade.files import whole_file

FIRST = ("autoregressive", "orders-linear", 0)
# Estimator, variant, and what is added to the seed.
SECONDS = {
    "another seed": ("autoregressive", "orders-linear", 100),
    "level orders": ("autoregressive", "orders-level", 0),
    "all orders": ("autoregressive", "orders-all", 0),
    "DisCo-E": ("disco", "paper", 0),
}
TYPES = 1_000  # that are scored: a path takes hundreds of evaluations for each


def scores_of(cell: Cell, more: int, inputs: Path, settings: Settings, types: int) -> tuple[Scores, Any]:
    """Log-probabilities of the classes of so many types at most, and the counts of these; ``more``: of the seed."""
    from grade.estimators import fit

    (census,), (sample,) = read_inputs(cell, inputs, settings)
    rows = np.sort(np.random.default_rng([cell.seed, 3]).permutation(len(census.patterns))[:types])
    chosen = training_settings(cell, settings, *size_of([sample], cell, settings), 1)
    model = fit(sample, replace(chosen, seed=chosen.seed + more))
    own = estimator_changes(changes(settings, "scorings", "default"), "scoring default", cell.estimator)
    scores, _ = class_scores(model, replace(chosen, **own), census.patterns.take(rows), {})
    return scores, census.counts[rows]


def measure(cell: Cell, inputs: Path, settings: Settings, types: int) -> Result:
    """Both measures of each model alone and of each mixture."""

    def member(estimator: str, variant: str, more: int) -> tuple[Scores, Any]:
        own = replace(cell, estimator=estimator, variant=variant)
        return scores_of(own, more, inputs, settings, types)

    first, counts = member(*FIRST)
    figures = {"alone": {"first": compare(first, counts)}, "mixed": {}}
    for name, kind in SECONDS.items():
        second, _ = member(*kind)
        figures["alone"][name] = compare(second, counts)
        figures["mixed"][name] = compare((first + second) / 2, counts)
    return {**asdict(cell), "scored": len(counts), "scorings": figures}


def page(results: Iterable[Result], settings: Settings) -> str:
    """The table: Spearman's rho of the first model, of each second one alone, and of both together."""
    groups: dict[tuple[str, int], list[Result]] = {}
    sets = list(settings["sets"])
    for result in sorted(results, key=lambda r: (sets.index(r["set"]), r["k"], r["seed"])):
        groups.setdefault((result["set"], result["k"]), []).append(result)

    def figure(own: list[Result], part: str, name: str) -> str:
        values = [result["scorings"][part][name]["spearman"] for result in own]
        return f"{fmean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")

    head = [
        "set",
        "k",
        "linear orders",
        *(f"with {name} (that alone)" for name in SECONDS),
        "seeds",
        "types",
        "commit, machine, date",
    ]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for (name, k), own in groups.items():
        title = settings["sets"][name]["title"]
        mixed = [f"{figure(own, 'mixed', s)} ({figure(own, 'alone', s)})" for s in SECONDS]
        origins = sorted({f"{result['commit']}, {result['device']}, {result['date']}" for result in own})
        cells = [
            title,
            str(k),
            figure(own, "alone", "first"),
            *mixed,
            str(len(own)),
            str(own[0]["scored"]),
            "; ".join(origins),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    text = (
        "# Mixtures of two models\n\nSpearman's rho of an autoregressive network (random linear extensions, the sample"
        " alone), and of its mean with a second model, which is in brackets by itself. Rand-ESU samples at density 0.1;"
        " made by `python experiments/accuracy/mixtures.py`.\n\n"
    )
    return text + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=Path, help="the folder that prepare.py filled (carry)")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="the folder of the results")
    parser.add_argument("--quick", action="store_true", help="networks that are too small to be good")
    parser.add_argument(
        "--only", action="append", default=[], metavar="FIELD=VALUES", help=f"of {', '.join(FIELDS)}"
    )
    arguments = parser.parse_args()
    settings = read_settings(quick=arguments.quick)
    names = ["nas-bench-201"] if arguments.quick else list(settings["sets"])
    cells = [
        Cell(name, k, "rand-esu", "mixtures", "default", seed)
        for name in names
        for k in settings["sizes"]
        for seed in settings["seeds"]
    ]
    inputs = arguments.inputs or (arguments.out / "inputs" if arguments.quick else Path("carry"))
    lines = arguments.out / "mixtures.jsonl"
    facts = {"commit": commit(), "device": device_name(), "date": datetime.now(UTC).strftime("%Y-%m-%d")}
    try:
        wanted = select({cell: [] for cell in cells}, arguments.only)
        if arguments.quick:
            prepare([replace(cell, estimator="disco", variant="paper") for cell in wanted], inputs, settings)
        results = read_results(lines) if lines.is_file() else {}
        for cell in wanted:
            if cell not in results:
                results[cell] = facts | measure(cell, inputs, settings, 200 if arguments.quick else TYPES)
                write_lines(results.values(), lines)
                print(f"{cell.name}: {results[cell]['scorings']}", flush=True)
    except InputError as error:
        parser.exit(2, f"{error}\n")
    with whole_file(arguments.out / "mixtures.md") as temporary:
        temporary.write_text(page(results.values(), settings), encoding="utf-8")


if __name__ == "__main__":
    main()

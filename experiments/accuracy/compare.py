"""What a change to the trainings does to the results: the same cells and scorings, before and after.

    git show eaa8fe7:experiments/accuracy/results/cells.jsonl > before.jsonl
    python experiments/accuracy/compare.py before.jsonl experiments/accuracy/results --only estimator=defog

Prints a Markdown table of the mean difference of Spearman's rho. Scorings that were not made again are left out.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from cells import FIELDS, Cell, read_results, select
from summary import SCORINGS, TITLES, flat
from tables import table

from grade.errors import InputError

Measured = dict[tuple[Cell, str], dict[str, Any]]  # by cell and scoring


def measured(place: Path, only: list[str]) -> Measured:
    results = read_results(place)
    chosen = select({cell: [] for cell in results}, only)
    return {(cell, row["scoring"]): row for cell in chosen for row in flat([results[cell]])}


def differences(before: Measured, after: Measured) -> dict[tuple[str, int, str], list[float]]:
    """After minus before, by estimator, size and scoring; of trainings that are not one and the same."""
    found: defaultdict[tuple[str, int, str], list[float]] = defaultdict(list)
    for key, row in after.items():
        earlier = before.get(key)
        if earlier is not None and any(row[name] != earlier[name] for name in ("commit", "date")):
            cell, scoring = key
            found[cell.estimator, row["k"], scoring].append(row["spearman"] - earlier["spearman"])
    return dict(sorted(found.items()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path, help="a folder of results, or a .jsonl file")
    parser.add_argument("after", type=Path, help="likewise")
    parser.add_argument(
        "--only", action="append", default=[], metavar="FIELD=VALUES", help=f"of {', '.join(FIELDS)}"
    )
    arguments = parser.parse_args()
    try:
        before, after = (measured(place, arguments.only) for place in (arguments.before, arguments.after))
        found = differences(before, after)
        if not found:
            raise InputError(
                f"No scoring of {arguments.before} was made again in {arguments.after}; name results of the same cells."
            )
    except InputError as error:
        parser.exit(2, f"{error}\n")
    rows = [
        [
            TITLES.get(estimator, estimator),
            str(k),
            SCORINGS.get(scoring, scoring),
            str(len(values)),
            f"{fmean(values):+.4f}",
            f"{stdev(values):.4f}" if len(values) > 1 else "-",
        ]
        for (estimator, k, scoring), values in found.items()
    ]
    print("\n".join(table(["estimator", "k", "scoring", "cells", "mean difference", "deviation"], rows)))


if __name__ == "__main__":
    main()

"""The share of samples that contain a convolution and have in- and out-degrees of at most 2.

    python experiments/case_study_share/run.py [--quick] [--out FOLDER]

The paper's table "proportion of interested samples" (appendix, case study) on our sets in place of Younger: what is
left of a sample when it is filtered after drawing. Both weightings are shown: every occurrence counts the same, as
in the paper, or every graph does. Results: shares.csv and README.md.
"""

import argparse
import csv
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.graphs import PatternTable
from grade.sampling import sample
from grade.sampling.census import take_census
from grade.sources import load

HERE = Path(__file__).parent
TITLES = {"nrs": "NRS", "rand-esu": "Rand-ESU", "rand-fase": "Rand-FaSE"}
Row = dict[str, Any]


def interesting(patterns: PatternTable, node_types: list[str], degree: int) -> NDArray[np.bool_]:
    """[patterns] whether each has a node of these types and no node with more edges in or out.

    >>> names = ["Conv", "Relu"]
    >>> fork = [[0, 1, 1, 1], [0] * 4, [0] * 4, [0] * 4]
    >>> chain = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0] * 4]
    >>> table = PatternTable.canonical([[0] * 4, [0] * 4, [1] * 4], [fork, chain, chain], names)
    >>> interesting(table, ["Conv"], 2).tolist()
    [False, True, False]
    """
    wanted = [i for i, name in enumerate(patterns.node_vocabulary) if name in node_types]
    edges = (patterns.edges > 0) & ~np.eye(patterns.size, dtype=bool)
    low = (edges.sum(axis=1) <= degree).all(axis=1) & (edges.sum(axis=2) <= degree).all(axis=1)
    return low & np.isin(patterns.node_types, wanted).any(axis=1)


def shares(name: str, settings: dict[str, Any]) -> list[Row]:
    graphs = load(name)
    rule = (settings["node_types"], settings["degree"])
    rows: list[Row] = []
    for column, k in enumerate(settings["sizes"]):
        exact: Any = ""
        if k <= settings["exact_up_to"]:
            census = take_census(graphs, k, settings["threads"])
            fits = interesting(census.patterns, *rule)
            exact = round(100 * float(census.counts[fits].sum()) / census.instances, 4)
        for weighting in ("occurrences", "graphs"):
            for method in settings["methods"]:
                values = []
                for seed in range(settings["seeds"]):
                    drawn = sample(
                        graphs,
                        k,
                        method,
                        count=settings["count"],
                        seed=seed,
                        threads=settings["threads"],
                        weighting=weighting,
                    )
                    values.append(100 * drawn.counts[interesting(drawn.patterns, *rule)].sum() / len(drawn))
                rows.append(
                    {
                        "set": name,
                        "k": k,
                        "weighting": weighting,
                        "method": method,
                        "percent": round(float(np.mean(values)), 4),
                        "standard_deviation": round(float(np.std(values, ddof=1)), 4),
                        "exact": exact if weighting == "occurrences" else "",
                        "paper_on_younger": settings["paper"][method][column]
                        if weighting == "occurrences"
                        else "",
                    }
                )
                print(rows[-1], flush=True)
    return rows


def page(rows: list[Row], settings: dict[str, Any], seconds: float) -> str:
    sizes = settings["sizes"]
    head = ["| size k | " + " | ".join(map(str, sizes)) + " |", "|---" * (len(sizes) + 1) + "|"]
    lines = [
        "# Share of samples that a constraint leaves",
        "",
        f"Made by `python experiments/case_study_share/run.py` in {seconds / 60:.0f} minutes: percent of"
        f" {settings['count']:,} samples that contain {' or '.join(settings['node_types'])} and in which every in- and"
        f" out-degree is at most {settings['degree']}, mean ± standard deviation over {settings['seeds']} seeds.",
    ]
    for weighting in ("occurrences", "graphs"):
        counted = "occurrence" if weighting == "occurrences" else "graph"
        lines += ["", f"## Every {counted} counts the same", "", *head]
        for name in settings["sets"]:
            own = [r for r in rows if (r["set"], r["weighting"]) == (name, weighting)]
            for method in settings["methods"]:
                cells = [
                    f"{r['percent']:.4f} ± {r['standard_deviation']:.4f}"
                    for r in own
                    if r["method"] == method
                ]
                lines.append(f"| {name}, {TITLES[method]} | " + " | ".join(cells) + " |")
            if weighting == "occurrences":
                exact = [r["exact"] for r in own if r["method"] == settings["methods"][0]]
                lines.append(
                    f"| {name}, exact | " + " | ".join(f"{e:.4f}" if e != "" else "" for e in exact) + " |"
                )
        if weighting == "occurrences":
            for method in settings["methods"]:
                cells = [f"{v:.4f}" for v in settings["paper"][method][: len(sizes)]]
                lines.append(f"| paper, Younger, {TITLES[method]} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a small set, two sizes, few samples")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    arguments = parser.parse_args()
    settings = tomllib.loads((HERE / "settings.toml").read_text())
    if arguments.quick:
        settings |= {"sets": ["zoo-mini"], "sizes": [4, 5], "count": 2000, "seeds": 2}
    arguments.out.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    rows = [row for name in settings["sets"] for row in shares(name, settings)]
    with (arguments.out / "shares.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    text = page(rows, settings, time.perf_counter() - begin)
    (arguments.out / "README.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()

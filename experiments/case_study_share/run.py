"""The share of samples that contain a convolution and have in- and out-degrees of at most 2.

    python experiments/case_study_share/run.py [--quick] [--sets SET ...] [--sizes K ...] [--out FOLDER]

The paper's table "proportion of interested samples" (appendix, case study) on our sets in place of Younger: what is
left of a sample when it is filtered after drawing. Both weightings are shown: every occurrence counts the same, as
in the paper, or every graph does. Results: shares.csv and README.md.
"""

import argparse
import csv
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
PAPER_FROM = 4  # nodes, the first column of its table
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
    for k in settings["sizes"]:
        exact: Any = ""
        if k <= settings["exact_up_to"].get(name, 0):
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
                        parts=0,
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
                        "paper_on_younger": settings["paper"][method][k - PAPER_FROM]
                        if weighting == "occurrences"
                        else "",
                    }
                )
                print(rows[-1], flush=True)
    return rows


def page(rows: list[Row], settings: dict[str, Any]) -> str:
    sizes = settings["sizes"]
    head = ["| size k | " + " | ".join(map(str, sizes)) + " |", "|---" * (len(sizes) + 1) + "|"]
    lines = [
        "# Share of samples that a constraint leaves",
        "",
        "Made by `python experiments/case_study_share/run.py`: percent of"
        f" {settings['count']:,} samples that contain {' or '.join(settings['node_types'])} and in which every in- and"
        f" out-degree is at most {settings['degree']}, mean ± standard deviation over {settings['seeds']} seeds."
        " Empty cells were not made.",
    ]
    for weighting in ("occurrences", "graphs"):
        counted = "occurrence" if weighting == "occurrences" else "graph"
        lines += ["", f"## Every {counted} counts the same", "", *head]
        for name in settings["sets"]:
            own = [r for r in rows if (r["set"], r["weighting"]) == (name, weighting)]
            for method in settings["methods"]:
                by_size = {
                    r["k"]: f"{r['percent']:.4f} ± {r['standard_deviation']:.4f}"
                    for r in own
                    if r["method"] == method
                }
                cells = [by_size.get(k, "") for k in sizes]
                lines.append(f"| {name}, {TITLES[method]} | " + " | ".join(cells) + " |")
            if weighting == "occurrences":
                exact = {r["k"]: f"{float(r['exact']):.4f}" for r in own if r["exact"] != ""}
                lines.append(f"| {name}, exact | " + " | ".join(exact.get(k, "") for k in sizes) + " |")
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
    parser.add_argument(
        "--sets", nargs="+", metavar="SET", help="make rows of these sets again, keep the others"
    )
    parser.add_argument(
        "--sizes", nargs="+", type=int, metavar="K", help="make rows of these sizes again, likewise"
    )
    parser.add_argument("--out", type=Path, default=HERE / "results")
    arguments = parser.parse_args()
    settings = tomllib.loads((HERE / "settings.toml").read_text())
    if arguments.quick:
        settings |= {"sets": ["zoo-mini"], "sizes": [4, 5], "count": 2000, "seeds": 2}
        settings["exact_up_to"] = {"zoo-mini": 5}
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "shares.csv"
    sets, sizes = arguments.sets or settings["sets"], arguments.sizes or settings["sizes"]
    rows: list[Row] = []
    if (arguments.sets or arguments.sizes) and path.is_file():
        with path.open(newline="") as file:
            rows = [
                {
                    **row,
                    "k": int(row["k"]),
                    "percent": float(row["percent"]),
                    "standard_deviation": float(row["standard_deviation"]),
                }
                for row in csv.DictReader(file)
            ]
        rows = [row for row in rows if row["set"] not in sets or row["k"] not in sizes]
    rows += [row for name in sets for row in shares(name, {**settings, "sizes": sizes})]
    rows.sort(key=lambda row: (settings["sets"].index(row["set"]), row["k"]))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    text = page(rows, settings)
    (arguments.out / "README.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()

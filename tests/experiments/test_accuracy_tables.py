"""The accuracy experiment: the tables, figures and pages that are made of its results."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.experiments.accuracy import FOLDER, read_lines, scorings, start

ABLATIONS = (
    "parts",
    "interchange",
    "counts",
    "agreement",
    "rounds",
    "cost",
    "open",
    "rate",
    "kernel",
    "noise",
    "orders",
    "density",
    "together",
    "samplers",
)  # in the reduced matrix


def test_tables_and_figures(quick: Path, tmp_path: Path) -> None:
    marks = "before\n<!-- accuracy:begin -->\nold\n<!-- accuracy:end -->\nafter\n"
    readme, experiments = tmp_path / "README.md", tmp_path / "experiments.md"
    for page in (readme, experiments):
        page.write_text(marks)
    done = start("tables.py", "--out", quick, "--readme", readme, "--experiments", experiments)
    assert done.returncode == 0, done.stderr
    results = read_lines(quick / "cells.jsonl")

    def of(estimator: str, measure: str, variant: str = "default", scoring: str = "default") -> list[float]:
        chosen = (estimator, variant, "rand-esu", 0.1)
        names = ("estimator", "variant", "sampler", "density")
        return [
            r["scorings"][scoring][measure] for r in results if tuple(r[name] for name in names) == chosen
        ]

    with (quick / "results.csv").open(newline="") as file:
        names = ("estimator", "variant", "scoring", "sampler", "density")
        rows = {tuple(r[name] for name in names): r for r in csv.DictReader(file)}
    row = rows["autoregressive", "default", "default", "rand-esu", "0.1"]
    values = of("autoregressive", "spearman")
    assert row["seeds"] == "2"
    assert float(row["spearman"]) == pytest.approx(np.mean(values), abs=1e-4)
    assert float(row["spearman_deviation"]) == pytest.approx(np.std(values, ddof=1), abs=1e-4)
    assert (row["spearman_goal"], row["kendall_goal"], row["spearman_paper"]) == ("0.92", "0.8", "")
    assert rows["disco", "paper", "paper", "rand-esu", "0.1"]["spearman_paper"] == "0.79"

    page = (quick / "results.md").read_text()
    assert "reduced matrix" in page
    for way in ("paper", "default"):
        figure = scorings(quick, "disco", "paper")[way]["spearman"]
        words = {"paper": "as in the paper", "default": "as we recommend"}[way]
        assert f"| DisCo-E, {words} | Rand-ESU | {figure:.3f} (0.790 ± 0.030) |" in page
    text = readme.read_text()
    assert text.startswith("before\n<!-- accuracy:begin -->\n| set | k |")
    assert text.endswith("|\n<!-- accuracy:end -->\nafter\n")
    ours = [
        " / ".join(
            f"{np.mean(of('autoregressive', measure, *way)):.3f}" for measure in ("spearman", "kendall")
        )
        for way in (("no-interchange", "sample-only"), ("default", "default"))
    ]
    assert "| NAS-Bench-201 | 4 | 0.859 / 0.717 |" in text
    assert f"| {ours[0]} | {ours[1]} |" in text
    assert "| autoregressive, sample alone | autoregressive + counts of parts (default) |" in text
    verdicts = next(line.split(" | ") for line in page.splitlines() if line.startswith("| NAS-Bench-201 | 4"))
    assert (verdicts[5], verdicts[7]) == tuple(ours)
    assert "exact counts of all connected subgraphs of at most 3 nodes" in page
    for name in ("accuracy", *ABLATIONS):
        assert (quick / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (quick / f"{name}.svg").read_text()

    before = {path: path.read_bytes() for path in (*quick.glob("*.md"), *quick.glob("*.svg"), experiments)}
    again = start("tables.py", "--out", quick, "--experiments", experiments)
    assert again.returncode == 0
    assert before == {path: path.read_bytes() for path in before}
    readme.write_text("no marks")
    refused = start("tables.py", "--out", quick, "--readme", readme)
    assert refused.returncode == 2
    assert "accuracy:begin" in refused.stderr


def test_results_that_are_taken_in_stay(quick: Path, tmp_path: Path) -> None:
    """Those of another machine replace older ones for good, also where these have files of their own."""
    out, more = tmp_path / "out", tmp_path / "more.jsonl"
    shutil.copytree(quick / "cells", out / "cells")
    result = read_lines(quick / "cells.jsonl")[0]
    more.write_text(json.dumps({**result, "commit": "newer"}) + "\n")
    for arguments in ((more,), ()):
        assert start("tables.py", *arguments, "--out", out).returncode == 0
        commits = [r["commit"] for r in read_lines(out / "cells.jsonl")]
        assert commits.count("newer") == 1


def test_a_variant_of_ones_own_has_a_table(quick: Path, tmp_path: Path) -> None:
    """Beside what it changes, and without columns of other estimators."""
    lines = read_lines(quick / "cells.jsonl")
    kinds = [(r["estimator"], r["variant"], r["sampler"], r["k"], r["seed"]) for r in lines]
    known = lines[kinds.index(("autoregressive", "default", "rand-esu", 4, 0))]
    results = [*lines, {**known, "variant": "narrow"}]
    (tmp_path / "cells.jsonl").write_text("".join(json.dumps(result) + "\n" for result in results))
    done = start("tables.py", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "ablations.md").read_text().partition("# Other variants")[2]
    assert "| set | k | method | default | narrow | seeds |" in table
    rho = f"{known['scorings']['default']['spearman']:.3f}"
    assert f"| NAS-Bench-201 | 4 | autoregressive | {rho} | {rho} | 1 |" in table


def test_what_defog_leaves_open_and_a_scoring_that_is_missing(quick: Path, tmp_path: Path) -> None:
    lines = read_lines(quick / "cells.jsonl")
    known = next(r for r in lines if r["estimator"] == "defog")
    ways = {name: f"{way['spearman']:.3f}" for name, way in known["scorings"].items()}
    more = {**known, "scorings": {**known["scorings"], "paper-eta-0": known["scorings"]["paper-orbit"]}}
    results = [more if r is known else r for r in lines]
    (tmp_path / "cells.jsonl").write_text("".join(json.dumps(r) + "\n" for r in results))
    assert start("tables.py", "--out", tmp_path).returncode == 0
    table = (tmp_path / "ablations.md").read_text().partition("# What the paper leaves open")[2]
    figures = [ways["paper"], *"--", ways["paper-orbit"]]  # last weights and mean of probabilities: DisCo-E's
    # The paper's own figure is the last column.
    assert f"| NAS-Bench-201 | 4 | DeFoG-E, as in the paper | {' | '.join(figures)} | 1 | 0.750 |" in table

    left = {name: way for name, way in known["scorings"].items() if not name.startswith("paper")}
    results = [{**r, "scorings": left} if r is known else r for r in lines]
    (tmp_path / "cells.jsonl").write_text("".join(json.dumps(r) + "\n" for r in results))
    assert start("tables.py", "--out", tmp_path).returncode == 0
    figures = [*"--", ways["default"], ways["default-no-orbit"], "-", "1", "-"]
    row = f"| NAS-Bench-201 | 4 | DeFoG-E | 0.750 ± 0.060 | {' | '.join(figures)} |"
    assert row in (tmp_path / "results.md").read_text()


def test_tables_of_the_ablations(quick: Path, tmp_path: Path) -> None:
    experiments = tmp_path / "README.md"
    experiments.write_text("<!-- accuracy:begin -->\n<!-- accuracy:end -->\n")
    done = start("tables.py", "--out", quick, "--experiments", experiments)
    assert done.returncode == 0, done.stderr
    ways, page = scorings(quick, "disco", "paper"), (quick / "ablations.md").read_text()

    def row(method: str, *values: float) -> str:
        return f"| NAS-Bench-201 | 4 | {method} | " + " | ".join(f"{v:.3f}" for v in values) + " | 1 |"

    rounds = [ways["rounds-paper"]["by_rounds"][number]["spearman"] for number in ("1", "2", "4")]
    assert row("DisCo-E, the paper's path", *rounds) in page
    kernels = [ways[f"kernel-{name}-16"]["spearman"] for name in ("paper", "bridge")]
    assert row("DisCo-E, 16 evaluations", *kernels) in page
    left_open = [
        ways["paper"]["spearman"],
        scorings(quick, "disco", "paper-last")["paper"]["spearman"],
        ways["paper-probabilities"]["spearman"],
    ]
    # The paper's own figure is the last column.
    assert row("DisCo-E, as in the paper", *left_open) + " 0.790 |" in page
    families = [
        scorings(quick, "autoregressive", f"orders-{family}")["default-no-orbit"]["spearman"]
        for family in ("linear", "level", "canonical")
    ]
    assert row("autoregressive, not corrected", *families) in page
    # One of the two has a second seed, which is left out: choices are compared on the same seeds.
    networks = [
        scorings(quick, "autoregressive", "default")["default"]["spearman"],
        scorings(quick, "autoregressive", "one-network")["default-4"]["spearman"],
    ]
    assert row("autoregressive + counts of parts (default)", *networks) in page
    # Counts of parts have one seed, which stands for all: the other columns are means of both.
    alone = [scorings(quick, name, "default")["default"]["spearman"] for name in ("joined", "rarest")]
    fits, apart = (
        [
            r
            for r in read_lines(quick / "cells.jsonl")
            if (r["estimator"], r["variant"]) == ("autoregressive", variant)
        ]
        for variant in ("default", "no-interchange")
    )
    assert len(fits) == len(apart) == 2
    learned = [
        [r["scorings"][name]["spearman"] for r in trained]
        for name, trained in (("sample-only", apart), ("default", fits))
    ]
    exchanged = [
        np.mean([r["scorings"]["default"]["spearman"] for r in trained]) for trained in (apart, fits)
    ]
    assert exchanged[1] > exchanged[0], "on NAS-Bench-201 all operations are interchangeable"
    words = [f"{v:.3f}" for v in alone] + [f"{np.mean(v):.3f} ± {np.std(v, ddof=1):.3f}" for v in learned]
    weights = np.mean([r["calibration"]["4"]["weights"] for r in fits], axis=0)
    words += ["2", ", ".join(f"{weight:.2f}" for weight in weights)]
    assert f"| NAS-Bench-201 | 4 | parts and autoregressive | {' | '.join(words)} |" in page
    text = experiments.read_text()
    for name in ABLATIONS:
        assert f"]({name}.png)" in page
        assert f"](accuracy/results/{name}.png)" in text
    assert row("DisCo-E, 16 evaluations", *kernels) in text


def test_the_pages_show_the_committed_results(tmp_path: Path) -> None:
    pages = {
        "--readme": FOLDER.parents[1] / "docs" / "reproducing.md",
        "--experiments": FOLDER.parent / "README.md",
    }
    copies = {option: tmp_path / f"copy{option}.md" for option in pages}
    for option, page in pages.items():
        copies[option].write_text(page.read_text())
    (tmp_path / "cells.jsonl").write_text((FOLDER / "results" / "cells.jsonl").read_text())
    done = start("tables.py", "--out", tmp_path, *(word for pair in copies.items() for word in pair))
    assert done.returncode == 0, done.stderr
    for option, page in pages.items():
        assert copies[option].read_text() == page.read_text()
    for name in ("results.md", "ablations.md", "results.csv"):
        assert (tmp_path / name).read_text() == (FOLDER / "results" / name).read_text()


def test_a_panel_shows_the_choices_of_its_set_and_the_papers_figures(module: Any) -> None:
    """Those of the paper hollow where they are of one choice, once however often we score; else as broken lines."""
    figures, grid = module("figures"), module("grid")
    place, other = ("nas-bench-201", 4), ("nlp", 4)
    rows = {
        (place, "A, as printed"): {"x": (0.5, 0.1), "y": (0.6, None)},
        (place, "A, as we do"): {"x": (0.7, None)},
        (other, "A, as printed"): {"z": (0.9, None)},
    }
    theirs = {row: {"x": (0.4, None), "z": (0.3, None)} for row in rows}
    one = grid.Grid(
        "name",
        "title",
        "text",
        "axis",
        ["x", "y", "z"],
        rows,
        {},
        theirs,
        levels={(place, "A, as we do"): 0.2},
    )
    axis = figures.plt.figure().add_subplot()
    figures.draw_panel(axis, one, place, ["A, as printed", "A, as we do"])
    assert [label.get_text() for label in axis.get_xticklabels()] == ["x", "y"]
    hollow = [line.get_ydata().tolist() for line in axis.lines if line.get_marker() == "D"]
    broken = [list(line.get_ydata()) for line in axis.lines if line.get_linestyle() == "--"]
    assert (hollow, broken) == ([[0.4]], [[0.2, 0.2]])
    figures.plt.close("all")

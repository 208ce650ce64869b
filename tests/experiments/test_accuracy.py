"""The accuracy experiment: its matrix, its reduced run end to end, the paper's figures, and the tables made of both."""

import csv
import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade.errors import InputError

FOLDER = Path(__file__).parents[2] / "experiments" / "accuracy"
SAMPLERS = ("ars", "nrs", "rand-esu", "rand-fase")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a file of the experiment as it does itself: from its own folder."""
    monkeypatch.syspath_prepend(FOLDER)
    return import_module


def start(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / script), *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of the reduced matrix."""
    folder = tmp_path_factory.mktemp("accuracy")
    done = start("run.py", "--quick", "--out", folder, "--lines", folder / "copy" / "all.jsonl")
    assert done.returncode == 0, done.stderr
    return folder


def test_the_reduced_matrix_has_every_kind_of_cell(quick: Path) -> None:
    results = read_lines(quick / "cells.jsonl")
    kinds = {(r["estimator"], r["variant"]) for r in results if r["sampler"] == "rand-esu"}
    diffusion = {(e, v) for e in ("disco", "defog", "digress", "graphvae") for v in ("paper", "default")}
    assert kinds == diffusion | {(e, "default") for e in ("ceiling", "frequency", "autoregressive")}
    assert {r["sampler"] for r in results if r["estimator"] == "frequency"} == {
        "rand-esu",
        "nrs",
        "rand-fase",
    }
    for result in results:
        assert result["types"] == 2295
        assert -1 <= result["kendall"] <= 1
        assert -1 <= result["spearman"] <= 1
        assert result["quick"]
    by_kind = {(r["estimator"], r["variant"]): r for r in results if r["seed"] == 0}
    assert by_kind["disco", "paper"]["evaluations_per_pattern"] == 8 * 2
    assert by_kind["disco", "paper"]["scored"] == 20_000 // 16, (
        "the paper's path is scored on a part of the types"
    )
    assert by_kind["disco", "default"]["scored"] == 2295
    for estimator, variant, orbit in (("disco", "paper", "without"), ("disco", "default", "with")):
        result = by_kind[estimator, variant]
        assert result[f"spearman_{orbit}_orbit"] == pytest.approx(result["spearman"], abs=1e-6)
    assert (
        by_kind["autoregressive", "default"]["spearman"] > by_kind["frequency", "default"]["spearman"] + 0.2
    )


def test_results_are_kept_cell_by_cell_and_not_made_twice(quick: Path) -> None:
    lines = read_lines(quick / "cells.jsonl")
    assert read_lines(quick / "copy" / "all.jsonl") == lines
    assert sorted(lines, key=str) == sorted(
        (json.loads(path.read_text()) for path in (quick / "cells").iterdir()), key=str
    )
    again = start("run.py", "--quick", "--out", quick)
    assert again.returncode == 0
    assert again.stderr.startswith(f"0 cells to run; {len(lines)} have results")
    listed = start("run.py", "--quick", "--out", quick, "--again", "--list", "--only", "estimator=ceiling")
    assert listed.stdout.split() == [f"nas-bench-201-4-rand-esu-ceiling-default-s{seed}" for seed in (0, 1)]


def test_a_cell_that_fails_takes_no_other_with_it(quick: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "inputs"
    shutil.copytree(quick / "inputs", inputs)
    (inputs / "nas-bench-201-4-s0" / "weights.npy").write_bytes(b"")
    command = (
        "run.py",
        "--quick",
        "--inputs",
        inputs,
        "--only",
        "estimator=frequency",
        "--out",
        tmp_path / "out",
    )
    late = start(*command, "--seconds", 0)
    assert late.returncode == 0
    assert not (tmp_path / "out").exists(), "no cell is started when the time is over"
    done = start(*command)
    assert done.returncode == 1
    assert "1 cells failed: nas-bench-201-4-rand-esu-frequency-default-s0" in done.stderr
    assert "weights.npy" in done.stderr
    others = {(r["sampler"], r["seed"]) for r in read_lines(tmp_path / "out" / "cells.jsonl")}
    assert others == {("rand-esu", 1), ("nrs", 0), ("rand-fase", 0)}


def test_tables_and_figures(quick: Path, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- accuracy:begin -->\nold\n<!-- accuracy:end -->\nafter\n")
    done = start("tables.py", "--out", quick, "--readme", readme)
    assert done.returncode == 0, done.stderr
    results = read_lines(quick / "cells.jsonl")

    def of(estimator: str, measure: str) -> list[float]:
        chosen = (estimator, "default", "rand-esu")
        return [r[measure] for r in results if (r["estimator"], r["variant"], r["sampler"]) == chosen]

    with (quick / "results.csv").open(newline="") as file:
        rows = {(r["estimator"], r["variant"], r["sampler"]): r for r in csv.DictReader(file)}
    row, values = rows["autoregressive", "default", "rand-esu"], of("autoregressive", "spearman")
    assert row["seeds"] == "2"
    assert float(row["spearman"]) == pytest.approx(np.mean(values), abs=1e-4)
    assert float(row["spearman_deviation"]) == pytest.approx(np.std(values, ddof=1), abs=1e-4)
    assert (row["spearman_goal"], row["kendall_goal"], row["spearman_paper"]) == ("0.92", "0.8", "")
    assert rows["disco", "paper", "rand-esu"]["spearman_paper"] == "0.79"

    page = (quick / "results.md").read_text()
    assert "reduced matrix" in page
    assert "| DisCo-E, as in the paper | Rand-ESU |" in page
    text = readme.read_text()
    assert text.startswith("before\n<!-- accuracy:begin -->\n| set | k |")
    assert text.endswith("|\n<!-- accuracy:end -->\nafter\n")
    ours = f"{np.mean(of('autoregressive', 'spearman')):.3f} / {np.mean(of('autoregressive', 'kendall')):.3f}"
    assert "| NAS-Bench-201 | 4 | 0.859 / 0.717 |" in text
    assert f"| {ours} |" in text
    for name in ("accuracy", "samplers"):
        assert (quick / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (quick / f"{name}.svg").read_text()

    before = (quick / "results.md").read_bytes(), (quick / "accuracy.svg").read_bytes()
    assert start("tables.py", "--out", quick).returncode == 0
    assert before == ((quick / "results.md").read_bytes(), (quick / "accuracy.svg").read_bytes())
    readme.write_text("no marks")
    refused = start("tables.py", "--out", quick, "--readme", readme)
    assert refused.returncode == 2
    assert "accuracy:begin" in refused.stderr


def test_the_front_page_shows_the_committed_results(tmp_path: Path) -> None:
    readme = FOLDER.parents[1] / "README.md"
    copy = tmp_path / "README.md"
    copy.write_text(readme.read_text())
    lines = (FOLDER / "results" / "cells.jsonl").read_text()
    (tmp_path / "cells.jsonl").write_text(lines)
    done = start("tables.py", "--out", tmp_path, "--readme", copy)
    assert done.returncode == 0, done.stderr
    assert copy.read_text() == readme.read_text()
    assert (tmp_path / "results.md").read_text() == (FOLDER / "results" / "results.md").read_text()


def test_the_papers_tables_are_complete(module: Any) -> None:
    summary = module("summary")
    paper = summary.read_paper()
    for name in ("nas-bench-101", "nas-bench-201", "nas-bench-301", "nlp", "younger"):
        for k in (4, 5):
            for estimator in ("frequency", "graphvae", "digress", "defog", "disco"):
                for sampler in SAMPLERS:
                    known = paper.get((name, k, sampler, estimator))
                    if name == "younger" and sampler == "ars":
                        assert known is None, "it timed out"
                        continue
                    assert known is not None, (name, k, sampler, estimator)
                    assert 0 < known["kendall"][0] < known["spearman"][0] < 1
                    in_main_table = name != "nlp" and (sampler == "rand-esu" or estimator == "frequency")
                    assert (known["spearman"][1] is not None) == in_main_table
    assert paper["nas-bench-101", 5, "rand-esu", "disco"]["spearman"] == (0.94, 0.002)
    assert paper["nlp", 5, "rand-fase", "digress"]["kendall"] == (0.397, None)
    best = {
        ("nas-bench-101", 4): (0.88, 0.71),
        ("nas-bench-101", 5): (0.94, 0.81),
        ("nas-bench-201", 4): (0.859, 0.717),
        ("nas-bench-201", 5): (0.884, 0.746),
        ("nas-bench-301", 4): (0.852, 0.664),
        ("nas-bench-301", 5): (0.816, 0.648),
        ("nlp", 4): (0.679, 0.518),
        ("nlp", 5): (0.660, 0.517),
        ("younger", 4): (0.558, 0.404),
        ("younger", 5): (0.56, 0.404),
    }
    for (name, k), values in best.items():
        assert tuple(summary.best_of_paper(name, k).values()) == values


def test_the_full_matrix(module: Any) -> None:
    cells = module("cells")
    settings = cells.read_settings()
    matrix = cells.matrix(settings)
    assert len(set(matrix)) == len(matrix)
    for name, k, seed in ((n, k, s) for n in settings["sets"] for k in (4, 5) for s in (0, 1, 2)):
        samplers = ("rand-esu",) if name == "zoo" else SAMPLERS
        for sampler in samplers:
            expected = {("frequency", "default"), ("autoregressive", "default")} | {
                (e, v) for e in ("graphvae", "digress", "defog", "disco") for v in ("paper", "default")
            }
            found = {
                (c.estimator, c.variant)
                for c in matrix
                if (c.set, c.k, c.seed, c.sampler) == (name, k, seed, sampler) and c.estimator != "ceiling"
            }
            assert found == expected, (name, k, seed, sampler)
    assert {cell.sampler for cell in matrix if cell.set == "zoo"} == {"rand-esu"}, "ARS refuses zoo"
    learned = [cell for cell in matrix if cell.estimator not in cells.PLAIN]
    assert {(c.estimator, c.variant, c.sampler) for c in learned[:30]} == {
        ("autoregressive", "default", "rand-esu")
    }


def test_ceilings(module: Any) -> None:
    ceiling = module("run").ceiling
    distinct = ceiling(np.array([1, 100, 10_000, 1_000_000], np.uint64), 1_000, 0)
    assert (distinct["ties_spearman"], distinct["ties_kendall"]) == (1, 1)
    assert distinct["spearman"] > 0.9
    tied = ceiling(np.repeat(np.array([10, 1000], np.uint64), 500), 100, 0)
    # Two groups of equal size in perfect order: rho is sqrt(3) / 2, tau-b the root of a half.
    assert tied["ties_spearman"] == pytest.approx(np.sqrt(0.75), abs=1e-3)
    assert tied["ties_kendall"] == pytest.approx(np.sqrt(0.5), abs=1e-3)
    assert tied["sample_spearman"] < tied["spearman"] < tied["ties_spearman"] + 0.02


def test_a_result_of_a_later_place_counts(module: Any, tmp_path: Path) -> None:
    cells = module("cells")
    facts = {"set": "zoo", "k": 4, "sampler": "nrs", "estimator": "disco", "variant": "paper", "seed": 1}
    cells.write_result({**facts, "spearman": 0.1}, tmp_path)
    cells.write_lines([{**facts, "spearman": 0.2}], tmp_path / "more.jsonl")
    (result,) = cells.read_results(tmp_path, tmp_path / "more.jsonl").values()
    assert result["spearman"] == 0.2
    (tmp_path / "more.jsonl").write_text('{"set": "zoo"')
    with pytest.raises(InputError, match=r"more\.jsonl is damaged"):
        cells.read_results(tmp_path / "more.jsonl")
    with pytest.raises(InputError, match="colour"):
        list(cells.select([], ["colour=red"]))

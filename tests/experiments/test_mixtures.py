"""Mixtures of two models: what is mixed, and the table of a small run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "experiments" / "accuracy" / "mixtures.py"


def test_logarithms_are_averaged(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A perfect model stays so beside one that knows little, and is undone by one that says twice the opposite."""
    mixtures, cells = module("mixtures"), module("cells")
    counts = np.arange(1, 51)
    truth = np.log(counts)
    answers = {
        mixtures.FIRST: truth,
        ("autoregressive", "orders-linear", 100): np.arange(50) % 2 / 1_000,
        ("autoregressive", "orders-level", 0): truth - 100,
        ("autoregressive", "orders-all", 0): -2 * truth,
        ("disco", "paper", 0): -truth / 2,
    }

    def known(cell: Any, more: int, inputs: Path, settings: Any, types: int) -> Any:
        return answers[cell.estimator, cell.variant, more], counts

    monkeypatch.setattr(mixtures, "scores_of", known)
    cell = cells.Cell("nas-bench-201", 4, "rand-esu", "mixtures", "default", 0)
    figures = mixtures.measure(cell, Path(), {}, 50)["scorings"]
    assert figures["alone"]["first"]["spearman"] == pytest.approx(1)
    assert figures["alone"]["all orders"]["spearman"] == pytest.approx(-1)
    mixed = {name: figure["spearman"] for name, figure in figures["mixed"].items()}
    assert mixed == pytest.approx({"another seed": 1, "level orders": 1, "all orders": -1, "DisCo-E": 1})


def test_a_small_run_goes_on_where_it_was(tmp_path: Path) -> None:
    def start(*arguments: str) -> str:
        command = [sys.executable, str(SCRIPT), "--quick", "--out", str(tmp_path), *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "mixtures-default-s0" in start("--only", "seed=0")
    lines, page = (tmp_path / name for name in ("mixtures.jsonl", "mixtures.md"))
    (result,) = [json.loads(line) for line in lines.read_text().splitlines()]
    assert result["scored"] == 200
    figures = result["scorings"]
    assert figures["alone"]["first"]["spearman"] > 0.5
    assert figures["alone"]["first"] != figures["alone"]["another seed"]
    mixed, alone = (figures[part]["DisCo-E"]["spearman"] for part in ("mixed", "alone"))
    assert f"{mixed:.3f} ({alone:.3f})" in page.read_text()
    before = lines.read_text()
    assert start("--only", "seed=0") == ""
    assert lines.read_text() == before


def test_the_page_shows_the_committed_results(module: Any) -> None:
    folder, cells = SCRIPT.parent / "results", module("cells")
    results = cells.read_results(folder / "mixtures.jsonl").values()
    page = module("mixtures").page(results, cells.read_settings())
    assert page == (folder / "mixtures.md").read_text(encoding="utf-8")
    assert {result["seed"] for result in results} == {0, 1, 2}


def test_a_wrong_filter_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--quick", "--out", str(tmp_path), "--only", "colour=red"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "colour=red" in done.stderr

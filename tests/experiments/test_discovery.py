"""The discovery experiment, its quick form from end to end."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade.graphs import PatternTable
from grade.sampling.census import take_census
from grade.search import Constraints
from grade.sources import load

RUN = Path(__file__).parents[2] / "experiments" / "discovery" / "run.py"
SEARCHES = ["GraDE (parts)", "GraDE (nrs)", "posterior (parts)", "occurrences", "disjoint"]
SAMPLERS = ["rand-esu", "nrs"]
UNDER, SIZES = ["none", "case study"], [4, 5, 6]
TABLES = ["results.csv", "results.md", "median-none.png", "median-case-study.png", "runtime.png"]


def run(out: Path, *flags: str) -> str:
    command = [sys.executable, str(RUN), "--quick", "--out", str(out), *flags]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("discovery") / "results"
    run(folder)
    return folder


@pytest.fixture(scope="module")
def rows(out: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    data = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    return {(row["method"], row["constraints"], row["k"]): row for row in data if "cutoffs" not in row}


def test_all_methods_are_there_at_all_sizes(rows: dict[tuple[str, str, int], dict[str, Any]]) -> None:
    assert set(rows) == {*product(SEARCHES + SAMPLERS, UNDER, SIZES)}
    for (method, _, _), row in rows.items():
        stages = {"sampling"} if method in SAMPLERS else {"search"}
        if method.startswith(("posterior", "GraDE")):
            stages |= {"sampling", "training"}
        assert set(row["seconds"]) == stages


def test_counts_are_those_of_the_census(out: Path, rows: dict[tuple[str, str, int], dict[str, Any]]) -> None:
    graphs = load("zoo-mini")
    rules = Constraints(contains=["Conv*"], max_in_degree=2, max_out_degree=2)
    for k in SIZES:
        census = take_census(graphs, k)
        true = {p.key: int(c) for p, c in zip(census.patterns, census.counts, strict=True)}
        for method, under in product(SEARCHES + SAMPLERS, UNDER):
            named = out / "tasks" / "named" / f"{method}, {under}, {k}.json"
            keys = json.loads(named.read_text())["keys"]
            row = rows[method, under, k]
            assert row["exact"] == row["patterns"] == len(keys) == len(set(keys)) == 10
            assert row["counted"]["median"] == np.median([true[key] for key in keys])
            assert row["estimated"]["mean"] == pytest.approx(np.mean([true[key] for key in keys]))
            assert row["estimated"]["off_exact"] < 0.2  # the estimates that were not needed were good
            if under == "case study":
                patterns = PatternTable.from_keys(keys, graphs.node_vocabulary, graphs.edge_vocabulary)
                assert rules.accepts(patterns).all()


def test_searches_find_at_least_what_sampling_finds(
    rows: dict[tuple[str, str, int], dict[str, Any]],
) -> None:
    for under, k in product(UNDER, SIZES):
        best = max(rows[sampler, under, k]["counted"]["median"] for sampler in SAMPLERS)
        assert rows["occurrences", under, k]["counted"]["median"] >= best
        assert rows["GraDE (parts)", under, k]["counted"]["median"] >= best
        others = [rows[method, under, k]["disjoint"]["median"] for method in ("occurrences", "GraDE (parts)")]
        assert rows["disjoint", under, k]["disjoint"]["median"] >= max(others)


def test_tables_are_made_again_from_the_results_alone(out: Path) -> None:
    before = {name: (out / name).read_bytes() for name in TABLES}
    for name in TABLES:
        (out / name).unlink()
    run(out, "--tables")
    assert {name: (out / name).read_bytes() for name in TABLES} == before
    text = before["results.md"].decode()
    assert all(f"| {k} | " in text for k in SIZES)
    assert "| k | " + " | ".join([*SEARCHES, *SAMPLERS]) + " |" in text
    assert len(before["results.csv"].splitlines()) == 1 + len(SEARCHES + SAMPLERS) * len(UNDER) * len(SIZES)


def test_what_is_done_is_not_done_again(out: Path) -> None:
    (counted,) = (out / "tasks" / "counted").glob("5, none, *.json")
    counted.unlink()
    before = (out / "results.jsonl").read_bytes()
    assert [line.split(":")[0] for line in run(out).splitlines()] == [f"counted/{counted.stem}"]
    assert (out / "results.jsonl").read_bytes() == before

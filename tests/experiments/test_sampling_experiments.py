"""The reduced runs of the experiments on sampling: every part reports, and the figures are those of the definitions."""

import csv
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from grade import PatternTable

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def quick_run(name: str, out: Path) -> None:
    subprocess.run([sys.executable, EXPERIMENTS / name / "run.py", "--quick", "--out", out], check=True)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_sample_size(tmp_path: Path) -> None:
    quick_run("sample_size", tmp_path)
    sizes = rows(tmp_path / "samples_to_density.csv")
    assert [row["method"] for row in sizes] == ["ars", "nrs", "rand-esu", "rand-fase"]
    for row in sizes:
        assert abs(float(row["mean"]) - 279) < 40, "three draws of about 279 with a deviation of 9"
    curve = rows(tmp_path / "curve.csv")
    assert {(row["method"], row["density"]) for row in curve} == {
        (method, density) for method in ("ars", "nrs", "rand-esu", "rand-fase") for density in ("0.1", "0.2")
    }
    for row in rows(tmp_path / "bias.csv"):
        assert float(row["distance"]) == pytest.approx(float(row["noise"]), rel=0.15)
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "README.md").read_text()
    assert page.count("\n| nas-bench-201 | 4 |") == 1 + 4
    assert "| zoo-mini | 8 | Rand-FaSE |" in page


def test_case_study_share(tmp_path: Path) -> None:
    quick_run("case_study_share", tmp_path)
    for row in rows(tmp_path / "shares.csv"):
        if row["method"] != "nrs" and row["weighting"] == "occurrences":
            assert float(row["percent"]) == pytest.approx(float(row["exact"]), abs=4), "two draws of 2,000"
    assert "| zoo-mini, exact | 24.8983 | 22.6859 |" in (tmp_path / "README.md").read_text()


def case_study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("case_study", EXPERIMENTS / "case_study_share" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_the_case_study_calls_interesting() -> None:
    def edges(*arcs: tuple[int, int]) -> np.ndarray:
        matrix = np.zeros((5, 5), np.uint8)
        for source, target in arcs:
            matrix[source, target] = 1
        return matrix

    chain = edges((0, 1), (1, 2), (2, 3), (3, 4))
    cases = {
        "a chain with a convolution": ([0, 1, 1, 1, 1], chain, True),
        "a chain without": ([1] * 5, chain, False),
        "three edges out": ([0] * 5, edges((0, 1), (0, 2), (0, 3), (3, 4)), False),
        "three edges in": ([0] * 5, edges((1, 0), (2, 0), (3, 0), (3, 4)), False),
        "two in and two out": ([0] * 5, edges((1, 0), (2, 0), (0, 3), (0, 4)), True),
        "a loop is no edge to another node": ([0] * 5, chain | edges((1, 1), (1, 3)), True),
    }
    types = np.array([types for types, _, _ in cases.values()])
    table = PatternTable.canonical(types, np.array([m for _, m, _ in cases.values()]), ["Conv", "Relu"])
    found = case_study().interesting(table, ["Conv", "ConvTranspose"], 2).tolist()
    assert dict(zip(cases, found, strict=True)) == {name: case[2] for name, case in cases.items()}

"""`grade sample`, end to end."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from grade.graphs.sample import load_sample
from grade.sampling import sample
from grade.sources import load


def test_by_count(run: Any) -> None:
    code, out, err = run(
        "sample", "zoo-mini", "-k", "7", "--count", "300", "--seed", "5", "--out", "drawn", "--json"
    )
    assert (code, err, out.count("\n")) == (0, "", 1)
    report = json.loads(out)
    stored = load_sample("drawn")
    expected = sample(load("zoo-mini"), 7, "rand-esu", count=300, seed=5)
    np.testing.assert_array_equal(stored.occurrences, expected.occurrences)
    assert list(stored.patterns) == list(expected.patterns)
    assert {name: report[name] for name in ("method", "seed", "k", "count", "patterns", "out")} == {
        "method": "rand-esu",
        "seed": 5,
        "k": 7,
        "count": 300,
        "patterns": len(expected.patterns),
        "out": "drawn",
    }
    assert report["seconds"] > 0
    assert report["effective_r"] == expected.drawn["effective_r"]
    assert len(report["probabilities"]) == 7
    assert "density" not in report


def test_by_density_with_a_census_file(run: Any) -> None:
    assert run("census", "zoo-mini", "-k", "4", "--out", "census.npz")[0] == 0
    arguments = ("--method", "nrs", "--density", "0.1", "--census", "census.npz", "--out", "drawn")
    code, out, err = run("sample", "zoo-mini", "-k", "4", *arguments)
    assert (code, err) == (0, "")
    stored = load_sample("drawn")
    assert out.startswith(
        f"drawn: {len(stored):,} samples of {len(stored.patterns):,} patterns, k = 4, by nrs"
    )
    assert "density: 0.1" in out


def test_the_ars_report_has_its_rate(run: Any) -> None:
    code, out, _ = run(
        "sample", "nas-bench-201", "-k", "4", "--method", "ars", "--count", "50", "--out", "x", "--json"
    )
    assert code == 0
    assert 0.3 < json.loads(out)["acceptance_rate"] < 0.5


def test_bad_input_gives_one_sentence_and_writes_nothing(run: Any, tmp_path: Path) -> None:
    for arguments, sentence in (
        (("--count", "0"), "--count is 0; give 1 or more"),
        ((), "Give the number of samples"),
        (("--count", "99999999999999"), "99,999,999,999,999 samples of 9 nodes need"),
        (("--count", "5", "--method", "esu"), "There is no sampler named 'esu'"),
        (("--count", "5", "-r", "-2"), "r is -2.0"),
        (("--count", "1000", "--method", "ars"), "ARS accepts too few"),
    ):
        code, out, err = run("sample", "zoo-mini", "-k", "9", *arguments, "--out", "drawn")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"grade: {sentence}")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_taken_is_refused_before_the_work(run: Any, tmp_path: Path) -> None:
    (tmp_path / "drawn").write_text("mine")
    code, _, err = run("sample", "zoo-mini", "-k", "4", "--count", "5", "--out", "drawn")
    assert code == 2
    assert "exists and is not a sample" in err
    assert (tmp_path / "drawn").read_text() == "mine"

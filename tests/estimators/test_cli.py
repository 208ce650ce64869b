"""grade fit, score and evaluate from end to end."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade.estimators import load_estimator
from grade.graphs.sample import save_sample
from grade.sampling.census import Census
from tests.estimators.spaces import census_201, uniform_sample


@pytest.fixture(autouse=True)
def inputs(tmp_path: Path) -> None:
    """A sample, and the census that it was drawn from."""
    table, counts = census_201(4)
    save_sample(uniform_sample(table, counts, 200, 0), tmp_path / "sample")
    Census("nas-bench-201", 4, table, counts.astype(np.uint64), 0.0, 1).save(tmp_path / "census.npz")


CHANGES = ("layers=1", "width=16", "heads=2", "steps=40", "warmup=5", "learning_rate=0.02", "members=2")
QUICK = [word for change in CHANGES for word in ("--set", change)]


def test_fit_then_score_then_evaluate(run: Any, tmp_path: Path) -> None:
    code, out, err = run("fit", "sample", "--out", "model", "--device", "cpu", *QUICK, "--json")
    assert (code, err) == (0, "")
    fitted = json.loads(out)
    assert (fitted["estimator"], fitted["k"], fitted["occurrences"], fitted["steps"]) == (
        "autoregressive",
        [4],
        200,
        40,
    )
    assert not (tmp_path / "model.fitting").exists()

    code, out, _ = run("evaluate", "model", "census.npz", "--json")
    assert code == 0
    result = json.loads(out)
    assert set(result) == {"spearman", "kendall", "patterns", "evaluations_per_pattern", "seconds"}
    assert result["patterns"] == 2295
    assert result["spearman"] > 0.3

    assert run("score", "model", "census.npz", "--out", "scores.csv")[0] == 0
    table, _ = census_201(4)
    expected = load_estimator(tmp_path / "model").log_probability(table)
    with (tmp_path / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["log_probability"]) for row in rows] == pytest.approx(expected, abs=1e-4)
    assert [row["key"] for row in rows[:5]] == [table[i].key for i in range(5)]

    (tmp_path / "some.txt").write_text("\n".join(row["key"] for row in rows[:3]) + "\n")
    assert run("score", "model", "some.txt", "--out", "some.npz")[0] == 0
    with np.load(tmp_path / "some.npz") as archive:
        assert archive["log_probability"] == pytest.approx(expected[:3], abs=1e-4)
    assert run("score", "model", "sample", "--out", "sample.csv")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "nothing", "--out", "model"], "nothing is not a sample"),
        (["fit", "sample", "--out", "model", "--estimator", "gan"], "no estimator named 'gan'"),
        (["fit", "sample", "--out", "model", "--preset", "better"], "no preset 'better'"),
        (["fit", "sample", "--out", "model", "--set", "depth=3"], "autoregressive has no setting 'depth'"),
        (["fit", "sample", "--out", "model", "--set", "steps=-1"], "is -1; give 0 or more"),
        (["fit", "sample", "--out", "model", "--set", "learning_rate=nan"], "is nan; give a finite number"),
        (["fit", "sample", "--out", "sample"], "sample exists and is no model"),
        (["fit", "sample", "--out", "far/away/model"], "does not exist"),
        (["score", "nothing", "census.npz", "--out", "scores.csv"], "nothing is no model"),
        (["score", "nothing", "census.npz", "--out", "scores.xml"], "scores.xml must end in"),
        (["evaluate", "nothing", "census.npz"], "nothing is no model"),
    ],
)
def test_bad_input_gets_one_sentence(run: Any, tmp_path: Path, arguments: list[str], message: str) -> None:
    before = sorted(tmp_path.iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before

"""The accuracy experiment: a cell that is trained again, and what that changes."""

from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from tests.experiments.accuracy import read_lines, scorings, start


@pytest.fixture(scope="module")
def again(quick: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reduced matrix, with one cell trained anew for half as long and scored in one way only."""
    folder = tmp_path_factory.mktemp("again") / "results"
    copytree(quick, folder)
    options = ("--only", "estimator=defog", "--scorings", "paper", "--set", "epochs=5", "--commit", "later")
    done = start("run.py", "--quick", "--out", folder, "--again", *options)
    assert done.returncode == 0, done.stderr
    return folder


def defog(folder: Path) -> dict[str, Any]:
    (result,) = [r for r in read_lines(folder / "cells.jsonl") if r["estimator"] == "defog"]
    return result


def test_scorings_of_the_earlier_training_are_kept_and_say_so(quick: Path, again: Path) -> None:
    before, after = defog(quick), defog(again)
    assert after["commit"] == "later" != before["commit"]
    assert (before["settings"]["epochs"], after["settings"]["epochs"]) == (10, 5)
    assert set(after["scorings"]) == {"paper", "paper-orbit", "default", "default-no-orbit"}
    own = after["scorings"].pop("paper")
    assert own["spearman"] != before["scorings"]["paper"]["spearman"]
    assert "commit" not in own
    for name, entry in after["scorings"].items():
        assert entry["spearman"] == before["scorings"][name]["spearman"]
        assert entry["commit"] == before["commit"]
        assert entry["settings"]["epochs"] == 10
        assert entry["steps"] == before["steps"] > after["steps"]


def test_before_and_after_are_compared_where_something_changed(quick: Path, again: Path) -> None:
    done = start("compare.py", quick, again)
    assert done.returncode == 0, done.stderr
    old, new = (scorings(folder, "defog", "paper")["paper"]["spearman"] for folder in (quick, again))
    rows = done.stdout.strip().splitlines()[2:]
    assert rows == [f"| DeFoG-E | 4 | as in the paper | 1 | {new - old:+.4f} | - |"]


def test_results_that_have_nothing_in_common_are_refused(quick: Path, again: Path) -> None:
    done = start("compare.py", quick, again, "--only", "estimator=disco")
    assert done.returncode == 2
    assert str(again) in done.stderr
    assert "made again" in done.stderr

"""``grade significance`` end to end."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grade.sampling.census import take_census
from grade.sources import load


def grade(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "grade.cli", *arguments], capture_output=True, text=True)


def test_json_and_file_say_the_same_as_a_census(tmp_path: Path) -> None:
    out = tmp_path / "scores.npz"
    done = grade(
        *["significance", "zoo-mini", "-k", "3", "--null", "levels", "--draws", "40", "--switches", "5"],
        *["--seed", "3", "--json", "--top", "5", "--by-graph", "--out", str(out)],
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    census = take_census(load("zoo-mini"), 3)
    assert report["instances"] == census.instances
    assert report["null"] == "levels"
    assert (report["quality"], report["draws"], report["switches"]) == ("exact", 40, 5.0)
    assert len(report["top"]) == 5
    counts = {
        pattern.key: count for pattern, count in zip(census.patterns, census.counts.tolist(), strict=True)
    }
    for row in report["top"]:
        assert row["observed"] == counts.get(row["key"], 0)
        assert 1 / 41 <= row["p_over"] <= 1
    with np.load(out) as file:
        assert json.loads(str(file["facts"]))["tested"] == report["tested"]
        whole = file["graph"] == ""
        assert whole.sum() == report["patterns"]
        assert file["observed"][whole].sum() == file["observed"][~whole].sum() == census.instances
        assert set(file["graph"][~whole]) == set(load("zoo-mini").graph_names)


def test_text_says_how_it_was_made() -> None:
    done = grade("significance", "zoo-mini", "-k", "2", "--draws", "20", "--null", "levels", "--top", "3")
    assert done.returncode == 0, done.stderr
    assert "draws of the null model 'levels'" in done.stdout
    assert "autocorrelation times of counts: median" in done.stdout
    assert "one pattern alone cannot fall below q =" in done.stdout
    assert done.stderr == ""


def test_ctrl_c_stops_a_chain_that_would_run_for_hours() -> None:
    command = ["significance", "zoo-mini", "-k", "3", "--switches", "1e8", "--draws", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "grade.cli", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=8)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, error
    assert error == "grade: interrupted.\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--null", "degre"], "There is no null model named 'degre'"),
        (["--draws", "0"], "The number of draws is 0"),
        (["--out", "scores.txt"], "scores.txt must end in .npz or .parquet"),
        (["--top", "-1"], "--top is -1; give 0 or more."),
    ],
)
def test_wrong_flags_get_one_sentence(arguments: list[str], sentence: str) -> None:
    done = grade("significance", "zoo-mini", "-k", "3", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""

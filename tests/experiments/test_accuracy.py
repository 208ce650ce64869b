"""The accuracy experiment: its reduced matrix from end to end."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade.errors import InputError
from tests.experiments.accuracy import FOLDER, read_lines, scorings, start


def test_the_reduced_matrix_has_every_kind_of_cell(quick: Path) -> None:
    results = read_lines(quick / "cells.jsonl")
    kinds = {(r["estimator"], r["variant"]) for r in results if r["sampler"] == "rand-esu"}
    trained = {(e, "paper") for e in ("disco", "defog", "digress", "graphvae")}
    plain = {(e, "default") for e in ("ceiling", "frequency", "joined", "rarest", "autoregressive")}
    orders = {("autoregressive", f"orders-{family}") for family in ("linear", "level", "canonical")}
    others = {("autoregressive", "no-interchange"), ("autoregressive", "one-network")}
    disco = {("disco", f"paper-{name}") for name in ("canonical", "last", "five-states")}
    assert kinds == trained | plain | orders | others | disco
    frequency = [r for r in results if r["estimator"] == "frequency"]
    assert {r["sampler"] for r in frequency} == {"rand-esu", "nrs", "rand-fase"}
    assert {r["density"] for r in frequency} == {0.1, 0.3}
    for result in results:
        assert result["types"] == 2295
        assert result["quick"]
        assert {"commit", "device", "date", "seconds"} <= set(result)
        for entry in result["scorings"].values():
            assert -1 <= entry["kendall"] <= 1
            assert -1 <= entry["spearman"] <= 1


def test_one_training_is_scored_in_several_ways(quick: Path) -> None:
    ways = scorings(quick, "disco", "paper")
    assert {"paper", "paper-orbit", "default", "default-no-orbit"} < set(ways)
    assert ways["paper"]["evaluations_per_pattern"] == 8 * 2
    assert ways["paper"]["changed"] == {}
    assert ways["default"]["evaluations_per_pattern"] == 4 * 2
    assert ways["default"]["changed"] == {
        "kernel": "bridge",
        "shared_noise": True,
        "stratified": True,
        "orbit": True,
        "path_steps": 4,
    }
    assert ways["paper"]["spearman"] != ways["paper-orbit"]["spearman"]
    assert ways["paper"]["scored"] == 20_000 // 16, "a long path is scored on a part of the types"
    assert ways["default"]["scored"] == 2295
    assert ways["kernel-bridge-16"]["scored"] == 300
    assert ways["kernel-paper-16"]["spearman"] != ways["kernel-bridge-16"]["spearman"]
    assert ways["noise-shared"]["spearman"] != ways["noise-own"]["spearman"]
    rounds = ways["rounds-paper"]["by_rounds"]
    assert list(rounds) == ["1", "2", "4"]
    assert ways["rounds-paper"]["evaluations_per_pattern"] == 8 * 4, "all of them at the cost of the most"
    assert rounds["4"]["spearman"] == ways["rounds-paper"]["spearman"] != rounds["1"]["spearman"]
    together = scorings(quick, "autoregressive", "one-network")
    assert {(name, entry["k"]) for name, entry in together.items()} == {
        (f"{name}-{k}", k)
        for name in (
            "default",
            "sample-only",
            "default-no-orbit",
            "default-no-counts",
            "default-no-agreement",
        )
        for k in (3, 4)
    }
    learned, counted = (
        scorings(quick, e, "default")["default"]["spearman"] for e in ("autoregressive", "frequency")
    )
    assert learned > counted + 0.2


def test_counts_of_parts_are_told_apart_from_the_sample_alone(quick: Path, module: Any) -> None:
    ways = scorings(quick, "autoregressive", "no-interchange")
    assert set(ways) == {
        "default",
        "sample-only",
        "default-no-orbit",
        "default-no-counts",
        "default-no-agreement",
    }
    changed = ways["default"]["changed"]
    assert not {"parts", "orbit"} & set(changed)
    assert ways["sample-only"]["changed"] == changed | {"parts": False}
    assert ways["default-no-orbit"]["changed"] == changed | {"parts": False, "orbit": False}
    assert ways["default-no-counts"]["changed"] == changed | {"shrink": False}
    assert ways["default-no-agreement"]["changed"] == changed | {"agree": False}
    assert len({entry["spearman"] for entry in ways.values()}) == 5
    results = read_lines(quick / "cells.jsonl")
    for result in results:
        fitted = result.get("calibration")
        if result["estimator"] == "autoregressive":
            # Order families are compared by the model alone.
            sizes = {"one-network": {"3", "4"}}.get(result["variant"], {"4"})
            assert set(fitted) == (set() if result["variant"].startswith("orders-") else sizes)
            assert result["settings"]["interchange"] == (result["variant"] in ("default", "one-network"))
        else:
            assert not fitted
    # The counts of parts that come with any sample are those of the set.
    fitting, cells = module("fitting"), module("cells")
    census = fitting.read_census(quick / "inputs" / "nas-bench-201-4.npz")
    sample = fitting.load_sample(quick / "inputs" / "nas-bench-201-4-s1")
    for name in cells.PARTS:
        other = fitting.parts_alone(sample, census, name)["spearman"]
        assert other == scorings(quick, name, "default")["default"]["spearman"]
    assert fitting.parts_alone(sample, census, "joined")["spearman"] == pytest.approx(0.992, abs=1e-3)
    bare = dataclasses.replace(sample, parts=None)
    with pytest.raises(InputError, match="no counts of parts"):
        fitting.require_parts([sample, bare], quick)


def test_level_orders_share_a_scoring_only_without_counts_of_parts(quick: Path, module: Any) -> None:
    """What follows from a known number is not computed, and what is weighed with other counts does not follow."""
    fitting = module("fitting")
    from grade.settings import EstimatorSettings

    patterns = fitting.read_census(quick / "inputs" / "nas-bench-201-4.npz").patterns

    class Model:
        settings = EstimatorSettings()
        evaluations = calls = 0

        def log_probability(self, patterns: Any) -> np.ndarray:
            self.calls += 1
            return np.zeros(len(patterns))

    for parts, calls in ((False, 1), (True, 2)):
        model, known = Model(), {}
        chosen = EstimatorSettings(orders="level", parts=parts)
        with_orbit, _ = fitting.class_scores(model, chosen, patterns, known)
        without, _ = fitting.class_scores(model, dataclasses.replace(chosen, orbit=False), patterns, known)
        assert model.calls == calls
        corrections = np.log(patterns.level_orders / patterns.automorphisms)
        assert with_orbit - without == pytest.approx(corrections * (not parts))
    assert corrections.any()


def test_results_are_kept_cell_by_cell_and_not_made_twice(quick: Path) -> None:
    lines = read_lines(quick / "cells.jsonl")
    assert read_lines(quick / "copy" / "all.jsonl") == lines
    assert sorted(lines, key=str) == sorted(
        (json.loads(path.read_text()) for path in (quick / "cells").iterdir()), key=str
    )
    again = start("run.py", "--quick", "--out", quick)
    assert again.returncode == 0
    assert again.stderr.startswith(f"0 cells to run, 0 s of one job expected; {len(lines)} have results")
    listed = start("run.py", "--quick", "--out", quick, "--again", "--list", "--only", "estimator=ceiling")
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert names == [f"nas-bench-201-4-rand-esu-ceiling-default-s{seed}" for seed in (0, 1)]
    groups = start("run.py", "--quick", "--out", quick, "--again", "--list", "--group", "orders,one-network")
    variants = [
        line.split()[0].removeprefix("nas-bench-201-4-rand-esu-autoregressive-")
        for line in groups.stdout.splitlines()
    ]
    assert sorted(variants) == [
        "one-network-s0",
        "orders-canonical-s0",
        "orders-level-s0",
        "orders-linear-s0",
    ]
    unknown = start("run.py", "--quick", "--out", quick, "--group", "colours")
    assert unknown.returncode == 2
    assert "no group 'colours'" in unknown.stderr


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
    assert done.stderr.count("s0 failed: ") == 2, "a cell that failed is tried once more"
    others = {(r["sampler"], r["seed"], r["density"]) for r in read_lines(tmp_path / "out" / "cells.jsonl")}
    densest = {("rand-esu", seed, 0.3) for seed in (0, 1)}
    assert others == {("rand-esu", 1, 0.1), ("nrs", 0, 0.1), ("rand-fase", 0, 0.1)} | densest


def test_cells_that_differ_in_their_samples_are_fitted_in_one_task(quick: Path, module: Any) -> None:
    cells, run, fitting = module("cells"), module("run"), module("fitting")
    settings = cells.read_settings(quick=True)
    plan = {
        cells.Cell("nas-bench-201", 4, "rand-esu", estimator, variant, seed): ["paper"]
        for estimator, variant in (("graphvae", "paper"), ("autoregressive", "default"))
        for seed in (0, 1)
    }
    settings["groups"] = [
        {
            "name": "all",
            "ablation": False,
            "estimators": ["graphvae", "autoregressive"],
            "variants": ["paper", "default"],
            "samplers": ["rand-esu"],
            "sets": ["nas-bench-201"],
        }
    ]
    tasks = run.tasks_of(plan, quick / "inputs", settings, ["all"], 2)
    bundles = sorted([(c.estimator, c.seed) for c in task.cells] for task in tasks)
    # What is held out decides how long the autoregressive ones are trained, each by itself.
    alone = [[("autoregressive", 0)], [("autoregressive", 1)]]
    assert bundles == [*alone, [("graphvae", 0), ("graphvae", 1)]]
    assert len(run.tasks_of(plan, quick / "inputs", settings, ["all"], 1)) == 4
    (bundle,) = [task for task in tasks if len(task.cells) == 2]
    results = list(fitting.run_cells(bundle.cells, bundle.scorings, quick / "inputs", settings, 1))
    for cell, result in zip(bundle.cells, results, strict=True):
        single = fitting.run_cell(cell, ["paper"], quick / "inputs", settings, 1)
        assert result["seed"] == cell.seed
        assert result["scorings"]["paper"]["spearman"] == single["scorings"]["paper"]["spearman"]
    assert results[0]["scorings"] != results[1]["scorings"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_run_that_is_terminated_ends_its_jobs(quick: Path, tmp_path: Path) -> None:
    options = ["--quick", "--inputs", quick / "inputs", "--out", tmp_path, "--only", "estimator=disco"]
    command = [sys.executable, FOLDER / "run.py", *options, "--set", "epochs=1e9"]
    run = subprocess.Popen([*map(str, command)], start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        while max(seconds_of_group(run.pid)) < 8:  # some for torch; then a job trains
            assert run.poll() is None
            time.sleep(0.1)
        run.terminate()
        assert run.wait(timeout=60) == 128 + signal.SIGTERM
        end = time.monotonic() + 60
        while seconds_of_group(run.pid):
            assert time.monotonic() < end, "a job goes on"
            time.sleep(0.1)
    finally:
        if seconds_of_group(run.pid):
            os.killpg(run.pid, signal.SIGKILL)


def seconds_of_group(group: int) -> list[float]:
    """The processor time of each living process of a group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of, *more = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(of) == group and state != "Z":
            found.append((int(more[8]) + int(more[9])) / os.sysconf("SC_CLK_TCK"))
    return found

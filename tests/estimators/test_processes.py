"""Networks of one fit that are trained side by side in processes."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from grade.errors import InputError
from grade.estimators import fit, fit_to_folder
from grade.estimators.base import TENSOR_FILE
from grade.estimators.phases import Phases
from grade.estimators.processes import train_ahead
from grade.estimators.training import Trained
from grade.estimators.world import World
from grade.graphs import SubgraphSample
from grade.settings import EstimatorSettings
from tests.estimators.spaces import census_201, uniform_sample

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems train one after the other")

SETTINGS = EstimatorSettings(
    layers=1, width=16, heads=2, batch=32, learning_rate=1e-2, device="cpu", folds=2, members=3
)


@pytest.fixture
def sample() -> SubgraphSample:
    return uniform_sample(*census_201(4), 150, 0)


def phases_in(folder: Path, report: Any = None) -> Phases:
    return Phases(folder, SETTINGS, [], report, World.join(torch.device("cpu")))


def leave(name: str, phases: Phases) -> None:
    """What a training leaves: its process's number as the step."""
    phases.save(name, Trained(nn.Linear(1, 1), os.getpid(), 0.0))


def test_a_fit_is_the_same_whatever_the_number_of_threads(sample: SubgraphSample, tmp_path: Path) -> None:
    settings = replace(SETTINGS, maximum_steps=200, warmup=5)
    reports: dict[int, list[dict[str, Any]]] = {1: [], 3: []}
    for threads, own in reports.items():
        fit_to_folder(sample, settings, tmp_path / str(threads), own.append, threads)
    one, three = ((tmp_path / str(threads) / TENSOR_FILE).read_bytes() for threads in reports)
    assert one == three

    def losses(of: int) -> set[tuple[str, int, float]]:
        return {(r["phase"], r["step"], r["loss"]) for r in reports[of] if "loss" in r}

    assert losses(1) == losses(3), "what a process reports reaches the caller"
    assert {"trial-1", "member-2"} <= {phase for phase, _, _ in losses(3)}


def test_each_training_has_a_process_of_its_own(tmp_path: Path) -> None:
    phases = phases_in(tmp_path / "work")
    leave("a", phases)
    train_ahead(["a", "b", "c", "d"], leave, phases, 2)
    steps = [
        json.loads((tmp_path / "work" / f"{name}.json").read_text())["step"] for name in ("a", "b", "c", "d")
    ]
    assert steps[0] == os.getpid(), "what is there already is not done again"
    assert len(set(steps)) == 4


@pytest.mark.parametrize(("names", "processes"), [(["a"], 2), (["a", "b"], 1)])
def test_one_network_or_one_thread_needs_no_process(names: list[str], processes: int, tmp_path: Path) -> None:
    phases = phases_in(tmp_path / "work")
    train_ahead(names, leave, phases, processes)
    assert not any(map(phases.finished, names))


def test_what_fails_in_a_process_is_left_to_the_caller(
    sample: SubgraphSample, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail_at_b(name: str, phases: Phases) -> None:
        if name == "b":
            raise InputError("bad")
        leave(name, phases)

    phases = phases_in(tmp_path / "work")
    train_ahead(["a", "b", "c"], fail_at_b, phases, 3)
    assert [phases.finished(name) for name in ("a", "b", "c")] == [True, False, True]
    with pytest.raises(InputError, match="loss is nan"):
        fit(sample, replace(SETTINGS, steps=5, learning_rate=1e30), folder=tmp_path / "fit", threads=2)
    assert "Traceback" not in capfd.readouterr().err


def test_a_process_that_is_killed_is_told_of(tmp_path: Path) -> None:
    def die_at_b(name: str, phases: Phases) -> None:
        if name == "b":
            os.kill(os.getpid(), signal.SIGKILL)
        leave(name, phases)

    phases = phases_in(tmp_path / "work")
    with pytest.warns(UserWarning, match="process of b was ended .code -9.*Fewer threads"):
        train_ahead(["a", "b"], die_at_b, phases, 2)
    assert [phases.finished(name) for name in ("a", "b")] == [True, False]


def test_a_report_that_raises_ends_all_processes(sample: SubgraphSample, tmp_path: Path) -> None:
    def stop(values: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(sample, replace(SETTINGS, steps=100_000), folder=tmp_path / "work", report=stop, threads=2)
    assert multiprocessing.active_children() == []


ORPHANS = """
import os, sys, time
from pathlib import Path
import torch
from grade.estimators.phases import Phases
from grade.estimators.processes import train_ahead
from grade.estimators.world import World
from grade.settings import EstimatorSettings

def train(name, phases):
    print(os.getpid(), flush=True)
    report = phases.report(name)
    while True:
        time.sleep(0.05)
        report({})

phases = Phases(Path(sys.argv[1]), EstimatorSettings(), [], lambda values: None, World.join(torch.device("cpu")))
train_ahead(["a", "b"], train, phases, 2)
"""


def test_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ORPHANS, str(tmp_path / "work")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [int(parent.stdout.readline()) for _ in range(2)]
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while any(is_running(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_running(child) for child in children)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

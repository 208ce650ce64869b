"""What a training tells while it runs: JSON lines always, TensorBoard where it is installed."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grade.estimators import fit, plain_settings
from grade.estimators.reports import TrainingReport
from grade.estimators.training.loop import MetricsFile
from tests.estimators.spaces import census_201, uniform_sample

BOARD = "torch.utils.tensorboard.writer"
PHASES = ("trial", "member-0")
SETTINGS = plain_settings(
    "autoregressive", layers=1, width=16, heads=2, steps=150, batch=16, evidence=True, device="cpu"
)


class Writer:
    """In place of TensorBoard's SummaryWriter: keeps what it is given."""

    written: dict[str, list[tuple[str, float, int]]]

    def __init__(self, folder: str) -> None:
        self.scalars = self.written.setdefault(folder, [])

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.scalars.append((name, value, step))


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[str, float, int]]]:
    module: Any = ModuleType(BOARD)
    module.SummaryWriter = Writer
    monkeypatch.setattr(Writer, "written", {}, raising=False)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", ModuleType("torch.utils.tensorboard"))
    monkeypatch.setitem(sys.modules, BOARD, module)
    return Writer.written


def fit_in(folder: Path) -> tuple[list[dict[str, Any]], list[TrainingReport]]:
    """(what the metrics file holds, what was reported)."""
    reported: list[TrainingReport] = []
    sample = uniform_sample(*census_201(3), 100, 0)
    fit(sample, SETTINGS, folder=folder, report=reported.append)
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()], reported


def test_metrics_hold_phase_step_loss_and_time_left(tmp_path: Path) -> None:
    lines, reported = fit_in(tmp_path / "work")
    assert lines == [report.to_json() for report in reported]
    steps = [(line["phase"], line["step"], line["steps"]) for line in lines]
    assert steps == [(phase, step, 150) for phase in PHASES for step in (100, 150)]
    for line in lines:
        assert 0 < line["loss"] < 50
        assert line["eta"] == pytest.approx(line["seconds"] / line["step"] * (150 - line["step"]))
        assert (line["eta"] == 0) == (line["step"] == 150)
    assert lines[1]["loss"] < lines[0]["loss"]
    assert lines[3]["loss"] < lines[2]["loss"]


def test_tensorboard_gets_the_loss_by_phase_and_step(
    tmp_path: Path, board: dict[str, list[tuple[str, float, int]]]
) -> None:
    lines, _ = fit_in(tmp_path / "work")
    folder = tmp_path / "work" / "tensorboard"
    for phase in PHASES:
        own = [("loss", line["loss"], line["step"]) for line in lines if line["phase"] == phase]
        assert board.pop(str(folder / phase)) == own
    assert not board


def test_training_works_without_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, BOARD, None)  # as if it were not installed
    assert MetricsFile(tmp_path / "metrics.jsonl", "member-0").board is None
    lines, _ = fit_in(tmp_path / "work")
    assert len(lines) == 4
    assert not (tmp_path / "work" / "tensorboard").exists()

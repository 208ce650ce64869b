"""What is drawn on a terminal while work goes on."""

import io
import re
import sys
from dataclasses import replace

import pytest

from grade.estimators.reports import TrainingReport
from grade.terminal import training_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(monkeypatch: pytest.MonkeyPatch, *reports: TrainingReport) -> str:
    """The picture of a fit after these reports: the last between two moves of the cursor."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with training_progress() as tell:
        assert tell is not None
        for report in reports:
            tell(report)
    text = sys.stderr.getvalue()  # type: ignore[attr-defined]  # the terminal above
    return [picture for picture in re.split(r"\x1b\[\d*[A-Z]", text) if "━" in picture][-1]


def test_the_present_training_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = TrainingReport(phase="trial", step=20, steps=100, loss=1.25, seconds=2.0, eta=8.0)
    text = drawn(monkeypatch, trial)
    assert "trial" in text
    assert "loss 1.250" in text

    text = drawn(monkeypatch, trial, replace(trial, phase="member-0", step=30, loss=2.5))
    assert "member-0" in text
    assert "loss 2.500" in text
    assert "trial" not in text


def test_nothing_is_drawn_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with training_progress() as report:
        assert report is None

"""What is drawn on a terminal while work goes on."""

import io
import re
import sys
from typing import Any

import pytest

from grade.terminal import training_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(monkeypatch: pytest.MonkeyPatch, *reports: dict[str, Any]) -> str:
    """The picture of a fit after these reports: the last between two moves of the cursor."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with training_progress() as report:
        assert report is not None
        for values in reports:
            report({"steps": 100, **values})
    text = sys.stderr.getvalue()  # type: ignore[attr-defined]  # the terminal above
    return [picture for picture in re.split(r"\x1b\[\d*[A-Z]", text) if "━" in picture][-1]


def test_trainings_side_by_side_have_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(
        monkeypatch,
        {"phase": "trial-0", "step": 20, "loss": 1.25},
        {"phase": "trial-1", "step": 30, "loss": 2.5},
    )
    first, second = (line for line in text.splitlines() if "━" in line)
    assert "trial-0" in first
    assert "loss 1.250" in first
    assert "trial-1" in second
    assert "loss 2.500" in second


def test_what_is_over_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(
        monkeypatch,
        {"phase": "trial-0", "step": 20, "loss": 1.25},
        {"phase": "member-0", "step": 30, "loss": 2.5},
        {"phase": "agreement", "step": 0.5, "steps": 1.0},
    )
    assert "agreement" in text
    assert "member-0" not in text
    assert "trial-0" not in text


def test_nothing_is_drawn_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with training_progress() as report:
        assert report is None

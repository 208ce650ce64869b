"""Runs the examples of a page of the documentation: shell lines and Python sessions, in the order of the page.

Blocks of kind ``sh`` hold commands, one a line; blocks of kind ``python`` hold sessions with prompts, and share their
names. All of a page run in one folder that holds only `models`, a folder of small ONNX files, and `model.onnx`.
Commands of other programs (make, pip) are looked up where they are defined: they would install or take minutes.
"""

import doctest
import re
import shlex
import sys
import tomllib
from pathlib import Path
from unittest.mock import patch

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(page: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Run all examples; returns their number. A wrong output or exit code fails the test."""
    names: dict[str, object] = {}
    count = 0
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        kind, code = match.groups()
        line = text[: match.start()].count("\n") + 1
        if kind == "python":
            count += run_session(code, names, f"{page.name}:{line}")
        else:
            for command in filter(None, (part.split("  #")[0].strip() for part in code.splitlines())):
                run_command(command, capsys, f"{page.name}:{line}: {command}")
                count += 1
    return count


def run_session(code: str, names: dict[str, object], place: str) -> int:
    examples = doctest.DocTestParser().get_doctest(code, names, place, place, 0)
    assert examples.examples, f"{place}: a block of kind python without prompts; call it text, or add them"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    runner.run(examples, out=report.append, clear_globs=False)
    names.update(examples.globs)
    assert runner.failures == 0, "".join(report)
    return runner.tries


def run_command(command: str, capsys: pytest.CaptureFixture[str], place: str) -> None:
    from grade.cli import main

    program, *words = shlex.split(command)
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in words if "=" not in word} <= set(targets), place
    elif program == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        extras = re.findall(r"\[([\w,]+)\]", command)
        assert all(
            extra in project["optional-dependencies"] for part in extras for extra in part.split(",")
        ), place
    else:
        assert program == "grade", f"{place}: a block of kind sh holds commands of grade, make and pip"
        with patch.object(sys, "argv", [program, *words]), pytest.raises(SystemExit) as stop:
            main()
        told = capsys.readouterr()
        assert stop.value.code == 0, f"{place}\n{told.err}"
        assert told.out, f"{place}: prints nothing"
        assert not re.search(r"\b0 motifs", told.out), f"{place}: finds nothing"

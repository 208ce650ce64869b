"""Messages of the package name parameters in backquotes; the command line puts its flags in their place."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import grade
from grade.cli import app  # noqa: F401 (its commands fill the table of flags)
from grade.terminal import FLAGS, with_flags

PACKAGE = Path(grade.__file__).parent
OF_THE_COMMAND_LINE = ("cli/", "settings/", "terminal.py", "search/constraints.py")
FLAG = re.compile(r"(?<![\w-])--[a-z]")
WHOLE_COMMANDS = re.compile(r"'(grade|ray) .*")


def messages(path: Path) -> Iterator[str]:
    """The strings of a module that are not docstrings."""
    tree = ast.parse(path.read_text())
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if not path.relative_to(PACKAGE).as_posix().startswith(OF_THE_COMMAND_LINE)
    ],
    ids=lambda path: path.relative_to(PACKAGE).as_posix(),
)
def test_no_message_names_a_flag(path: Path) -> None:
    flagged = [text for text in messages(path) if FLAG.search(WHOLE_COMMANDS.sub("", text))]
    assert flagged == []


def test_the_command_line_says_flags() -> None:
    assert with_flags("raise `memory`, or set `overwrite`") == "raise --memory, or set --force"
    assert FLAGS["k"] == "-k"
    # Also where another command takes a setting of this name by position, whatever their order.
    assert [FLAGS[name] for name in ("samples", "census", "out", "model")] == [
        "--samples",
        "--census",
        "--out",
        "--model",
    ]
    assert FLAGS["patterns"] == "PATTERNS"

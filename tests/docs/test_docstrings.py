"""Docstrings describe parameters that exist, each on a line of its own."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import grade

PACKAGE = Path(grade.__file__).parent
HEADING = re.compile(r"^Parameters\n-+\n(.*?)(?=^$|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"(\w+(?:, \w+)*) : ")


def described(path: Path) -> Iterator[tuple[ast.FunctionDef, list[str]]]:
    """The functions of a module with a list of parameters, and the lines of the list."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            found = HEADING.search(ast.get_docstring(node) or "")
            if found:
                yield node, found[1].splitlines()


def parameters(function: ast.FunctionDef) -> set[str]:
    given = function.args
    every = [*given.args, *given.kwonlyargs, *filter(None, [given.kwarg, given.vararg])]
    return {argument.arg for argument in every}


FUNCTIONS = [
    pytest.param(function, lines, id=f"{path.relative_to(PACKAGE)}:{function.name}")
    for path in sorted(PACKAGE.rglob("*.py"))
    for function, lines in described(path)
]


def test_some_functions_list_their_parameters() -> None:
    assert len(FUNCTIONS) > 15


@pytest.mark.parametrize(("function", "lines"), FUNCTIONS)
def test_every_parameter_has_a_line_of_its_own(function: ast.FunctionDef, lines: list[str]) -> None:
    known = parameters(function)
    heads = [match for line in lines if (match := ENTRY.match(line))]
    assert heads
    for match in heads:
        assert set(match[1].split(", ")) <= known, match[1]
    within = [
        name
        for line in lines
        for match in ENTRY.finditer(line)
        if match.start() > 0
        for name in match[1].split(", ")
        if name in known
    ]
    assert within == []

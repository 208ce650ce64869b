"""Docstrings describe parameters that exist, each on a line of its own."""

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import grade

PACKAGE = Path(grade.__file__).parent
HEADING = re.compile(r"^Parameters\n-+\n(.*?)(?=^$|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(
    r"\w+(?:, \w+)*"
)  # on a line of its own, the description indented below: the style of numpydoc


def described(path: Path) -> Iterator[tuple[ast.FunctionDef, str]]:
    """The functions of a module with a list of parameters, and their documentation."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and HEADING.search(ast.get_docstring(node) or ""):
            yield node, ast.get_docstring(node) or ""


def parameters(function: ast.FunctionDef) -> set[str]:
    given = function.args
    every = [*given.args, *given.kwonlyargs, *filter(None, [given.kwarg, given.vararg])]
    return {argument.arg for argument in every}


FUNCTIONS = [
    pytest.param(function, text, id=f"{path.relative_to(PACKAGE)}:{function.name}")
    for path in sorted(PACKAGE.rglob("*.py"))
    for function, text in described(path)
]


def test_some_functions_list_their_parameters() -> None:
    assert len(FUNCTIONS) > 15


@pytest.mark.parametrize(("function", "text"), FUNCTIONS)
def test_every_parameter_has_a_line_of_its_own(function: ast.FunctionDef, text: str) -> None:
    found = HEADING.search(text)
    assert found
    lines = found[1].splitlines()
    heads = [line for line in lines if not line.startswith("    ")]
    assert heads
    assert all(ENTRY.fullmatch(head) for head in heads), heads
    assert {name for head in heads for name in head.split(", ")} <= parameters(function)
    assert all(after.startswith("    ") for head, after in itertools.pairwise(lines) if head in heads)


@pytest.mark.parametrize(("function", "text"), FUNCTIONS)
def test_examples_have_a_heading(function: ast.FunctionDef, text: str) -> None:
    """Without one the reference takes them for parameters."""
    assert function.name
    if ">>>" in text:
        assert re.search(r"^Examples\n-{8}\n>>>", text, re.MULTILINE)


def test_the_reference_has_all_that_the_package_offers() -> None:
    page = (PACKAGE.parents[1] / "docs" / "api.md").read_text()
    named = set(re.findall(r"^::: [\w.]*?(\w+)$", page, re.MULTILINE))
    assert set(grade.__all__) - named == {"__version__", "InputError"}

"""Abstract syntax trees: the functions of Python files.

    syntax:FOLDER    all .py files below a folder
    syntax:FILE      one file

A graph is a function or a method, with the functions inside it. A node is a construct of the syntax, named as in the
module ``ast`` (``Call``, ``If``, ``Assign`` ...) with its operator where it has one (``BinOp.Add``). An arc leads
from a part to the construct that holds it, and keeps which part that is. Files are parsed, not run.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.settings import ReadSettings
from grade.sources.operator_graph import OperatorGraph, Value
from grade.sources.readers import Item, reader
from grade.sources.source_registry import source

MAX_BYTES = 16 << 20  # of one file
Function = ast.FunctionDef | ast.AsyncFunctionDef


@source(
    "syntax",
    "Syntax trees of the functions in Python files: a file, or all below a folder.",
    argument="PATH",
    needs_argument=True,
)
def syntax(path: str) -> list[Item]:
    place = Path(path)
    found = [place] if place.is_file() else sorted(file for file in place.rglob("*.py") if file.is_file())
    if not found:
        raise InputError(f"{path} is neither a file nor a folder with .py files in it; name another.")
    return [Item("syntax", str(file)) for file in found]


@reader("syntax", "functions of Python files", isolated=True)  # a hostile file can exhaust the parser's stack
def read_functions(path: str, settings: ReadSettings | None = None) -> Iterator[GraphSet]:
    """The functions of a file, in its order."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error}); check that it is whole.") from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{path} is refused, for it has more than {MAX_BYTES:,} bytes; split it.")
    try:
        for name, function in functions(ast.parse(content, path), ""):
            graph = OperatorGraph()
            graph.outputs = [add(graph, function)]
            yield graph.graph_set(f"{path}:{name}", settings or ReadSettings(), path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(
            f"{path} is not Python that this version parses ({type(error).__name__}); leave it out."
        ) from None


def functions(holder: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, Function]]:
    """(name, function) of all functions and methods that are not inside another function."""
    for statement in holder.body:
        if isinstance(statement, Function):
            yield f"{prefix}{statement.name}:{statement.lineno}", statement
        elif isinstance(statement, ast.ClassDef):
            yield from functions(statement, f"{prefix}{statement.name}.")


def add(graph: OperatorGraph, node: ast.AST) -> Value:
    """Add a construct after its parts.

    >>> graph = OperatorGraph()
    >>> _ = add(graph, ast.parse("a + f(b)", mode="eval").body)
    >>> graph.types
    ['Name', 'Name', 'Name', 'Call', 'BinOp.Add']
    """
    operators = getattr(node, "ops", [getattr(node, "op", None)])
    kind = ".".join([type(node).__name__, *(type(op).__name__ for op in operators if op is not None)])
    markers = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    parts = [add(graph, child) for child in ast.iter_child_nodes(node) if not isinstance(child, markers)]
    value = Value()
    place = f"{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"
    graph.add(kind, f"{kind} {place}", parts, [value])
    return value

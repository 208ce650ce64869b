"""Syntax trees of Python functions against the module ast, and files that are no Python."""

import ast
import json
from collections import Counter
from pathlib import Path

import pytest

from grade import InputError
from grade.sources import load
from tests.significance.test_command import grade

SOURCE = '''
import os

def outer(x, *, y=1):
    """A function with one inside."""
    def inner(z):
        return z if z < x <= y else not z
    x += 1
    return [inner(i) for i in range(x) if i and y or x]

class Thing:
    async def method(self):
        await self.other()

    class Nested:
        def deep(self): ...
'''


def test_nodes_and_arcs_are_those_of_ast(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(SOURCE)
    graphs = load(f"syntax:{tmp_path}")
    names = [name.removeprefix(f"{tmp_path}/module.py:") for name in graphs.graph_names]
    assert names == ["outer:4", "Thing.method:12", "Thing.Nested.deep:16"]
    markers = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    found = {node.name: node for node in ast.walk(ast.parse(SOURCE)) if hasattr(node, "name")}
    for graph, name in enumerate(["outer", "method", "deep"]):
        arcs = Counter(
            (type(child).__name__, type(parent).__name__)
            for parent in ast.walk(found[name])
            for child in ast.iter_child_nodes(parent)
            if not isinstance(child, markers) and not isinstance(parent, markers)
        )
        begin = int(graphs.node_offsets[graph])
        kinds = [graphs.node_vocabulary[kind].split(".")[0] for kind in graphs.node_types[begin:]]
        assert Counter((kinds[u], kinds[v]) for u, v in graphs.edge_list(graph).tolist()) == arcs
        assert graphs.node_counts[graph] == arcs.total() + 1, "a tree"
    assert {"Compare.Lt.LtE", "UnaryOp.Not", "BoolOp.Or", "BoolOp.And", "AugAssign.Add"} <= set(
        graphs.node_vocabulary
    )


def test_the_name_of_an_inner_construct_says_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("def f(a):\n    return g(a)\n")
    graphs = load(f"syntax:{path}")
    assert graphs.node_names is not None
    assert "Call 2:11" in list(graphs.node_names)


@pytest.mark.parametrize(
    "content", [b"def f(:\n", b"def f(): return '\x00'\n", b"f = " + b"(" * 5000 + b")" * 5000]
)
def test_what_is_no_python_is_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.py").write_bytes(content)
    with pytest.raises(InputError, match=r"bad\.py is not Python that this version parses"):
        load(f"syntax:{tmp_path}")


def test_a_folder_without_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither a file nor a folder with \.py files"):
        load(f"syntax:{tmp_path}")


def test_motifs_of_functions_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    for number in range(3):
        (tmp_path / "code" / f"{number}.py").write_text(f"def f{number}(a):\n    return g(a) + g(a)\n")
    done = grade("census", f"syntax:{tmp_path / 'code'}", "-k", "3", "--json", "--top", "50")
    assert done.returncode == 0, done.stderr
    counts = {row["key"]: row["count"] for row in json.loads(done.stdout)["top"]}
    assert counts["Call#1 -> BinOp.Add; Call#2 -> BinOp.Add"] == 3

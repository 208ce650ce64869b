"""How the command begins and ends: Ctrl-C at any moment, RANK of a job template, names that a terminal would obey."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import grade
from grade import GraphSet
from grade.graphs.storage import save_graph_set
from grade.text import printable

GRADE = [sys.executable, "-m", "grade.cli"]

INTERRUPTED = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000): pass  # Python looks for signals between instructions
sys.meta_path.insert(0, Interrupt())
sys.argv = ["grade", "graphs", "info", "zoo-mini"]
from grade.start import main
main()
"""


@pytest.mark.parametrize(
    "module",
    ["grade.cli.app", "typer", "numpy", "grade._core", "grade.settings", "grade.cli.mining_commands"],
)
def test_ctrl_c_while_modules_are_imported_is_silent(module: str) -> None:
    program = INTERRUPTED.format(module=module)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr in ("", "grade: interrupted.\n")


def test_nothing_is_imported_before_ctrl_c_is_taken() -> None:
    """Every module that came before would be milliseconds in which Python answers Ctrl-C with a traceback."""
    program = (
        f"import sys, os; sys.path.insert(0, {str(Path(grade.__file__).parents[1])!r}); before = set(sys.modules)\n"
        "from grade.start import main; print(*sorted(set(sys.modules) - before))"
    )
    alone = [sys.executable, "-S", "-c", program]  # an editable installation brings a finder of its own
    done = subprocess.run(alone, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"grade", "grade.start", "_signal"}


def test_a_rank_in_the_environment_changes_nothing() -> None:
    command = [*GRADE, "census", "nas-bench-201", "-k", "2", "--json"]
    with_rank = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "RANK": "1"}
    )
    assert '"instances"' in with_rank.stdout


HOSTILE = "\x1b]0;owned\x07\nConv\u202e"


def test_names_do_not_reach_the_terminal_raw(tmp_path: Path) -> None:
    graphs = GraphSet.from_edges(
        node_counts=[4],
        node_types=[0, 1, 0, 1],
        edge_counts=[3],
        edges=[[0, 1], [1, 2], [2, 3]],
        node_vocabulary=[HOSTILE, "Relu"],
        graph_names=[HOSTILE + "graph"],
    )
    save_graph_set(graphs, tmp_path / "set")
    for arguments in (
        ["graphs", "info", "set"],
        ["graphs", "diff", "set", "zoo-mini", "-k", "3"],
        ["census", "set", "-k", "3"],
        ["mine", "set", "-k", "3", "--out", "distinct"],
        ["mine", "set", "-k", "3", "--all", "--out", "run"],
        ["runs", "show", "run"],
        ["verify", "0.1/0>1", "set"],
        ["census", "no\x1b[31m\nsuch set", "-k", "3"],
    ):
        done = subprocess.run([*GRADE, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
        for text in (done.stdout, done.stderr):
            assert all(line == printable(line) for line in text.split("\n")), arguments
            assert "Traceback" not in text
        if arguments[-1] == "run":  # the plain ranking names the graph where a motif is most common
            assert r"\x1b]0;owned\x07\nConv\u202egraph" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["verify", "70000.0/0>1", "zoo-mini"], "has a node type above 65534"),
        (["verify", "0.0/0>1.0>1", "zoo-mini"], "has the edge 0>1 twice; give it once"),
        (["verify", "0.0/0>1:0", "zoo-mini"], "has a node or a type out of range"),
        (["report", "run", "--out", "page.pdf"], "page.pdf must end in .html"),
        (["report", "run", "run", "--out", "page.pdf"], "page.pdf must end in .html"),
    ],
)
def test_nonsense_gets_one_sentence(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    done = subprocess.run([*GRADE, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []

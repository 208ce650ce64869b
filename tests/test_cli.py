import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grade
from grade import cli
from grade.graphs.storage import load_graph_set
from grade.sampling.census import Census, take_census
from grade.settings import CensusSettings, InfoSettings
from grade.sources import building, load
from grade.terminal import command
from tests.onnx_models import branching, save


def start(*arguments: str, prelude: str = "", **options: Any) -> "subprocess.Popen[str]":
    """Starts the command line in a process of its own."""
    program = f"import sys, grade.cli\n{prelude}\nsys.argv[0] = 'grade'\ngrade.cli.main()"
    defaults: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", program, *arguments], **{**defaults, **options})


def test_build_then_info_then_census(run: Any, tmp_path: Path) -> None:
    built = run("graphs", "build", "zoo-mini", "mini", "--json").json
    mini = load("zoo-mini")
    seconds = built.pop("seconds")
    assert seconds > 0
    size = {"graphs": len(mini), "nodes": mini.nodes, "edges": mini.edges}
    counts = {"inputs": 1, "read": 1, "resumed": 0, "skipped": [], "duplicates": []}
    assert built == {"sources": ["zoo-mini"], "out": "mini", **size, **counts}
    assert load_graph_set(tmp_path / "mini").origin == "zoo-mini"

    info = run("graphs", "info", "mini", "--json").json
    assert {name: info[name] for name in size} == size
    assert info["node_types"]["Conv"] == int((mini.node_types == mini.node_vocabulary.index("Conv")).sum())
    assert info["edge_types"] == {"edge": mini.edges}
    for name in ("largest_graph", "mean_graph", "largest_degree"):
        assert info[name] > 0
    for name in ("cyclic_graphs", "isolated_nodes", "self_loops"):
        assert info[name] == 0

    result = run("census", "mini", "-k", "4", "--threads", "1", "--top", "3", "--json").json
    expected = take_census(mini, 4)
    assert sorted(result) == ["instances", "k", "patterns", "seconds", "set", "threads", "top"]
    assert (result["instances"], result["patterns"]) == (expected.instances, len(expected.patterns))
    assert (result["set"], result["k"], result["threads"]) == ("mini", 4, 1)
    assert len(result["top"]) == 3
    for entry, (pattern, count) in zip(result["top"], expected.top(3), strict=True):
        assert entry == {
            "key": pattern.key,
            "count": count,
            "node_types": list(pattern.type_names),
            "edges": [list(edge) for edge in pattern.edge_list],
        }


def test_the_table_shows_count_share_and_pattern(run: Any) -> None:
    result = run("census", "zoo-mini", "-k", "3", "--top", "2")
    census = take_census(load("zoo-mini"), 3)
    assert result.code == 0
    assert result.err == ""
    first, header, *rows = result.out.splitlines()
    assert f"zoo-mini: {census.instances:,} instances of {len(census.patterns):,} patterns, k = 3" in first
    assert header.split() == ["rank", "count", "share", "pattern"]
    assert len(rows) == 2
    for row, (pattern, count) in zip(rows, census.top(2), strict=True):
        assert f"{count:,}" in row
        assert f"{100 * count / census.instances:.2f} %" in row
        assert row.endswith(f"  {pattern}")


def test_twenty_patterns_are_shown_unless_another_number_is_asked_for(run: Any) -> None:
    assert len(run("census", "zoo-mini", "-k", "4", "--json").json["top"]) == 20
    assert run("census", "zoo-mini", "-k", "4", "--top", "0", "--json").json["top"] == []


def test_info_is_readable(run: Any) -> None:
    result = run("graphs", "info", "zoo")
    assert result.code == 0
    assert "graphs: 231\n" in result.out
    assert "nodes: 209,879\n" in result.out
    assert "largest degree: 94\n" in result.out
    assert "      18,106  Conv\n" in result.out


@pytest.mark.parametrize("name", ["census.npz", "census.parquet"])
def test_the_census_is_written(run: Any, tmp_path: Path, name: str) -> None:
    result = run("census", "zoo-mini", "-k", "3", "--out", name, "--json").json
    census = Census.load(tmp_path / name)
    assert (census.instances, len(census.patterns)) == (result["instances"], result["patterns"])
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_build_replaces_a_set_only_by_force(run: Any, tmp_path: Path) -> None:
    assert run("graphs", "build", "zoo-mini", "set").code == 0
    again = run("graphs", "build", "nas-bench-201", "set")
    assert (again.code, again.out) == (2, "")
    assert again.err.startswith("grade: set exists already")
    assert len(load_graph_set(tmp_path / "set")) == 12
    assert run("graphs", "build", "nas-bench-201", "set", "--force").code == 0
    assert len(load_graph_set(tmp_path / "set")) == 15_625


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["census", "zo", "-k", "4"],
            "There is no file, folder or built-in set named 'zo'; known names: circuits:PATH, darts",
        ),
        (["census", "zoo-mini", "-k", "1"], "-k is 1; give 2 to 16."),
        (["census", "zoo-mini", "-k", "17"], "-k is 17; give 2 to 16."),
        (["census", "nas-bench-201", "-k", "9"], "the largest graph of nas-bench-201 has 8 nodes"),
        (["census", "zoo-mini", "-k", "4", "--threads", "0"], "--threads is 0; give 1 to 1024."),
        (["census", "zoo-mini", "-k", "4", "--top", "-1"], "--top is -1; give 0 or more."),
        (["census", "zoo-mini", "-k", "4", "--out", "a.csv"], "a.csv must end in .npz or .parquet"),
        (["census", "zoo-mini", "-k", "4", "--out", "b/a.npz"], "b/a.npz cannot be written: the folder"),
        (["census", "zoo-mini"], "Missing option '-k'"),
        (["census", "zoo-mini", "-k", "four"], "Invalid value for '-k'"),
        (["census"], "Missing argument 'SET'"),
        (["census", "", "-k", "4"], "SET is empty; give it a value."),
        (["census", "zoo-mini", "-k", "4", "--out", ""], "'--out': it is empty; name a file or a folder."),
        (
            ["mine", "zoo-mini", "--contains", "Conv", "--contains", ""],
            "--contains is empty; give it a value.",
        ),
        (["report", ""], "it is empty; name a file or a folder."),
        (["features", "zoo-mini", "-k", "17", "--out", "rows.npz"], "-k is 17; give 2 to 16."),
        (["graphs", "build", "zoo-mini"], "Missing argument 'SOURCE'"),
        (["graphs", "build", "nothing", "out"], "There is no file, folder or built-in set named 'nothing'"),
        (["graphs", "build", "zoo-mini", "a/b"], "a/b cannot be written: the folder"),
        (["graphs", "info", "."], "is not a graph set, for it has no graph-set.json"),
        (["graphs"], "Missing command"),
        (["minnow"], "No such command 'minnow'"),
        (["census", "zoo-mini", "-k", "4", "--fast"], "No such option"),
    ],
)
def test_bad_input_gives_one_sentence_and_exit_code_2(
    run: Any, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("grade: ")
    assert sentence in result.err
    assert result.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_would_fail_at_the_end_is_found_before_the_work(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*arguments: Any) -> None:
        raise AssertionError("the set was loaded before the target was checked")

    monkeypatch.setattr(cli.sampling_commands, "load", work)
    monkeypatch.setattr(building, "find", work)
    assert run("census", "zoo", "-k", "4", "--out", "a.csv").code == 2
    assert run("census", "zoo", "-k", "4", "--top", "-1").code == 2
    assert run("graphs", "build", "zoo", "missing/out").code == 2


def test_models_are_built_into_a_set(run: Any, tmp_path: Path) -> None:
    (tmp_path / "models" / "more").mkdir(parents=True)
    good = save(branching(), tmp_path / "models" / "more" / "branching.onnx")
    save(branching(), tmp_path / "models" / "copy.onnx")
    (tmp_path / "models" / "broken.onnx").write_bytes(b"no model")
    built = run("graphs", "build", "models/**/*.onnx", "set", "--merge-duplicates", "--json").json
    assert (built["inputs"], built["read"], built["graphs"]) == (3, 2, 1)
    assert built["duplicates"] == [["models/more/branching.onnx", "models/copy.onnx"]]
    (sentence,) = built["skipped"]
    assert sentence.startswith("models/broken.onnx is not a valid ONNX model (")
    assert load_graph_set(tmp_path / "set").nodes == load(good).nodes == built["nodes"]

    told = run("graphs", "build", "models", "other")
    assert (told.code, told.err) == (0, "")
    assert "2 of 3 inputs read, 1 skipped\n" in told.out
    assert f"  {sentence}\n" in told.out
    assert len(load_graph_set(tmp_path / "other")) == 2

    refused = run("graphs", "build", "models", "third", "--strict")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == f"grade: {sentence}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models", "other", "set"]


def test_two_sets_are_compared(run: Any) -> None:
    data = run("graphs", "diff", "zoo-mini", "nas-bench-201", "-k", "3", "--top", "2", "--json").json
    assert data["sets"] == ["zoo-mini", "nas-bench-201"]
    assert (data["types_in_common"], data["patterns_in_common"], len(data["pattern_shifts"])) == (0, 0, 2)
    assert [data["type_distance"], data["pattern_distance"]] == pytest.approx([1, 1])
    told = run("graphs", "diff", "zoo-mini", "zoo-mini", "-k", "3", "--top", "1")
    assert told.code == 0
    assert "types: distance 0.000 (0: the same, 1: nothing in common)" in told.out
    census = take_census(load("zoo-mini"), 3)
    assert (
        f"{len(census.patterns):,} and {len(census.patterns):,}, {len(census.patterns):,} in common\n"
        in told.out
    )


def test_a_damaged_set_gives_one_sentence(run: Any, tmp_path: Path) -> None:
    run("graphs", "build", "zoo-mini", "mini")
    targets = np.load(tmp_path / "mini" / "out_targets.npy")
    np.save(tmp_path / "mini" / "out_targets.npy", targets[::-1])
    for arguments in (["census", "mini", "-k", "3"], ["graphs", "info", "mini"]):
        result = run(*arguments)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith("grade: The graph set mini is damaged")


@pytest.mark.parametrize("command", [["census"], ["graphs", "build"], ["graphs", "info"], ["graphs", "diff"]])
def test_help_has_examples_and_the_built_in_sets(run: Any, command: list[str]) -> None:
    result = run(*command, "--help")
    assert (result.code, result.err) == (0, "")
    assert f"  grade {' '.join(command)} " in result.out
    for name in ("darts", "nas-bench-101", "nas-bench-201", "nas-bench-nlp:PATH", "zoo-mini"):
        assert name in result.out


def test_help_is_shown_where_nothing_is_asked(run: Any) -> None:
    result = run()
    assert (result.code, result.err) == (0, "")
    for word in ("Usage: grade", "census", "graphs"):
        assert word in result.out


def test_version(run: Any) -> None:
    result = run("--version")
    assert (result.code, result.out) == (0, f"grade {grade.__version__}\n")


def test_two_settings_objects_with_one_name_are_refused() -> None:
    import typer

    def clash(one: CensusSettings, two: InfoSettings) -> None: ...

    with pytest.raises(TypeError, match="graphs"):
        command(typer.Typer())(clash)


def test_the_command_line_starts_without_what_only_some_commands_need() -> None:
    heavy = {"torch", "scipy", "igraph", "networkx", "pyarrow", "matplotlib", "rich.progress"}
    program = f"import grade.cli, sys; print(*sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_an_interrupt_ends_the_work_with_130(tmp_path: Path) -> None:
    interrupt = (
        "import os, signal, threading\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()"
    )  # during the census, which would take minutes
    process = start("census", "zoo", "-k", "8", "--out", "census.npz", prelude=interrupt, cwd=tmp_path)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, "", "grade: interrupted.\n")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_has_gone_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    process = start("graphs", "info", "zoo-mini", stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (1, "")


def test_progress_is_drawn_on_a_terminal_only_and_never_on_standard_output() -> None:
    terminal, side = pty.openpty()
    process = start("census", "zoo-mini", "-k", "3", "--json", stderr=side)
    os.close(side)
    drawn = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other side was closed
            break
        if not part:
            break
        drawn += part
    out, _ = process.communicate(timeout=120)
    os.close(terminal)
    assert process.returncode == 0
    assert json.loads(out)["k"] == 3
    assert b"census" in drawn

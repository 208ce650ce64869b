"""The commands 'grade occurrences' and 'grade export' end to end, on models in files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.onnx_models import LIGHT

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
GRADE = [sys.executable, "-m", "grade.cli"]


def run(folder: Path, *arguments: str, code: int = 0) -> Any:
    done = subprocess.run([*GRADE, *arguments], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a set of one model, and a run on it."""
    place = tmp_path_factory.mktemp("runs")
    model = next(path for path in LIGHT if path.stem == "light_squeezenet")
    run(place, "graphs", "build", str(model), "set")
    run(place, "mine", "set", "-k", "3-4", "--top", "5", "--threads", "1", "--out", "run")
    return place


def test_occurrences_as_json_lines_csv_and_models(folder: Path) -> None:
    listed = json.loads(run(folder, "occurrences", "run", "--pattern", "1", "--limit", "2", "--json").stdout)
    assert (listed["occurrences"], listed["complete"], len(listed["list"])) == (2, False, 2)
    first = listed["list"][0]
    assert first["graph"].endswith("light_squeezenet.onnx")
    assert len(first["nodes"]) == len(first["types"])
    assert first["inputs"]
    assert first["outputs"]
    shown = run(folder, "occurrences", "run", "--pattern", "1", "--limit", "2").stdout
    assert "there are more, raise --limit (2)" in shown
    assert ", ".join(first["nodes"]) in shown
    run(folder, "occurrences", "run", "--pattern", "1", "--to", "csv")
    assert (folder / "occurrences-1.csv").read_text().startswith("graph,file,nodes,types")
    made = run(
        folder,
        "occurrences",
        "run",
        "--pattern",
        "1",
        "--limit",
        "2",
        "--to",
        "onnx",
        "--out",
        "cut",
        "--json",
    )
    files = [folder / name for name in json.loads(made.stdout)["files"]]
    assert len(files) == 2
    for file in files:
        onnx.checker.check_model(onnx.load(file), full_check=True)


def test_a_pattern_as_text_is_found_in_a_run_and_in_a_set(folder: Path) -> None:
    ask = ("--pattern", "Conv -> Relu", "--json")
    by_run, by_set = (json.loads(run(folder, "occurrences", place, *ask).stdout) for place in ("run", "set"))
    assert by_run["list"] == by_set["list"]
    assert by_run["pattern"] == "Conv -> Relu"
    counted = json.loads(run(folder, "verify", "Conv -> Relu", "set", "--json").stdout)["supports"][0]
    assert by_run["occurrences"] == counted["occurrences"] == 26
    any_of = json.loads(run(folder, "occurrences", "set", "--pattern", "Conv -> *", "--json").stdout)
    assert any_of["occurrences"] >= 26
    run(folder, "occurrences", "set", "--pattern", "Conv -> Relu", "--to", "jsonl")
    lines = (folder / "occurrences.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == by_set["list"]


def test_examples_in_json_have_names(folder: Path) -> None:
    shown = json.loads(run(folder, "runs", "show", "run", "--json").stdout)
    for motif in shown["motifs"]:
        listed = json.loads(run(folder, "occurrences", "run", "--pattern", str(motif["id"]), "--json").stdout)
        known = {(row["graph"], frozenset(row["nodes"])) for row in listed["list"]}
        assert motif["examples"]
        assert {(row["graph"], frozenset(row["nodes"])) for row in motif["examples"]} <= known


def test_an_export_says_where_it_comes_from(folder: Path) -> None:
    """Of motif 2, which reads weights; motif 1 holds the nodes that make its own."""
    made = json.loads(
        run(folder, "export", "run", "--pattern", "2", "--to", "pytorch", "--values", "--json").stdout
    )
    assert made["graph"].endswith("light_squeezenet.onnx")
    assert made["reason"] is None
    assert (folder / made["file"]).is_file()
    assert (folder / made["weights"]).is_file()
    alone = run(
        folder, "export", "run", "--pattern", "1", "--to", "pytorch", "--pattern-only", "--json"
    ).stdout
    assert json.loads(alone)["graph"] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["occurrences", "run", "--pattern", "9999"], "--pattern is 9999, but run has patterns 1 to"),
        (["occurrences", "run", "--pattern", "1", "--to", "xml"], "no format 'xml' for occurrences"),
        (["occurrences", "run", "--pattern", "1", "--limit", "0"], "--limit is 0"),
        (["occurrences", "run", "--pattern", "0"], "--pattern is 0, but run has patterns 1 to"),
        (["occurrences", "run", "--pattern", "Conv -> Rellu"], "did you mean 'Relu'?"),
        (["occurrences", "set", "--pattern", "1"], "set is no run"),
        (["occurrences", "run", "--pattern", "Konv"], "cannot be read as patterns"),
        (["occurrences", "nowhere", "--pattern", "1"], "nowhere is no run"),
        (["occurrences", "run", "--pattern", "1", "--to", "csv", "--out", "no/where.csv"], "does not exist"),
    ],
)
def test_bad_input_gets_one_sentence(folder: Path, arguments: list[str], sentence: str) -> None:
    done = run(folder, *arguments, code=2)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from grade import GraphSet, InputError
from grade.graphs.concatenation import join
from grade.graphs.storage import load_graph_set, save_graph_set
from grade.progress import Stopped
from grade.sources import building, load
from grade.sources.building import build_graph_set
from grade.sources.worker_pool import Failure
from tests.graph_sets import assert_equal
from tests.onnx_models import LIGHT, branching, save


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    for path in LIGHT:
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def expected(folder: Path) -> GraphSet:
    return join([load(path) for path in sorted(folder.glob("*.onnx"))], "x")


@pytest.mark.parametrize("workers", [1, 3])
def test_a_folder_becomes_a_set_for_any_number_of_workers(models: Path, tmp_path: Path, workers: int) -> None:
    shown = []
    report = build_graph_set(
        [str(models)],
        tmp_path / "set",
        workers=workers,
        progress=lambda share, stage: shown.append((share, stage)),
    )
    opened = load_graph_set(tmp_path / "set")
    assert_equal(opened, expected(models))
    assert (report.graphs, report.nodes, report.edges) == (len(LIGHT), opened.nodes, opened.edges)
    assert (report.inputs, report.read, report.skipped, report.resumed) == (len(LIGHT), len(LIGHT), [], 0)
    assert {Path(stage).name for _, stage in shown} == {path.name for path in LIGHT}
    assert sorted({share for share, _ in shown}) == [done / len(LIGHT) for done in range(len(LIGHT))]


def test_several_sources_become_one_set(models: Path, tmp_path: Path) -> None:
    zoo = load("zoo-mini")
    save_graph_set(zoo.subset([1]), tmp_path / "saved")
    (tmp_path / "more.jsonl").write_text('{"nodes": ["Conv"], "edges": []}\n')
    specs = [str(tmp_path / "saved"), str(models / "*zfnet*"), "zoo-mini", str(tmp_path / "more.jsonl")]
    build_graph_set(specs, tmp_path / "set")
    parts = [zoo.subset([1]), load(models / LIGHT[-1].name), zoo, load(tmp_path / "more.jsonl")]
    assert_equal(load_graph_set(tmp_path / "set"), join(parts, "x"))


def test_an_input_that_fails_half_way_leaves_nothing(models: Path, tmp_path: Path, monkeypatch: Any) -> None:
    lines = ['{"nodes": ["only here"], "edges": []}'] * 3 + ["{"]
    (models / "a.jsonl").write_text("\n".join(lines))
    monkeypatch.setattr("grade.sources.json_lines.BATCH", 1)
    report = build_graph_set([str(models)], tmp_path / "set", workers=1)
    assert report.skipped == [f"{models}/a.jsonl, line 4: it is not JSON; correct or remove it."]
    assert_equal(load_graph_set(tmp_path / "set"), expected(models))


def test_pieces_before_a_failure_are_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo = load("zoo-mini")

    def stream(*_: Any) -> Any:
        yield "one", zoo.subset([0])
        yield "one", None
        yield "two", zoo.subset([1, 0])
        yield "two", Failure("two is broken.")
        yield "three", zoo.subset([1])
        yield "three", None

    monkeypatch.setattr(building, "read_inputs", stream)
    report = build_graph_set(["zoo-mini"], tmp_path / "set", merge_duplicates=True)
    assert (report.read, report.skipped, report.duplicates) == (2, ["two is broken."], [])
    assert_equal(load_graph_set(tmp_path / "set"), zoo.subset([0, 1]))


def test_too_many_types_are_the_fault_of_the_input_that_brings_them(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("grade.graphs.concatenation.MAX_NODE_TYPES", 3)
    for name, types in (("a", ["x", "y"]), ("b", ["x", "p", "q"]), ("c", ["y", "z"])):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"nodes": types, "edges": [], "name": name}))
    report = build_graph_set([str(tmp_path / "?.jsonl")], tmp_path / "set")
    assert list(load_graph_set(tmp_path / "set").graph_names) == ["a", "c"]
    (sentence,) = report.skipped
    assert sentence.startswith(f"{tmp_path}/b.jsonl: The graphs have more than 3 node types together")


def test_strict_stops_at_the_first_failure_and_leaves_nothing(models: Path, tmp_path: Path) -> None:
    (models / "broken.onnx").write_bytes(b"\x08")
    with pytest.raises(InputError, match=r"broken\.onnx is not a valid ONNX model"):
        build_graph_set([str(models)], tmp_path / "set", strict=True)
    assert [path.name for path in tmp_path.iterdir()] == ["models"]


def test_a_set_of_nothing_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"\x08")
    with pytest.raises(
        InputError, match=r"No input could be read, so .*set is not written: .*broken\.onnx is not"
    ):
        build_graph_set([str(tmp_path / "*.onnx")], tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.onnx"]


def test_duplicates_are_merged_on_request(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        save(branching(), tmp_path / f"{name}.onnx")
    (tmp_path / "d.onnx").write_bytes(LIGHT[-1].read_bytes())
    pattern = str(tmp_path / "*.onnx")
    assert build_graph_set([pattern], tmp_path / "all").graphs == 4
    report = build_graph_set([pattern], tmp_path / "merged", merge_duplicates=True)
    first = str(tmp_path / "a.onnx")
    assert report.duplicates == [[str(tmp_path / "b.onnx"), first], [str(tmp_path / "c.onnx"), first]]
    assert list(load_graph_set(tmp_path / "merged").graph_names) == [first, str(tmp_path / "d.onnx")]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("*.onnx", "No file matches '.*onnx'; check the pattern, and quote it for the shell"),
        (
            "empty",
            "is not a graph set, for it has no graph-set.json, nor does it hold files that GraDE reads",
        ),
        ("notes.txt", "is not a graph set and has no suffix that GraDE reads"),
        ("pipes", "nor does it hold files that GraDE reads"),
        ("missing", "There is no file, folder or built-in set named"),
    ],
)
def test_what_names_nothing_is_refused(tmp_path: Path, spec: str, reason: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "pipes").mkdir()
    os.mkfifo(tmp_path / "pipes" / "waits_for_ever.onnx")
    (tmp_path / "notes.txt").write_text("text")
    with pytest.raises(InputError, match=reason):
        build_graph_set([str(tmp_path / spec)], tmp_path / "set")


KILLED = """
import sys, time
import grade.sources.building as building
building.CHECKPOINT_SECONDS = building.CHECKPOINT_REST = 0
def slowly(share, stage):
    print(stage.split(" of ")[0], flush=True)
    time.sleep(0.05)
building.build_graph_set([sys.argv[1]], sys.argv[2], workers=2, merge_duplicates=True, progress=slowly)
"""


def test_a_killed_build_goes_on_and_ends_with_the_same_set(models: Path, tmp_path: Path) -> None:
    (models / "copy.onnx").write_bytes(LIGHT[2].read_bytes())
    (models / "broken.onnx").write_bytes(b"\x08")
    target = tmp_path / "set"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(models), str(target)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 5:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not target.exists()
    resumed = build_graph_set([str(models)], target, merge_duplicates=True)
    assert resumed.resumed >= 4
    assert not (tmp_path / ".set.building").exists()
    afresh = build_graph_set([str(models)], tmp_path / "afresh", merge_duplicates=True)
    assert_equal(load_graph_set(target), load_graph_set(tmp_path / "afresh"))
    assert resumed.skipped == afresh.skipped
    assert resumed.duplicates == afresh.duplicates
    # The copy; and AlexNet without its two Dropouts is ZFNet-512, operator by operator.
    assert len(resumed.duplicates) == 2


def children() -> set[str]:
    """Processes of ours that are there."""
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


def test_a_changed_input_starts_the_build_from_nothing(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(share: float, stage: str) -> bool:
        return not stage.startswith("5 of ")

    monkeypatch.setattr(building, "CHECKPOINT_SECONDS", 0)
    monkeypatch.setattr(building, "CHECKPOINT_REST", 0)
    before = children()
    with pytest.raises(Stopped):
        build_graph_set([str(models)], tmp_path / "set", progress=interrupt)
    assert children() <= before
    assert (tmp_path / ".set.building" / "state.json").is_file()
    os.utime(models / LIGHT[0].name, (time.time(), 0))
    assert build_graph_set([str(models)], tmp_path / "set").resumed == 0
    assert_equal(load_graph_set(tmp_path / "set"), expected(models))

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grade import GraphSet, InputError
from grade.errors import FileError
from grade.graphs.concatenation import join
from grade.graphs.storage import load_graph_set, save_graph_set
from grade.graphs.writer import GraphSetWriter
from grade.sources import load
from tests.graph_sets import assert_equal, graph_sets


def write(folder: Path, parts: list[GraphSet]) -> None:
    with GraphSetWriter(folder, origin="joined", key="k", overwrite=True) as writer:
        for part in parts:
            writer.append(part)
        writer.finish()


@given(parts=st.lists(graph_sets(), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_pieces_become_the_joined_set(parts: list[GraphSet], tmp_path: Path) -> None:
    write(tmp_path / "set", parts)
    opened = load_graph_set(tmp_path / "set")
    expected = join(parts, "joined")
    if not any(expected.node_names or []):
        expected = replace(expected, node_names=None)  # names that are all empty are none
    assert_equal(opened, expected)
    _ = opened.core
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_the_folder_is_one_like_any_other(tmp_path: Path) -> None:
    zoo = load("zoo-mini")
    write(tmp_path / "pieces", [zoo.subset([i]) for i in range(len(zoo))])
    save_graph_set(zoo, tmp_path / "whole")
    pieces, whole = load_graph_set(tmp_path / "pieces"), load_graph_set(tmp_path / "whole")
    assert_equal(pieces, whole)
    assert sorted(p.name for p in (tmp_path / "pieces").iterdir()) == sorted(
        p.name for p in (tmp_path / "whole").iterdir()
    )


def test_what_is_taken_back_leaves_no_trace(tmp_path: Path) -> None:
    zoo = load("zoo-mini")
    with GraphSetWriter(tmp_path / "set", origin="zoo-mini", key="k") as writer:
        writer.append(zoo.subset([0]))
        position = writer.position()
        other = GraphSet.from_edges(
            node_counts=[2],
            node_types=[0, 0],
            edge_counts=[1],
            edges=[[0, 1]],
            node_vocabulary=["new"],
            edge_vocabulary=["none", "new edge"],
            node_names=["a", "b"],
        )
        writer.append(other)
        assert "new" in writer.nodes.words
        writer.rewind(position)
        writer.append(zoo.subset([1]))
        writer.finish()
    assert_equal(load_graph_set(tmp_path / "set"), zoo.subset([0, 1]))


PROGRAM = """
import os, signal, sys
from grade.graphs.writer import GraphSetWriter
from grade.sources import load
zoo = load("zoo-mini")
with GraphSetWriter(sys.argv[1], origin="zoo-mini", key="same") as writer:
    for graph in range(writer.notes.get("done", 0), len(zoo)):
        if graph == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        writer.append(zoo.subset([graph]))
        if graph % 3 == 2:
            writer.checkpoint({"done": graph + 1})
    writer.finish()
"""


def test_a_killed_writer_goes_on_and_ends_with_the_same_set(tmp_path: Path) -> None:
    for kill_at in (2, 5, 10):  # before the first checkpoint, between two, and near the end
        run = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "set"), str(kill_at)])
        assert run.returncode == -9
        assert not (tmp_path / "set").exists()
    state = json.loads((tmp_path / ".set.building" / "state.json").read_text())["data"]
    assert state["notes"] == {"done": 9}
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "set"), "-1"], check=True)
    assert_equal(load_graph_set(tmp_path / "set"), load("zoo-mini"))
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def begin(folder: Path, key: str, end: BaseException) -> None:
    """Write a part, make a checkpoint, and stop by this error."""
    with GraphSetWriter(folder, origin="x", key=key) as writer:
        writer.append(load("zoo-mini"))
        writer.checkpoint({"done": 1})
        raise end


def test_another_key_starts_from_nothing(tmp_path: Path) -> None:
    zoo = load("zoo-mini")
    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path / "set", "one", KeyboardInterrupt())
    with GraphSetWriter(tmp_path / "set", origin="zoo-mini", key="other") as writer:
        assert writer.notes == {}
        assert writer.size == (0, 0, 0)
        writer.append(zoo.subset([3]))
        writer.finish()
    assert_equal(load_graph_set(tmp_path / "set"), zoo.subset([3]))


@pytest.mark.parametrize(
    "damage", ["truncate", "state", "missing", "one bit", "one bit of the state", "a folder", "another"]
)
def test_a_damaged_working_folder_is_not_built_upon(tmp_path: Path, damage: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path / "set", "k", KeyboardInterrupt())
    working = tmp_path / ".set.building"
    if damage == "truncate":
        os.truncate(working / "out_targets.npy", 200)
    elif damage.startswith("one bit"):
        file = working / ("state.json" if "state" in damage else "out_targets.npy")
        content = bytearray(file.read_bytes())
        content[300] ^= 1
        file.write_bytes(bytes(content))
    elif damage == "a folder":
        (working / "in_types.npy").unlink()
        (working / "in_types.npy").mkdir()
    elif damage == "another":
        shutil.copy(working / "in_sources.npy", working / "out_targets.npy")
    elif damage == "state":
        (working / "state.json").write_text("{")
    else:
        (working / "in_types.npy").unlink()
    with GraphSetWriter(tmp_path / "set", origin="x", key="k") as writer:
        assert writer.notes == {}
        assert writer.size == (0, 0, 0)


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="stop"):
        begin(tmp_path / "set", "k", InputError("stop"))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    def fill() -> None:
        with GraphSetWriter(tmp_path / "set", origin="x", key="k") as writer:
            writer.files["node_types"].close()
            writer.files["node_types"] = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115 (the writer closes it)
            writer.append(load("zoo-mini"))

    with pytest.raises(FileError, match=r"set cannot be written \(No space left on device\)"):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_two_builds_of_one_set_do_not_meet(tmp_path: Path) -> None:
    with GraphSetWriter(tmp_path / "set", origin="x", key="k") as first:
        with (
            pytest.raises(InputError, match="is being built by another process"),
            GraphSetWriter(tmp_path / "set", origin="x", key="k"),
        ):
            pass
        first.append(load("zoo-mini"))
        first.finish()
    assert len(load_graph_set(tmp_path / "set")) == 12

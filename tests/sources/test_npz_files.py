import lzma
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from grade import GraphSet, InputError
from grade.sources import load
from grade.sources.npz_files import read_npz, write_npz
from tests.graph_sets import assert_equal, graph_sets, raw_graph_sets


def arrays(**changes: Any) -> dict[str, Any]:
    return {
        "node_offsets": np.array([0, 3, 5]),
        "node_types": np.array([0, 1, 1, 0, 1]),
        "edge_offsets": np.array([0, 2, 3]),
        "edges": np.array([[0, 1], [1, 2], [0, 1]]),
        "op_names": np.array(["input", "conv"]),
        "names": np.array(["first", "second"]),
        **changes,
    }


@given(raw=raw_graph_sets())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_a_written_set_is_read_back(raw: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "graphs.npz"
    content = {
        "node_offsets": np.cumsum([0, *raw["node_counts"]]),
        "node_types": np.array(raw["node_types"], np.int16),
        "edge_offsets": np.cumsum([0, *raw["edge_counts"]]),
        "edges": np.array(raw["edges"], np.int32).reshape(-1, 2),
        "edge_types": np.array(raw["edge_types"], np.uint8),
        "op_names": np.array(raw["node_vocabulary"]),
        "edge_names": np.array(raw["edge_vocabulary"]),
        "names": np.array(raw["graph_names"]),
    }
    if raw["node_names"] is not None:
        content["node_names"] = np.array(raw["node_names"], str)
    if "operands" in raw:
        content["operands"] = np.array(raw["operands"], np.uint8)
        content["operand_names"] = np.array(raw["operand_vocabulary"])
        content["outputs"] = np.array(raw["outputs"], bool)
        content["node_places"] = np.array(raw["node_places"], np.int32)
    np.savez(path, **content)
    back = load(str(path))
    assert back.origins is not None
    assert back.origins.file_of.tolist() == [0] * len(back)
    assert_equal(replace(back, origins=None), GraphSet.from_edges(**raw))


@given(graphs=graph_sets())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_any_set_is_written_and_read_back(graphs: GraphSet, tmp_path: Path) -> None:
    for compressed in (True, False):
        write_npz(graphs, tmp_path / "graphs.npz", compressed)
        assert_equal(replace(read_npz(tmp_path / "graphs.npz"), origins=None), graphs)


def test_a_large_zoo_is_loaded_by_its_path(tmp_path: Path) -> None:
    write_npz(load("zoo-mini"), tmp_path / "large.npz")
    packed = tmp_path / "large.npz.xz"
    packed.write_bytes(lzma.compress((tmp_path / "large.npz").read_bytes()))
    assert load(f"zoo-large:{packed}").digest == load("zoo-mini").digest
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"large\.npz\.xz cannot be read .*; get it again"):
        load(f"zoo-large:{packed}")
    with pytest.raises(
        InputError, match=r"There is no file .*missing; make it with experiments/zoo/collect\.py"
    ):
        load(f"zoo-large:{tmp_path / 'missing'}")


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grade.sources.zoo.MOST_UNPACKED", 1 << 20)
    packed = tmp_path / "bomb.npz.xz"
    packed.write_bytes(lzma.compress(bytes(4 << 20)))
    with pytest.raises(InputError, match=r"bomb\.npz\.xz unpacks to more than"):
        load(f"zoo-large:{packed}")


def test_what_is_optional_may_be_missing(tmp_path: Path) -> None:
    np.savez(tmp_path / "graphs.npz", **arrays())
    graphs = load(tmp_path / "graphs.npz")
    assert graphs.edge_vocabulary == ("none", "edge")
    assert graphs.node_names is None
    assert graphs.origin == str(tmp_path / "graphs.npz")
    assert graphs.edge_list(0).tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"node_offsets": np.array([0, 3, 4])}, "node_offsets must ascend from 0 to 5"),
        ({"node_offsets": np.array([1, 3, 5])}, "node_offsets must ascend from 0 to 5"),
        ({"edge_offsets": np.array([0, 4, 3])}, "edge_offsets must ascend from 0 to 3"),
        ({"edge_offsets": np.array([], int)}, "edge_offsets must ascend from 0 to 3"),
        ({"edges": np.array([0, 1, 2])}, "edges must be an array of whole numbers with 2 dimension"),
        ({"edges": np.zeros((3, 3), int)}, "edges must have the shape [edges, 2]"),
        ({"node_types": np.array([0.0, 1, 1, 0, 1])}, "node_types must be an array of whole numbers"),
        ({"names": np.array([1, 2])}, "names must be an array of text"),
        ({"edges": np.array([[0, 1], [1, 2], [0, 2]])}, "graph 'second' has an edge [0, 2]"),
        ({"node_types": np.array([0, 1, 1, 0, 9])}, "graph 'second' has a node of type 9"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    path = tmp_path / "graphs.npz"
    np.savez(path, **arrays(**changes))
    with pytest.raises(InputError) as error:
        load(path)
    assert sentence in str(error.value)
    assert str(path) in str(error.value)


def test_missing_arrays_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "graphs.npz", edges=np.zeros((0, 2), int), names=np.array([], str))
    with pytest.raises(InputError, match="it lacks node_offsets, node_types, edge_offsets, op_names"):
        load(tmp_path / "graphs.npz")


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "graphs.npz"
    np.savez_compressed(path, **arrays())
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"text", b"\x93NUMPY\x01\x00"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"graphs\.npz cannot be read as an \.npz"):
            load(path)


def test_pickles_are_never_read(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    path = tmp_path / "graphs.npz"
    np.savez(path, **arrays(op_names=np.array([Trap(), "conv"], dtype=object)))
    with pytest.raises(InputError, match=r"cannot be read as an \.npz of plain arrays"):
        load(path)
    assert not (tmp_path / "sprung").exists()


def test_a_single_array_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "graphs.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InputError, match="is a single array"):
        load(tmp_path / "graphs.npz")


def test_names_as_bytes_take_little_room_and_come_back(tmp_path: Path) -> None:
    graphs = GraphSet.from_edges(
        node_counts=[3],
        node_types=[0, 0, 0],
        edge_counts=[1],
        edges=[[0, 1]],
        node_vocabulary=["Conv"],
        node_names=["layer/" * 500, "", "größe\nzwei"],
    )
    write_npz(graphs, tmp_path / "bytes.npz", compressed=False, names_as_bytes=True)
    write_npz(graphs, tmp_path / "texts.npz", compressed=False)
    again = read_npz(tmp_path / "bytes.npz")
    assert again.digest == read_npz(tmp_path / "texts.npz").digest == graphs.digest
    assert again.node_names is not None
    assert list(again.node_names) == ["layer/" * 500, "", "größe\nzwei"]
    assert 3 * (tmp_path / "bytes.npz").stat().st_size < (tmp_path / "texts.npz").stat().st_size


def test_a_member_that_is_no_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graphs.npz"
    np.savez(path, **arrays())
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in ("edges.npy", "op_names.npy"):
        with zipfile.ZipFile(path, "w") as archive:
            for each, content in members.items():
                archive.writestr(each, b"no array" if each == name else content)
        with pytest.raises(InputError, match=rf"graphs\.npz cannot be read .*{name[:-4]} is no array"):
            load(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a\0b\0c", "node_names must end with a zero byte"),
        (b"a\0\xff\0c\0", "node_names are not UTF-8"),
        (b"a\0", "3 nodes but 1 node names"),
    ],
)
def test_names_as_damaged_bytes_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    np.savez(
        tmp_path / "graphs.npz",
        node_offsets=[0, 3],
        node_types=[0, 0, 0],
        edge_offsets=[0, 0],
        edges=np.zeros((0, 2), int),
        op_names=["Conv"],
        names=["model"],
        node_names=np.frombuffer(content, np.uint8),
    )
    with pytest.raises(InputError, match=reason):
        read_npz(tmp_path / "graphs.npz")

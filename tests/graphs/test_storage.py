import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from grade import GraphSet, InputError
from grade.graphs.storage import DESCRIPTION, DTYPES, load_graph_set, save_graph_set
from tests.graph_sets import ARRAYS, assert_equal, graph_sets


@pytest.fixture
def graphs() -> GraphSet:
    return GraphSet.from_edges(
        node_counts=[3, 0, 2],
        node_types=[0, 1, 1, 0, 1],
        edge_counts=[2, 0, 1],
        edges=[[0, 1], [1, 2], [0, 1]],
        node_vocabulary=["input", "conv"],
        graph_names=["first", "none", "größe"],
        node_names=["a", "b", "c", "", "e"],
        origin="made by hand",
    )


@pytest.fixture
def saved(graphs: GraphSet, tmp_path: Path) -> Path:
    save_graph_set(graphs, tmp_path / "saved")
    return tmp_path / "saved"


def test_nothing_is_lost(graphs: GraphSet, saved: Path) -> None:
    opened = load_graph_set(saved)
    assert_equal(opened, graphs)
    assert opened.origin == "made by hand"
    assert opened.folder == str(saved)
    assert [path.name for path in saved.parent.iterdir()] == ["saved"]


@given(graphs=graph_sets())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_any_set_survives(graphs: GraphSet, tmp_path: Path) -> None:
    save_graph_set(graphs, tmp_path / "set", overwrite=True)
    opened = load_graph_set(tmp_path / "set")
    assert_equal(opened, graphs)
    _ = opened.core


def test_an_empty_set_survives(tmp_path: Path) -> None:
    empty = GraphSet.from_edges(node_counts=[], node_types=[], edge_counts=[], edges=[], node_vocabulary=[])
    save_graph_set(empty, tmp_path / "empty")
    assert_equal(load_graph_set(tmp_path / "empty"), empty)


def test_arrays_are_mapped_and_read_only(saved: Path) -> None:
    opened = load_graph_set(saved)
    for name in ARRAYS:
        array = getattr(opened, name)
        assert isinstance(array.base, np.memmap), name
        assert not array.flags.writeable, name


def test_a_set_is_replaced_only_on_request(graphs: GraphSet, saved: Path) -> None:
    smaller = graphs.subset([0])
    with pytest.raises(InputError, match="exists already; choose another name, or replace it with --force"):
        save_graph_set(smaller, saved)
    assert len(load_graph_set(saved)) == 3
    save_graph_set(smaller, saved, overwrite=True)
    assert len(load_graph_set(saved)) == 1
    assert [path.name for path in saved.parent.iterdir()] == ["saved"]


def test_a_set_can_replace_itself(saved: Path) -> None:
    opened = load_graph_set(saved)
    save_graph_set(opened, saved, overwrite=True)
    assert_equal(load_graph_set(saved), opened)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_is_no_graph_set_is_never_replaced(
    graphs: GraphSet, tmp_path: Path, overwrite: bool
) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter1.txt").write_text("precious")
    with pytest.raises(InputError, match="exists and is not a graph set, so it is not replaced"):
        save_graph_set(graphs, folder, overwrite=overwrite)
    assert (folder / "chapter1.txt").read_text() == "precious"


def test_an_empty_folder_is_filled(graphs: GraphSet, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    save_graph_set(graphs, tmp_path / "here")
    assert_equal(load_graph_set(tmp_path / "here"), graphs)


def test_a_failed_save_leaves_nothing(graphs: GraphSet, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_save, written = np.save, []

    def full_disk(path: Path, *arguments: object, **options: object) -> None:
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        written.append(path)
        real_save(path, *arguments, **options)

    monkeypatch.setattr(np, "save", full_disk)
    with pytest.raises(InputError, match=r"saved cannot be written \(No space left on device\)"):
        save_graph_set(graphs.subset([0]), saved, overwrite=True)
    assert len(written) == 3
    assert [path.name for path in saved.parent.iterdir()] == ["saved"]
    assert_equal(load_graph_set(saved), graphs)


def test_a_parent_that_is_missing_is_named(graphs: GraphSet, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the folder .*missing does not exist; create it first"):
        save_graph_set(graphs, tmp_path / "missing" / "set")


def refused(folder: Path, reason: str) -> None:
    with pytest.raises(InputError) as error:
        load_graph_set(folder)
    sentence = str(error.value)
    assert str(folder) in sentence
    assert reason in sentence
    assert "build" in sentence  # the remedy
    assert "\n" not in sentence


@pytest.mark.parametrize("name", [*DTYPES, "graph_names.data", "graph_names.offsets", "node_names.data"])
def test_a_missing_array_is_refused(saved: Path, name: str) -> None:
    (saved / f"{name}.npy").unlink()
    refused(saved, f"{name}.npy is missing")


@pytest.mark.parametrize("name", DTYPES)
def test_a_truncated_array_is_refused(saved: Path, name: str) -> None:
    content = (saved / f"{name}.npy").read_bytes()
    (saved / f"{name}.npy").write_bytes(content[:-1])
    refused(saved, f"{name}.npy cannot be read or ends too early")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00\x10\x00{'descr': garbage"])
def test_an_array_that_is_none_is_refused(saved: Path, content: bytes) -> None:
    (saved / "node_types.npy").write_bytes(content)
    refused(saved, "node_types.npy cannot be read")


def test_a_pickled_array_is_refused(saved: Path) -> None:
    np.save(saved / "node_types.npy", np.array([{}] * 5, dtype=object), allow_pickle=True)
    refused(saved, "node_types.npy")


@pytest.mark.parametrize("name", DTYPES)
def test_a_wrong_type_is_refused(saved: Path, name: str) -> None:
    array = np.load(saved / f"{name}.npy")
    np.save(saved / f"{name}.npy", array.astype(np.float64))
    refused(saved, f"{name}.npy is not a list of {array.dtype}")


@pytest.mark.parametrize("name", DTYPES)
def test_a_wrong_length_is_refused(saved: Path, name: str) -> None:
    array = np.load(saved / f"{name}.npy")
    np.save(saved / f"{name}.npy", array[:-1])
    refused(saved, f"{name}.npy has {len(array) - 1} entries instead of {len(array)}")


@pytest.mark.parametrize("name", ["node_offsets", "out_offsets", "in_offsets", "graph_names.offsets"])
@pytest.mark.parametrize("place", [0, -1])
def test_offsets_with_wrong_ends_are_refused(saved: Path, name: str, place: int) -> None:
    array = np.load(saved / f"{name}.npy")
    array[place] += 1
    np.save(saved / f"{name}.npy", array)
    refused(saved, f"{name}.npy does not run from 0 to")


def test_graph_boundaries_that_descend_are_refused(saved: Path) -> None:
    np.save(saved / "node_offsets.npy", np.array([0, 4, 3, 5], np.int64))
    refused(saved, "node_offsets.npy does not ascend")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("out_offsets", [0, 3, 2, 2, 3, 3]),
        ("out_targets", [1, 2, 1_000_000]),
        ("in_sources", [0, 1, 0]),
        ("out_types", [1, 0, 1]),
        ("out_types", [1, 2, 1]),
        ("node_types", [0, 1, 1, 0, 2]),
    ],
)
def test_a_wrong_index_is_refused_where_it_is_first_used(saved: Path, name: str, values: list[int]) -> None:
    np.save(saved / f"{name}.npy", np.array(values, DTYPES[name]))
    opened = load_graph_set(saved)
    with pytest.raises(InputError, match=f"The graph set {saved} is damaged .*; build it again"):
        _ = opened.core


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodes": None}, "has no number of nodes"),
        ({"graphs": -1}, "has no number of graphs"),
        ({"edges": 3.0}, "has no number of edges"),
        ({"edges": True}, "has no number of edges"),
        ({"node_vocabulary": "conv"}, "has no node_vocabulary"),
        ({"edge_vocabulary": [1, 2]}, "has no edge_vocabulary"),
        ({"named_nodes": "yes"}, "lacks the origin or whether nodes have names"),
        ({"version": "one"}, "names no known version"),
        ({"version": 2}, "has format version 2, newer than the 1 that this GraDE reads"),
        ({"format": "something else"}, "is of another format"),
    ],
)
def test_a_wrong_description_is_refused(saved: Path, change: dict[str, object], reason: str) -> None:
    description = json.loads((saved / DESCRIPTION).read_text())
    (saved / DESCRIPTION).write_text(json.dumps({**description, **change}))
    refused(saved, reason)


@pytest.mark.parametrize("text", ["", "{", "\x00\xff", "[1]"])
def test_a_description_that_is_no_object_is_refused(saved: Path, text: str) -> None:
    (saved / DESCRIPTION).write_text(text, encoding="latin-1")
    refused(saved, DESCRIPTION)


def test_another_folder_is_refused(tmp_path: Path, saved: Path) -> None:
    refused(tmp_path, f"is not a graph set, for it has no {DESCRIPTION}")
    shutil.rmtree(saved)
    refused(saved, f"is not a graph set, for it has no {DESCRIPTION}")

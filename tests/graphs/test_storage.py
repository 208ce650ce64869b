import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from grade import GraphSet, InputError
from grade.errors import FileError
from grade.graphs import storage
from grade.graphs.origins import Origins, file_digest
from grade.graphs.storage import DESCRIPTION, checksum_of, load_graph_set, save_graph_set
from grade.graphs.stored_arrays import DTYPES
from grade.sources import load
from grade.sources.building import build_graph_set
from tests.graph_sets import ARRAYS, assert_equal, graph_sets

V1 = Path(__file__).parent / "artefacts" / "set-0.1"


@pytest.fixture
def graphs() -> GraphSet:
    plain = GraphSet.from_edges(
        node_counts=[3, 0, 2],
        node_types=[0, 1, 1, 0, 1],
        edge_counts=[2, 0, 1],
        edges=[[0, 1], [1, 2], [0, 1]],
        node_vocabulary=["input", "conv"],
        graph_names=["first", "none", "größe"],
        node_names=["a", "b", "c", "", "e"],
        operands=[1, 2, 0],
        operand_vocabulary=["", "0", "0+1:2"],
        outputs=[False, True, True, False, True],
        node_places=[4, 3, 9, 0, 1],
        origin="made by hand",
    )
    origins = Origins.of_one("models/a.jsonl", "ab" * 32, 3)
    return replace(plain, origins=replace(origins, file_of=np.array([0, -1, 0], np.int32)))


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
    with pytest.raises(InputError, match="exists already; choose another name, or set `overwrite`"):
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
    with pytest.raises(FileError, match=r"saved cannot be written \(No space left on device\)"):
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


@pytest.mark.parametrize("name", DTYPES)
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
    if name.endswith(".data"):
        refused(saved, f"{name.replace('data', 'offsets')}.npy does not run from 0 to {len(array) - 1}")
    else:
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


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("place", [0, -1])
def test_a_flipped_bit_is_refused(saved: Path, name: str, place: int) -> None:
    content = bytearray((saved / f"{name}.npy").read_bytes())
    content[128 if place == 0 else -1] ^= 1
    (saved / f"{name}.npy").write_bytes(content)
    refused(saved, f"{name}.npy")


FEW = (
    "file_paths.data",
    "file_paths.offsets",
    "file_digests.offsets",
    "file_of",
)  # checked at once, or too short
CHECKED_LATER = [name for name in DTYPES if name not in FEW]


@pytest.mark.parametrize("name", CHECKED_LATER)
def test_a_large_set_is_opened_without_reading_it_and_checked_later(
    saved: Path, graphs: GraphSet, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "CHECKED_AT_ONCE", 0)
    array = np.load(saved / f"{name}.npy")
    changed = ~array if array.dtype == np.bool_ else array.copy()
    middle = slice(1, -1) if name.endswith("offsets") else slice(None)
    if array.dtype != np.bool_:
        changed[middle] ^= 1
    np.save(saved / f"{name}.npy", changed)
    opened = load_graph_set(saved)
    assert opened.digest == graphs.digest  # by what was saved
    with pytest.raises(
        InputError, match=f"The graph set {saved} is damaged .{name}.npy does not match its checksum"
    ):
        opened.check()
    with pytest.raises(InputError, match=f"{name}.npy does not match its checksum"):
        build_graph_set([str(saved)], saved.with_name("copy"))
    assert not saved.with_name("copy").exists()


WRONG = [
    ("out_offsets", [0, 3, 2, 2, 3, 3]),
    ("out_targets", [1, 2, 1_000_000]),
    ("in_sources", [0, 1, 0]),
    ("out_types", [1, 0, 1]),
    ("out_types", [1, 9, 1]),
    ("node_types", [0, 1, 1, 0, 2]),
]


@pytest.mark.parametrize(("name", "values"), WRONG)
@pytest.mark.parametrize("large", [False, True])
def test_a_wrong_index_is_refused_in_a_set_without_checksums(
    tmp_path: Path, name: str, values: list[int], large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "old"
    shutil.copytree(V1, folder)
    np.save(folder / f"{name}.npy", np.array(values, DTYPES[name]))
    if large:
        monkeypatch.setattr(storage, "CHECKED_AT_ONCE", 0)
        opened = load_graph_set(folder)
    with pytest.raises(InputError, match=f"The graph set {folder} is damaged .*; build it again"):
        _ = opened.core if large else load_graph_set(folder)


def test_a_set_of_version_1_still_opens_and_is_saved_as_the_present_one(tmp_path: Path) -> None:
    old = load_graph_set(V1)
    assert list(old.graph_names) == ["first", "none", "größe"]
    assert old.node_names is not None
    assert list(old.node_names) == ["a", "b", "c", "", "e"]
    assert old.edge_list(0).tolist() == [[0, 1], [1, 2]]
    assert old.edge_types_of(0).tolist() == [1, 2]
    assert old.outputs.tolist() == [False, False, True, False, True]  # nobody reads them
    assert old.operands(2) == []
    save_graph_set(old, tmp_path / "new")
    new = load_graph_set(tmp_path / "new")
    assert_equal(new, old)
    assert new.digest == old.digest


def test_the_digest_tells_content_apart_and_nothing_else(
    graphs: GraphSet, saved: Path, tmp_path: Path
) -> None:
    opened = load_graph_set(saved)
    assert opened.digest == graphs.digest == replace(opened, origin="elsewhere").digest
    moved = tmp_path / "deep" / "er"
    moved.parent.mkdir()
    shutil.move(saved, moved)
    assert load_graph_set(moved).digest == graphs.digest
    different = [
        graphs.subset([0, 1]),
        graphs.subset([2, 1, 0]),
        replace(graphs, node_vocabulary=("input", "pool")),
        replace(graphs, operand_vocabulary=("", "0", "2")),
        replace(graphs, graph_outputs=~graphs.outputs),
        replace(graphs, graph_outputs=None),
        replace(graphs, out_types=graphs.out_types + np.uint8(1), edge_vocabulary=("none", "edge", "skip")),
        replace(opened, node_types=opened.node_types[::-1]),
    ]
    digests = {graphs.digest, *(other.digest for other in different)}
    assert len(digests) == 1 + len(different)


def test_files_are_found_again_when_a_project_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    (project / "models").mkdir(parents=True)
    model = project / "models" / "a.jsonl"
    model.write_text('{"nodes": ["conv", "relu"], "edges": [[0, 1]]}\n' * 2)
    monkeypatch.chdir(project)
    (project / "sets").mkdir()
    build_graph_set(["models/a.jsonl", "zoo-mini"], "sets/both")
    save_graph_set(load("models/a.jsonl"), "sets/saved")
    for name in ("both", "saved"):
        assert load(f"sets/{name}").origins.file(1) == ("models/a.jsonl", file_digest(model))
    assert load("sets/both").origins.file(2) is None
    assert str(tmp_path).encode() not in (project / "sets" / "both" / "file_paths.data.npy").read_bytes()
    moved = tmp_path / "moved"
    monkeypatch.chdir(tmp_path)
    project.rename(moved)
    path, digest = load(moved / "sets" / "both").origins.file(0)
    assert file_digest(path) == digest == file_digest(moved / "models" / "a.jsonl")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodes": None}, "has no number of nodes"),
        ({"graphs": -1}, "has no number of graphs"),
        ({"edges": 3.0}, "has no number of edges"),
        ({"edges": True}, "has no number of edges"),
        ({"files": "one"}, "has no number of files"),
        ({"node_vocabulary": "conv"}, "has no node_vocabulary"),
        ({"edge_vocabulary": [1, 2]}, "has no edge_vocabulary"),
        ({"operand_vocabulary": ["0"]}, "has no operand_vocabulary"),
        ({"operand_vocabulary": ["", "zero"]}, "has no operand_vocabulary"),
        ({"origin": 1}, "lacks the origin"),
        ({"arrays": {}}, "does not name the arrays of a set"),
        ({"version": "one"}, "names no known version"),
        ({"version": 3}, "has format version 3, newer than the 2 that this GraDE reads"),
        ({"format": "something else"}, "is of another format"),
    ],
)
def test_a_wrong_description_is_refused(saved: Path, change: dict[str, object], reason: str) -> None:
    description = {**json.loads((saved / DESCRIPTION).read_text()), **change}
    description["checksum"] = checksum_of(description)
    (saved / DESCRIPTION).write_text(json.dumps(description))
    refused(saved, reason)
    with pytest.raises(InputError, match=reason):
        load(saved)


def test_a_changed_description_is_refused(saved: Path) -> None:
    text = (saved / DESCRIPTION).read_text()
    (saved / DESCRIPTION).write_text(text.replace('"conv"', '"cony"'))
    refused(saved, f"{DESCRIPTION} does not match its checksum")


@pytest.mark.parametrize("text", ["", "{", "\x00\xff", "[1]"])
def test_a_description_that_is_no_object_is_refused(saved: Path, text: str) -> None:
    (saved / DESCRIPTION).write_text(text, encoding="latin-1")
    refused(saved, DESCRIPTION)


def test_another_folder_is_refused(tmp_path: Path, saved: Path) -> None:
    refused(tmp_path, f"is not a graph set, for it has no {DESCRIPTION}")
    shutil.rmtree(saved)
    refused(saved, f"is not a graph set, for it has no {DESCRIPTION}")

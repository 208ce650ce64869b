from pathlib import Path

import numpy as np
import pytest

from grade import GraphSet
from grade.graphs.storage import KIND, is_graph_set
from grade.sources import load, source, sources
from grade.sources.cache import cache_folder, cached
from tests.graph_sets import assert_equal


class Builder:
    """Builds a tiny set and counts how often."""

    calls = 0

    def __call__(self) -> GraphSet:
        self.calls += 1
        return GraphSet.from_edges(
            node_counts=[2],
            node_types=[0, 1],
            edge_counts=[1],
            edges=[[0, 1]],
            node_vocabulary=["input", "conv"],
            origin="tiny",
        )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "grade" / "graph-sets"


def test_a_set_is_built_once(cache: Path) -> None:
    build = Builder()
    first, second = cached("tiny-1", build), cached("tiny-1", build)
    assert build.calls == 1
    assert first.folder == ""
    assert Path(second.folder).parent == cache
    assert_equal(first, second)


def test_another_version_is_built_again(cache: Path) -> None:
    build = Builder()
    cached("tiny-1", build)
    cached("tiny-2", build)
    assert build.calls == 2
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("damage", ["description", "array", "index", "folder"])
def test_a_damaged_entry_is_built_again(cache: Path, damage: str) -> None:
    build = Builder()
    expected = cached("tiny-1", build)
    (entry,) = cache.iterdir()
    if damage == "description":
        (entry / "graph-set.json").write_text("{")
    elif damage == "array":
        (entry / "node_types.npy").write_bytes(b"")
    elif damage == "index":
        np.save(entry / "out_targets.npy", np.array([7], np.uint32))
    else:
        for path in entry.iterdir():
            path.unlink()
        (entry / "stray").touch()
    assert_equal(cached("tiny-1", build), expected)
    assert build.calls == 2
    assert_equal(cached("tiny-1", build), expected)
    assert build.calls == 2


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    build = Builder()
    assert cached("tiny-1", build).nodes == 2
    assert build.calls == 1
    assert (tmp_path / "file").read_text() == "in the way"


def test_the_folder_follows_the_standard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_folder() == tmp_path / ".cache" / "grade" / "graph-sets"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == tmp_path / ".cache" / "grade" / "graph-sets"


def test_built_in_sets_come_from_the_cache_the_second_time(cache: Path) -> None:
    first, second = load("nas-bench-201"), load("nas-bench-201")
    assert first.folder == ""
    assert is_graph_set(second.folder)
    assert_equal(first, second)


def test_only_plain_arguments_name_a_cache_folder(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_things", dict(sources._things))
    build = Builder()
    source("tiny", "A tiny set.", argument="WORD", cache_version=1)(lambda word: build())
    for word in ("../../evil", "a/b", "", "x" * 99):
        load(f"tiny:{word}")
    assert not cache.exists()
    load("tiny:seven")
    assert [path.name for path in cache.iterdir()] == [f"tiny-seven-1-format-{KIND.version}"]

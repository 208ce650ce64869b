import os
from pathlib import Path
from typing import Any

import pytest

from grade import InputError
from grade.files import whole_file, whole_folder


def test_a_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    target.write_text("old")
    with whole_file(target) as temporary:
        temporary.write_text("new")
        assert temporary.suffix == ".txt"
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_file_that_fails_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "file.txt"
    target.write_text("old")

    def fail() -> None:
        with whole_file(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_folder_that_fails_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "folder"
    with whole_folder(target) as temporary:
        (temporary / "a").write_text("old")

    def fail() -> None:
        with whole_folder(target) as temporary:
            (temporary / "a").write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert (target / "a").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_is_replaced_with_all_it_held(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    for name in ("a", "b"):
        with whole_folder(target) as temporary:
            (temporary / name).touch()
    assert [path.name for path in target.iterdir()] == ["b"]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("writer", "name", "sentence"),
    [
        (whole_file, "missing/file", r"the folder .*missing does not exist; create it first"),
        (whole_folder, "missing/folder", r"the folder .*missing does not exist; create it first"),
        (whole_file, "folder", r"folder is a folder; give the name of a file"),
        (whole_folder, "file", r"file cannot be written"),
    ],
)
def test_places_that_cannot_be_written_are_named(
    tmp_path: Path, writer: Any, name: str, sentence: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=sentence), writer(tmp_path / name):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_device_or_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is no regular file"), whole_file(pipe):
        pass
    assert pipe.is_fifo()

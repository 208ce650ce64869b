from pathlib import Path

import pytest

from grade import InputError
from grade.graphs.storage import save_graph_set
from grade.sources import load, sources
from tests.graph_sets import assert_equal


def test_a_saved_folder_is_opened(tmp_path: Path) -> None:
    mini = load("zoo-mini")
    save_graph_set(mini, tmp_path / "mine")
    for spec in (tmp_path / "mine", str(tmp_path / "mine")):
        opened = load(spec)
        assert_equal(opened, mini)
        assert opened.folder == str(tmp_path / "mine")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError) as error:
        load("nas-bench-111")
    sentence = str(error.value)
    assert "There is no file, folder or built-in set named 'nas-bench-111'" in sentence
    for name in ("darts", "nas-bench-101", "nas-bench-201", "nas-bench-nlp:PATH", "zoo", "zoo-mini"):
        assert name in sentence
    assert "\n" not in sentence


def test_no_name_is_not_the_folder_that_the_user_is_in() -> None:
    with pytest.raises(InputError, match="The name of the graph set is empty"):
        load("")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "graphs.txt").write_text("0 1")
    with pytest.raises(InputError, match=r"graphs\.txt is not a graph set"):
        load(tmp_path / "graphs.txt")
    with pytest.raises(InputError, match=r"has no graph-set\.json"):
        load(tmp_path)


def test_a_source_without_an_argument_takes_none() -> None:
    with pytest.raises(InputError, match="zoo takes nothing after a colon"):
        load("zoo:3")


def test_a_folder_named_like_a_built_in_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zoo-mini").mkdir()  # somebody's folder: the built-in set is meant
    assert len(load("zoo-mini")) == 12
    save_graph_set(
        load("zoo-mini").subset([0]), "zoo-mini"
    )  # a set that was saved under this name: it is meant
    assert len(load("zoo-mini")) == 1


def test_every_source_explains_itself() -> None:
    for name in sources:
        assert sources[name].name == name
        assert sources[name].summary.endswith(".")
        assert sources[name].spec.startswith(name)

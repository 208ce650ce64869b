"""Run folders: what a run is, and what becomes of damaged files."""

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import grade
from grade import GraphSet, InputError
from grade.graphs.storage import save_graph_set
from grade.runs import Catalogue, RunFolder
from grade.sealed import DamagedError

GRADE = [sys.executable, "-m", "grade.cli"]


def ring_set(name: str) -> GraphSet:
    """Rings of one type: sets of different names have the same numbers of graphs, nodes and edges."""
    return GraphSet.from_edges(
        node_counts=[6, 6],
        node_types=[0] * 12,
        edge_counts=[6, 6],
        edges=[[i, (i + 1) % 6] for i in range(6)] * 2,
        node_vocabulary=[name],
        graph_names=["first", "second"],
    )


def mine(out: Path, graphs: Any = "zoo-mini", **changes: Any) -> Catalogue:
    return grade.mine(
        graphs, **{"k": 5, "top": 8, "beam": 60, "threads": 1, "all": True, "out": out, **changes}
    ).catalogue


def test_a_set_of_other_content_is_another_set(tmp_path: Path) -> None:
    mine(tmp_path / "run", ring_set("Conv"))
    with pytest.raises(InputError, match="another graph set"):
        mine(tmp_path / "run", ring_set("Conv[3, 3]"))


def test_the_same_set_by_another_name_is_the_same_run(tmp_path: Path, monkeypatch: Any) -> None:
    save_graph_set(ring_set("Conv"), tmp_path / "set")
    monkeypatch.chdir(tmp_path)
    first = mine(tmp_path / "run", "set")
    changed = (tmp_path / "run" / "catalogue.sqlite").stat().st_mtime_ns
    for name in ("./set", tmp_path / "set"):
        assert mine(tmp_path / "run", name) == first
    assert (tmp_path / "run" / "catalogue.sqlite").stat().st_mtime_ns == changed


def test_settings_that_are_not_used_do_not_matter(tmp_path: Path) -> None:
    first = mine(tmp_path / "run")
    assert mine(tmp_path / "run", samples=7, sampler="nrs") == first
    with pytest.raises(InputError, match="no sampler named 'magic'"):
        mine(tmp_path / "other", sampler="magic")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("written", ['{"format": 1, "settings": {}, "set": {}}', '{"format": 2}'])
def test_a_run_of_an_earlier_format_is_refused(tmp_path: Path, written: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text(written)
    with pytest.raises(
        InputError,
        match="has format 1 or 2, made by an earlier version of GraDE, and this one reads format 3",
    ):
        mine(tmp_path / "run")


def damage(file: Path, moments: random.Random) -> None:
    """Cut a file short, or change one of its bytes."""
    content = bytearray(file.read_bytes())
    if moments.random() < 0.3:
        del content[moments.randrange(len(content)) :]
    else:
        content[moments.randrange(len(content))] ^= 1 << moments.randrange(8)
    file.write_bytes(bytes(content))


@pytest.mark.filterwarnings("ignore:.*was damaged and is made again")
def test_what_is_damaged_is_made_again(tmp_path: Path) -> None:
    """Any file but run.json: the same catalogue, whatever byte was changed, or an error that names run.json."""
    changes = {"rank_by": "estimator", "estimator": "frequency", "samples": 400, "k": 4}
    whole = mine(tmp_path / "run", **changes)
    moments = random.Random(5)
    files = sorted(path for path in (tmp_path / "run").rglob("*") if path.is_file())
    kinds = {path.relative_to(tmp_path / "run").parts[0] for path in files}
    assert kinds == {
        "run.json",
        "samples",
        "models",
        "levels",
        "supports",
        "timings.json",
        "catalogue.sqlite",
    }
    for file in files * 3:
        if file.name != "catalogue.sqlite":  # without it the other files are read again
            (tmp_path / "run" / "catalogue.sqlite").unlink(missing_ok=True)
        before = file.read_bytes() if file.is_file() else b""
        if not before:
            continue
        damage(file, moments)
        if file.name == "run.json":
            if json.loads(before) != readable(file):
                with pytest.raises(InputError, match=r"run"):
                    mine(tmp_path / "run", **changes)
            file.write_bytes(before)
        assert mine(tmp_path / "run", **changes) == whole, file


def readable(file: Path) -> Any:
    try:
        return json.loads(file.read_text())
    except ValueError:
        return None


def test_the_command_names_what_was_damaged(tmp_path: Path) -> None:
    mine(tmp_path / "run")
    level = tmp_path / "run" / "levels" / "k-04.npz"
    level.write_bytes(level.read_bytes()[:-10])
    (tmp_path / "run" / "catalogue.sqlite").unlink()
    report = subprocess.run([*GRADE, "report", tmp_path / "run"], capture_output=True, text=True, check=False)
    assert report.returncode == 2
    assert "has no catalogue yet" in report.stderr
    arguments = [
        "mine",
        "zoo-mini",
        "-k",
        "5",
        "--all",
        "--top",
        "8",
        "--beam",
        "60",
        "--out",
        tmp_path / "run",
    ]
    again = subprocess.run([*GRADE, *arguments], capture_output=True, text=True, check=True)
    assert again.stderr == f"grade: {level} was damaged and is made again.\n"


def test_a_damaged_run_is_refused_by_name(tmp_path: Path) -> None:
    mine(tmp_path / "run")
    (tmp_path / "run" / "catalogue.sqlite").write_bytes(b"not a database, whatever its name says")
    with pytest.raises(DamagedError, match=r"catalogue\.sqlite is damaged"):
        Catalogue.load(tmp_path / "run" / "catalogue.sqlite")
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(InputError, match=r"run\.json is not what was written"):
        RunFolder.open(tmp_path / "run")
    with pytest.raises(InputError, match="is no run"):
        RunFolder.open(tmp_path)


def test_counts_past_64_bits_are_kept(tmp_path: Path) -> None:
    catalogue = mine(tmp_path / "run")
    motif = catalogue.motifs[0]
    huge = replace(motif, support=replace(motif.support, occurrences=2**69))
    replace(catalogue, motifs=[huge]).save(tmp_path / "large.sqlite")
    assert Catalogue.load(tmp_path / "large.sqlite").motifs[0].support.occurrences == 2**69


def test_another_file_in_place_of_the_timings_counts_for_nothing(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.save_json("timings.json", {"search": 1.5, "occurrences_quality": "exact", "graphs": 3})
    assert run.timings() == {"search": 1.5}

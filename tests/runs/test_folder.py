"""Run folders: what a run is, and what becomes of damaged files."""

import json
import random
import shutil
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
    for setting, sentence in (
        ("sampler", "no sampler named 'magic'"),
        ("estimator", "no estimator named 'magic'"),
        ("preset", "no preset 'magic'"),
    ):
        with pytest.raises(InputError, match=sentence):
            mine(tmp_path / "other", **{setting: "magic"})
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("written", "version"),
    [
        ('{"format": 1, "settings": {}, "set": {}}', "1 or 2"),
        ('{"format": 2}', "1 or 2"),
        ('{"sha256": "", "data": {"format": 3}}', "3"),
    ],
)
def test_a_run_of_an_earlier_format_is_refused(tmp_path: Path, written: str, version: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text(written)
    with pytest.raises(
        InputError,
        match=f"has format {version}, made by an earlier version of GraDE, and this one reads format 4; make it again",
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


@pytest.mark.filterwarnings("ignore:.*was damaged and is rebuilt")
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


@pytest.mark.filterwarnings("ignore:.*was damaged and is rebuilt")
def test_a_file_in_the_place_of_another_is_made_again(tmp_path: Path) -> None:
    """Every pair of files of one kind changes places, and a file comes from a run with other settings."""
    changes = {"rank_by": "estimator", "estimator": "frequency", "samples": 400, "k": 5, "top": 3}
    run, other = tmp_path / "run", tmp_path / "other"
    whole = mine(run, **changes)
    mine(other, **changes, seed=1)
    kinds = (("levels", "*.npz"), ("supports", "*.json"), ("samples", "*.json"), ("models", "*.json"))
    for folder, pattern in kinds:
        first, *more = sorted((run / folder).glob(pattern))
        for one, two in [(first, file) for file in (*more[:1], other / first.relative_to(run))]:
            (run / "catalogue.sqlite").unlink(missing_ok=True)
            one.write_bytes(two.read_bytes())
            for later in {"samples": ("models", "levels"), "models": ("levels",)}.get(folder, ()):
                shutil.rmtree(run / later)  # what is there already asks for nothing
            with pytest.warns(UserWarning, match="was damaged and is rebuilt"):
                assert mine(run, **changes) == whole, (one, two)


def test_the_catalogue_of_another_run_is_refused(tmp_path: Path) -> None:
    whole = mine(tmp_path / "run")
    mine(tmp_path / "other", beam=50)
    mixed = tmp_path / "run" / "catalogue.sqlite"
    mixed.write_bytes((tmp_path / "other" / "catalogue.sqlite").read_bytes())
    report = subprocess.run([*GRADE, "report", tmp_path / "run"], capture_output=True, text=True, check=False)
    assert report.returncode == 2
    assert f"{mixed} is damaged" in report.stderr
    with pytest.warns(UserWarning, match="was damaged and is rebuilt"):
        assert mine(tmp_path / "run") == whole


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
    assert again.stderr == f"grade: {level} was damaged and is rebuilt.\n"


def test_a_damaged_run_is_refused_by_name(tmp_path: Path) -> None:
    mine(tmp_path / "run")
    (tmp_path / "run" / "catalogue.sqlite").write_bytes(b"not a database, whatever its name says")
    with pytest.raises(DamagedError, match=r"catalogue\.sqlite is damaged"):
        Catalogue.load(tmp_path / "run" / "catalogue.sqlite")
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(InputError, match=r"run\.json does not match its checksum"):
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
    mine(tmp_path)
    run = RunFolder(tmp_path)
    run.save_json("timings.json", {"search": 1.5, "occurrences_quality": "exact", "graphs": 3})
    assert run.timings() == {"search": 1.5}


def test_a_name_that_is_stored_in_a_run_runs_no_code(tmp_path: Path) -> None:
    """A run folder comes from anywhere; its page is written without the set, and says why."""
    (tmp_path / "lent.py").write_text(
        "import torch\nfrom pathlib import Path\nPath('ran').touch()\n"
        "def make():\n    layers = [torch.nn.ReLU(), torch.nn.Sigmoid(), torch.nn.ReLU()]\n"
        "    return torch.nn.Sequential(*layers), (torch.empty(2),)\n"
    )
    mine = ["mine", "torch:lent:make", "-k", "3", "--out", "run"]
    subprocess.run([*GRADE, *mine], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "ran").unlink()
    where = "keep its graphs with 'grade graphs build torch:lent:make FOLDER' and use the folder"
    subprocess.run([*GRADE, "report", "run"], cwd=tmp_path, check=True, capture_output=True)
    assert where.replace("'", "&#39;") in (tmp_path / "run" / "report.html").read_text()
    for command in (["occurrences", "run", "--pattern", "1"], ["significance", "run", "-k", "3"]):
        ended = subprocess.run([*GRADE, *command], cwd=tmp_path, capture_output=True, text=True)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert where in ended.stderr
    assert not (tmp_path / "ran").exists()

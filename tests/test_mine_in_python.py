import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import grade
from grade.progress import Stopped
from grade.sources import load


@pytest.fixture(scope="module")
def mined() -> Any:
    return grade.mine("zoo-mini", k=4, top=5, contains="Conv", all=True, threads=1)


def test_it_finds_what_the_command_finds(mined: Any, tmp_path: Path) -> None:
    arguments = ["mine", "zoo-mini", "-k", "4", "--top", "5", "--contains", "Conv", "--all", "--threads", "1"]
    command = [sys.executable, "-m", "grade.cli", *arguments, "--out", tmp_path / "run", "--json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    motifs = json.loads(printed)["motifs"]
    for motif, row in zip(mined, motifs, strict=True):
        examples = row.pop("examples")
        assert row == mined.catalogue.data(motif)
        graphs = [
            mined.graphs.graph_names[mined.graphs.graph_of(nodes[0])] for nodes in motif.support.examples
        ]
        assert [example["graph"] for example in examples] == graphs


def test_graph_sets_and_lists_of_models_are_taken(mined: Any, tmp_path: Path) -> None:
    graphs = load("zoo-mini")
    halves = [graphs.subset(range(6)), graphs.subset(range(6, 12))]
    for models in (graphs, halves, ["zoo-mini"]):
        found = grade.mine(models, k=4, top=5, contains="Conv", all=True, threads=1)
        assert [m.text for m in found] == [m.text for m in mined]
        assert [m.support.occurrences for m in found] == [m.support.occurrences for m in mined]
        assert found.report(tmp_path / "page.html").stat().st_size > 10_000


def test_the_folder_of_a_run_lasts_as_long_as_its_result() -> None:
    found = grade.mine("zoo-mini", k=3, top=1, threads=1)
    run = found.run
    assert (run / "catalogue.sqlite").is_file()
    del found
    assert not run.exists()


def test_a_run_in_a_folder_of_ones_own_stays(tmp_path: Path) -> None:
    run = grade.mine("zoo-mini", k=3, top=1, threads=1, out=tmp_path / "run").run
    assert (run / "catalogue.sqlite").is_file()


def test_tables(mined: Any, capsys: pytest.CaptureFixture[str]) -> None:
    table = mined.columns()
    assert table["id"] == [1, 2, 3, 4, 5]
    assert set(table["occurrences_quality"]) == {"exact"}
    if find_spec("pyarrow"):
        assert mined.to_arrow().to_pydict() == table
    if find_spec("pandas"):
        assert mined.to_pandas().to_dict("list") == table
    else:
        with pytest.raises(grade.InputError, match="Data frames need pandas"):
            mined.to_pandas()
    mined.show(2)
    assert capsys.readouterr().out.count("->") >= 2
    assert mined._repr_html_().count("<svg") == 5


def test_the_module_is_the_function_whatever_was_imported_first() -> None:
    for first in ("import grade.mine", "from grade.mine import mine", "import grade"):
        program = (
            f"{first}; import grade; print(len(grade.mine('zoo-mini', k=3, top=2, all=True, threads=1)))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.stdout.strip() == "2", done.stderr


def test_a_progress_callback_that_returns_false_stops_the_run(tmp_path: Path) -> None:
    stages: list[str] = []

    def stop_at_5(share: float, stage: str = "") -> bool:
        stages.append(stage)
        return stage != "search k = 5"

    with pytest.raises(Stopped, match="stopped by its progress callback"):
        grade.mine("zoo-mini", k=6, top=5, threads=1, out=tmp_path / "run", progress=stop_at_5)
    assert "search k = 4" in stages
    assert "search k = 6" not in stages
    again = grade.mine("zoo-mini", k=6, top=5, threads=1, out=tmp_path / "run")
    assert again.motifs == grade.mine("zoo-mini", k=6, top=5, threads=1).motifs


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(
        grade.InputError, match="There is no setting rank; known: acyclic, address, all, beam"
    ):
        grade.mine("zoo-mini", k=4, rank="graphs")
    with pytest.raises(grade.InputError, match="An empty list names no graphs"):
        grade.mine([], k=4)


def test_importing_grade_stays_light() -> None:
    program = "import sys, grade; print([m for m in ('torch', 'jinja2', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"

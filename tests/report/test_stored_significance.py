"""A test against a null model is kept in the run and shown on its page."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from grade.mine import mine
from grade.report.page import write_page
from grade.report.stored_significance import keep, kept, scores_by_key, set_of
from grade.runs import Catalogue, RunFolder
from grade.significance import significance
from grade.sources import load
from tests.report.test_page import read
from tests.significance.test_command import grade


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tested") / "run"
    mine("zoo-mini", k="3-4", top=6, out=folder, threads=2)
    return folder


def test_a_kept_test_is_the_one_that_was_made(run: Path, tmp_path: Path) -> None:
    made = significance(load("zoo-mini"), 3, "types", draws=40, switches=5, seed=1)
    keep(run, made)
    catalogue = Catalogue.load(RunFolder.open(run).catalogue)
    (found,) = kept(RunFolder.open(run), catalogue)
    order = np.flatnonzero(made.scores.tested)  # the fixed order of patterns, as profiles need it
    assert [pattern.key for pattern in found.patterns] == [made.patterns[row].key for row in order.tolist()]
    for name in ("observed", "mean", "deviation", "z", "q", "p_over"):
        assert np.array_equal(
            getattr(found.scores, name), getattr(made.scores, name)[order], equal_nan=True
        ), name
    assert found.facts() | {"patterns": 0} == made.facts() | {"patterns": 0}
    write_page(run, tmp_path / "page.html")
    page, text = read(tmp_path / "page.html"), (tmp_path / "page.html").read_text()
    volcano, _ = re.findall(r'<svg viewBox="0 0 640 380".*?</svg>', text, flags=re.S)
    assert volcano.count("<circle") == len(order)
    scores = scores_by_key([found])
    tested = [row["key"] for row in page.data["motifs"] if row["z"] is not None]
    assert tested
    assert set(tested) == set(scores) & {motif.key for motif in catalogue.motifs}
    for row in page.data["motifs"]:
        if row["z"] is not None:
            place = [pattern.key for pattern in found.patterns].index(row["key"])
            assert row["z"][2] == found.scores.q[place]
            assert (row["z"][3] > 0) == bool(found.scores.over[place])
            rank = found.order.tolist().index(place)
            assert f'href="#motif-{row["id"]}"' in text or rank >= 300
    (run / "significance" / "k-03-types.json").unlink()


def test_the_command_takes_a_run(run: Path) -> None:
    done = grade("significance", str(run), "-k", "3", "--draws", "20", "--switches", "2", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["set"] == "zoo-mini"
    assert Path(told["kept"]).is_file()
    assert set_of(run.parent) is None
    before = write_page(run, run / "report.html")
    assert "Significance, k = 3, null model degrees" in (run / "report.html").read_text()
    damaged = Path(told["kept"])
    damaged.write_text(damaged.read_text().replace('"seed": 0', '"seed": 1'))
    with pytest.warns(UserWarning, match=r"k-03-degrees.json is damaged and left out"):
        assert write_page(run, run / "report.html") == before
    assert "null model degrees" not in (run / "report.html").read_text()

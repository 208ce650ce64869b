"""The page of a test against a null model says what the test found, and escapes what it is given."""

import re
from pathlib import Path

import numpy as np
import pytest

from grade import GraphSet
from grade.report.significance_page import PROFILE, write_significance_page
from grade.significance import Significance, significance
from tests.significance.test_command import grade


@pytest.fixture(scope="module")
def found() -> Significance:
    edges = {(3 * i + a, 3 * i + b) for i in range(8) for a, b in [(0, 1), (0, 2), (1, 2)]}
    rng = np.random.default_rng(0)
    edges |= {(24 + int(min(e)), 24 + int(max(e))) for e in rng.integers(0, 20, (40, 2)) if e[0] != e[1]}
    graphs = GraphSet.from_edges(
        node_counts=[44],
        node_types=[0] * 24 + [1] * 20,
        edge_counts=[len(edges)],
        edges=sorted(edges),
        node_vocabulary=["<script>alert(1)</script>", "gene & co"],
        origin="</title><b>set",
    )
    return significance(graphs, 3, "types", draws=300, switches=20, seed=1)


def test_every_pattern_is_a_point_and_a_row(found: Significance, tmp_path: Path) -> None:
    rows = write_significance_page(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    tested = int(found.scores.tested.sum())
    assert rows == tested
    volcano, profile = re.findall(r'<svg viewBox="0 0 640 380".*?</svg>', page, flags=re.S)
    assert volcano.count("<circle") == tested
    assert profile.count("<circle") == min(tested, PROFILE)
    assert volcano.count('class="over"') == len(found.motifs)
    assert volcano.count('class="under"') == len(found.anti_motifs)
    table = re.findall(r'<tr id="row-(\d+)".*?</tr>', page, flags=re.S)
    assert [int(row) for row in table] == [row for row in found.order.tolist() if found.scores.tested[row]]
    cells = [
        re.findall(r'data-value="([^"]+)"', row)
        for row in re.findall(r'<tr id="row.*?</tr>', page, flags=re.S)
    ]
    assert [float(row[0]) for row in cells] == [found.scores.observed[int(row)] for row in table]
    assert [float(row[5]) for row in cells] == [found.scores.q[int(row)] for row in table]


def test_names_cannot_end_an_element(found: Significance, tmp_path: Path) -> None:
    write_significance_page(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<script") == 1
    assert "<b>set" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "gene &amp; co" in page


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    out = tmp_path / "motifs.html"
    done = grade(
        "significance", "zoo-mini", "-k", "2", "--draws", "30", "--switches", "2", "--page", str(out)
    )
    assert done.returncode == 0, done.stderr
    assert "Motifs of zoo-mini against the null model &#39;degrees&#39;" in out.read_text()

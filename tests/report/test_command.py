from pathlib import Path
from typing import Any

import pytest

Run = Any


def test_a_page_is_written_beside_the_run_or_where_asked(run: Run, mined: Path, tmp_path: Path) -> None:
    assert run("report", str(mined), "--json").json == {
        "page": str(mined / "report.html"),
        "motifs": 30,
        "variants": 0,
        "others": 0,
    }
    assert (mined / "report.html").read_text().startswith("<!doctype html>")
    assert run("report", str(mined), "--out", "there.html").out == "there.html: 30 motifs\n"
    assert (tmp_path / "there.html").read_bytes() == (mined / "report.html").read_bytes()


def test_the_page_is_opened_on_request(run: Run, mined: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    run("report", str(mined), "--out", "a page.html", "--open")
    assert opened == [(Path.cwd() / "a page.html").as_uri()]


def test_two_runs_are_compared(run: Run, mined: Path, tmp_path: Path) -> None:
    result = run("report", str(mined), str(mined), "--json").json
    assert result == {"page": "comparison.html", "gained": 0, "lost": 0, "changed": 0, "unchanged": 30}
    assert (tmp_path / "comparison.html").is_file()


def test_a_pattern_is_exported(run: Run, mined: Path, tmp_path: Path) -> None:
    written = run("export", str(mined), "--pattern", "3", "--to", "dot", "--json").json
    assert written["file"] == "motif-3.dot"
    assert (tmp_path / "motif-3.dot").read_text().startswith("digraph")


def test_what_cannot_be_is_refused_in_one_sentence(run: Run, mined: Path, tmp_path: Path) -> None:
    for arguments, sentence in {
        ("report", "nowhere"): "nowhere is no run: it has no run.json; make one with 'grade mine'.",
        ("report", *[str(mined)] * 3): "3 runs were given; a page shows one, or compares two.",
        ("report", str(mined), "--out", "no/page.html"): "no/page.html cannot be written",
        (
            "export",
            str(mined),
            "--pattern",
            "31",
            "--to",
            "dot",
        ): f"--pattern is 31, but {mined} has patterns 1 to 30.",
        ("export", str(mined), "--pattern", "1", "--to", "pdf"): "There is no format 'pdf'; known: pytorch,",
    }.items():
        result = run(*arguments)
        assert result.code == 2
        assert result.err.startswith(f"grade: {sentence}")
        assert result.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []

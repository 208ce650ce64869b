"""'grade time' end to end: what it keeps, what the page shows, what is refused."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from grade import cli
from grade.blocks import blocks
from grade.mine import mine
from grade.report.page import write_page
from tests.report.test_page import read
from tests.timing.models import demo_model

GRADE = [sys.executable, "-m", "grade.cli"]


def grade(folder: Path, *arguments: str, code: int = 0) -> Any:
    done = subprocess.run([*GRADE, *arguments], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("time")
    demo_model(place / "demo.onnx")
    arguments = ("-k", "3", "--fusible", "--all", "--top", "3", "--rank-by", "saving", "--out", "run")
    grade(place, "mine", "demo.onnx", *arguments)
    return place


def test_from_a_run_to_its_page_and_back_to_mining(folder: Path) -> None:
    some = ("--strategies", "eager,hand,tvm", "--rounds", "2", "--threads", "1")
    data = json.loads(
        grade(folder, "time", "run", "--pattern", "1", *some, "--costs", "c.json", "--json").stdout
    )
    rows = {row["strategy"]: row for row in data["latencies"]}
    assert rows["eager"]["seconds"] > 0
    assert rows["eager"]["low"] <= rows["eager"]["seconds"] <= rows["eager"]["high"]
    assert rows["hand"]["difference"] < 1e-4
    assert data["saved_seconds"] == pytest.approx(rows["eager"]["seconds"] - rows["hand"]["seconds"])
    assert data["about"].startswith("as in demo.onnx")
    assert data["expected_saving"]["basis"] == "shapes of the models"
    shown = grade(folder, "time", "run", "--pattern", "1", *some).stdout
    assert "roofline" in shown
    assert rows["tvm"]["seconds"] is not None or "tvm: left out, apache-tvm is not installed" in shown
    write_page(folder / "run", folder / "page.html")
    motif = read(folder / "page.html").data["motifs"][0]
    assert motif["saving"][1] == "bytes"
    total, apart, fused, _, threads, kept = motif["latency"]
    assert threads == 1
    assert [name for name, _, _ in kept] == ["eager", "hand", "tvm"]
    assert total == pytest.approx((apart - fused) * motif["disjoint"][0])
    assert read(folder / "page.html").data["motifs"][1]["latency"] is None
    costs = json.loads((folder / "c.json").read_text())
    assert costs["unit"] == "seconds"
    assert [row["pattern"] for row in costs["costs"]] == [motif["key"]]
    arguments = (
        "-k",
        "3",
        "--all",
        "--rank-by",
        "saving",
        "--fusible",
        "--costs",
        "c.json",
        "--out",
        "again",
        "--json",
    )
    again = json.loads(grade(folder, "mine", "demo.onnx", *arguments).stdout)
    measured = next(row for row in again["motifs"] if row["key"] == motif["key"])["saving"]
    cost = costs["costs"][0]
    assert measured["basis"] == "measured"
    assert measured["per_occurrence"] == pytest.approx(cost["apart"] - cost["fused"])
    assert all(row["saving"]["unit"] == "seconds" for row in again["motifs"])
    assert measured != data["expected_saving"]


REFUSED = {
    "--pattern 99": "--pattern is 99, but run has patterns 1 to",
    "--pattern 1 --device tpu": "no device 'tpu'",
    "--pattern 1 --strategies magic": "no strategy 'magic'",
    "--pattern 1 --strategies ,": "no strategy",
    "--pattern 1 --shape 64": "such as 1x64x56x56",
    "--pattern 1 --shape 1x2x3x4": "must be equal",
    "--pattern 1 --costs c.txt": "must end in .json",
    "--pattern 1 --rounds 0": "--rounds is 0",
} | ({} if torch.cuda.is_available() else {"--pattern 1 --device cuda": "no GPU"})


def refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *words: str
) -> str:
    """The sentence with which 'grade time' ends, in this process."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["grade", "time", *words])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    captured = capfd.readouterr()
    assert (stop.value.code, captured.out) == (2, "")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], words: str
) -> None:
    assert REFUSED[words] in refused(folder, monkeypatch, capfd, "run", *words.split())
    for other in ("demo.onnx", "nothing"):
        assert "is no run" in refused(folder, monkeypatch, capfd, other, "--pattern", "1")


def test_unknown_operators_and_missing_shapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    magic = {"nodes": ["Magic", "Relu", "Spell"], "edges": [[0, 1], [1, 2]]}
    chain = {"nodes": [f"Step{i}" for i in range(20)], "edges": [[i, i + 1] for i in range(19)]}
    for name, graph in (("magic", magic), ("long", chain)):
        lines = [json.dumps({"name": number, **graph}) for number in "ab"]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    mine("magic.jsonl", k=3, all=True, out="run")
    found = blocks("long.jsonl", out="blocks")
    error = refused(tmp_path, monkeypatch, capfd, "run", "--pattern", "1")
    assert "without a counterpart in PyTorch" in error
    number = next(n for n, block in enumerate(found.blocks, 1) if block.nodes > 16)
    error = refused(tmp_path, monkeypatch, capfd, "blocks", "--pattern", str(number))
    assert "no model file to take shapes from" in error
    assert "has blocks 1 to" in refused(tmp_path, monkeypatch, capfd, "blocks", "--pattern", "1000")

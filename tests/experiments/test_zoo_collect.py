"""The command that captures architectures: it goes on where it stopped, and packs what is distinct."""

import json
import os
import runpy
import time
from pathlib import Path
from typing import Any

import pytest

from grade.sources import load
from grade.sources.readers import Item
from grade.sources.worker_pool import Limits

SCRIPT = Path(__file__).parents[2] / "experiments" / "zoo" / "collect.py"
MODELS = """
import torch
from torch import nn

def stack(*layers):
    return nn.Sequential(*layers), (torch.empty(1, 4),)

def one():
    return stack(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))

def wide():  # the structure of one
    return nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 4)), (torch.empty(1, 4),)

def two():
    return stack(nn.Linear(4, 4), nn.Sigmoid())

def broken():
    raise RuntimeError("no such weights")

def tiny():
    return stack(nn.ReLU())
"""


def test_what_was_tried_is_not_tried_again_and_what_is_distinct_is_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some_models.py").write_text(MODELS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    names = ["one", "broken", "tiny", "two", "wide"]
    command: dict[str, Any] = runpy.run_path(str(SCRIPT))
    found = [("some", Item("torch", f"torch:some_models:{name}")) for name in names]
    monkeypatch.setitem(command["collect"].__globals__, "candidates", lambda: found)
    work = tmp_path / "work"
    command["collect"](work, Limits(), time.monotonic(), again=False)  # one model, then the time is over
    lines = (work / "manifest.jsonl").read_text().splitlines()
    assert [json.loads(line)["model"] for line in lines] == ["one"]
    with (work / "manifest.jsonl").open("a") as manifest:
        manifest.write('{"spec": "torch:some_models:bro')  # as a kill leaves it
        manifest.write("\n")
    command["collect"](work, Limits(), time.monotonic() + 1000, again=False)
    before = (work / "manifest.jsonl").read_text().splitlines()
    command["collect"](work, Limits(), time.monotonic() + 1000, again=True)
    once_more = (work / "manifest.jsonl").read_text().splitlines()[len(before) :]
    assert [json.loads(line)["model"] for line in once_more] == ["broken", "tiny"]
    rows = {row["model"]: row for row in command["tried"](work / "manifest.jsonl")}
    assert sorted(rows) == sorted(names)
    assert {name: row["nodes"] for name, row in rows.items()} == {
        "one": 3,
        "broken": 0,
        "tiny": 0,
        "two": 2,
        "wide": 3,
    }
    assert "no such weights" in rows["broken"]["skipped"]
    assert rows["tiny"]["skipped"] == "it has fewer than two operators"
    assert rows["one"]["digest"] == rows["wide"]["digest"] != rows["two"]["digest"]
    command["pack"](work, tmp_path / "large.npz.xz", tmp_path)
    counts = json.loads((tmp_path / "large.json").read_text())
    graphs = load(f"zoo-large:{tmp_path / 'large.npz.xz'}")
    assert list(graphs.graph_names) == ["some/one", "some/two"]
    assert (graphs.nodes, graphs.edges) == (5, 3)
    assert graphs.node_names is not None
    assert graphs.node_names[0] == "0/linear"
    assert graphs.outputs.tolist() == [False, False, True, False, True]
    assert [counts[name] for name in ("tried", "captured", "graphs", "nodes", "digest")] == [
        5,
        3,
        2,
        5,
        graphs.digest,
    ]
    assert (counts["census"]["3"]["instances"], counts["census"]["3"]["patterns"]) == (1, 1)


def test_families_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes of one family one after the other; models of a later rank behind all first ones."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    command: dict[str, Any] = runpy.run_path(str(SCRIPT))
    names = ["resnet18", "resnet34", "vit_base", "vit_large", "vgg11"]
    listed = [Item("timm", f"timm:{name}") for name in names]
    heads = [("other", f"torch:makers:heads.{name}", "Bert", 1) for name in ("BertForA", "BertForB")]
    known = {
        "timm_models": lambda _: listed,
        "transformers_models": lambda _: [],
        "specs": lambda: heads,
    }
    for name, found in known.items():
        monkeypatch.setitem(command["candidates"].__globals__, name, found)
    order = [item.place.rpartition(":")[2] for _, item in command["candidates"]()]
    assert order == [
        "resnet18",
        "vgg11",
        "vit_base",
        "resnet34",
        "vit_large",
        "heads.BertForA",
        "heads.BertForB",
    ]

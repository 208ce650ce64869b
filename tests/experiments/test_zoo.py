"""The recipe of the zoo: which models it takes, and what it writes."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from grade.graphs.storage import save_graph_set
from grade.sources import load, model_zoos
from grade.sources.building import BuildReport

SCRIPT = Path(__file__).parents[2] / "experiments" / "zoo" / "run.py"


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_every_family_gives_its_share_of_models(recipe: dict[str, Any]) -> None:
    family_of = {
        f"{family}{i:02}": family for family, size in (("a", 10), ("b", 4), ("c", 1)) for i in range(size)
    }
    chosen = recipe["spread"](family_of, family_of, 4)
    assert chosen == ["a00", "a03", "a06", "a09", "b00", "b01", "b02", "b03", "c00"]
    assert recipe["spread"](family_of, family_of, 1) == ["a00", "b00", "c00"]


def test_the_counts_are_written(
    recipe: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Library:
        __version__ = "1.2.3"

    for name in ("import_timm", "import_transformers"):
        monkeypatch.setitem(recipe["write_results"].__globals__, name, Library)
        assert hasattr(model_zoos, name)
    zoo = load("zoo-mini")
    save_graph_set(zoo, tmp_path / "set")
    report = BuildReport(
        graphs=12, nodes=zoo.nodes, edges=zoo.edges, inputs=14, read=13, skipped=["timm:x cannot be made."]
    )
    recipe["write_results"](tmp_path / "results", report, tmp_path / "set")
    data = json.loads((tmp_path / "results" / "results.json").read_text())
    assert (data["models"], data["captured"], data["graphs"], data["nodes"]) == (14, 13, 12, zoo.nodes)
    assert data["names"] == list(zoo.graph_names)
    assert sum(data["operator_counts"].values()) == zoo.nodes
    page = (tmp_path / "results" / "README.md").read_text()
    assert "- timm:x cannot be made." in page
    assert f"| nodes | {zoo.nodes:,} |" in page

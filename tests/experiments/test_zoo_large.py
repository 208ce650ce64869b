"""The committed set of captured architectures is the one that its manifest and its counts describe."""

import json
import lzma
import runpy
from pathlib import Path
from typing import Any

import pytest

from grade import GraphSet
from grade.graphs.digests import structure_digests
from grade.sampling.census import take_census
from grade.sources import load

ZOO = Path(__file__).parents[2] / "experiments" / "zoo"
pytestmark = pytest.mark.skipif(
    not (ZOO / "zoo-large.npz.xz").is_file(), reason="experiments/zoo/zoo-large.npz.xz is not there"
)


@pytest.fixture(scope="module")
def counts() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ZOO / "results" / "large.json").read_text())
    return found


@pytest.fixture(scope="module")
def manifest() -> list[dict[str, Any]]:
    lines = lzma.decompress((ZOO / "results" / "manifest.jsonl.xz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    return load("zoo-large")


def test_the_set_is_the_one_that_was_packed(
    graphs: GraphSet, counts: dict[str, Any], manifest: list[dict[str, Any]]
) -> None:
    assert graphs.digest == counts["digest"]
    assert (len(graphs), graphs.nodes, graphs.edges) == (counts["graphs"], counts["nodes"], counts["edges"])
    assert (ZOO / "zoo-large.npz.xz").stat().st_size == counts["bytes"] <= 12 << 20
    captured = {row["digest"]: row for row in manifest if not row["skipped"]}
    assert len(captured) == len(graphs)
    assert len(manifest) == counts["tried"]
    assert {digest.hex() for digest in structure_digests(graphs)} == set(captured)


def test_graphs_carry_what_exports_need(graphs: GraphSet) -> None:
    assert graphs.node_names is not None
    assert graphs.in_operands is not None
    assert graphs.graph_outputs is not None


@pytest.mark.parametrize("k", [3, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_its_counts_are_those_committed(
    graphs: GraphSet, counts: dict[str, Any], k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ZOO))
    census = take_census(graphs, k)
    expected = counts["census"][str(k)]
    assert (census.instances, len(census.patterns)) == (expected["instances"], expected["patterns"])
    digest = runpy.run_path(str(ZOO / "collect.py"))["digest_of_counts"](census)
    assert digest == expected["digest"]

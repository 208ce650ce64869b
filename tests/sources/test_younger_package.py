"""What Younger's own package writes, against what that package has in memory and against the ONNX reader."""

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

from grade.graphs.digests import structure_digests
from grade.settings import ReadSettings
from grade.sources import load
from grade.sources.onnx_files import read_onnx
from tests.onnx_models import LIGHT, branching, calling, save

pytestmark = pytest.mark.slow
REASON = "Younger is not installed (pip install --no-deps Younger==0.0.1a2, and tqdm, psutil, python-semantic-release)"
modules = pytest.importorskip("younger.datasets.modules", reason=REASON)
io = pytest.importorskip("younger.commons.io", reason=REASON)

ALL = ReadSettings(drop="")


def instance_of(path: Path) -> Any:
    return modules.Instance(model=onnx.load(path), labels={})


def operators(graph: Any) -> set[str]:
    """Younger's nodes that are operators; constants are nodes of another kind in GraDE."""
    return {
        identity
        for identity, node in graph.nodes(data=True)
        if node["type"] == "operator" and node["operator"]["op_type"] != "Constant"
    }


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_instances_have_the_counts_of_the_package(path: Path, tmp_path: Path) -> None:
    instance = instance_of(path)
    instance.save(tmp_path / "instance")
    own = instance.network.graph
    nodes = operators(own)
    graphs = load(f"younger:{tmp_path}", ALL)
    assert (graphs.nodes, graphs.edges) == (len(nodes), sum({a, b} <= nodes for a, b in own.edges))
    assert graphs.nodes > 30
    assert graphs.node_places is not None
    for number, place in enumerate(graphs.node_places.tolist()):
        assert (
            own.nodes[str(place)]["operator"]["op_type"] == graphs.node_vocabulary[graphs.node_types[number]]
        )
        for arc, source in graphs.operands(number):
            edge = own.edges[str(graphs.node_places[source]), str(place)]["connection"]
            assert arc.operand in own.nodes[str(place)]["operands"].values()
            assert edge["trap_index"] == arc.operand or edge["emit_index"] == arc.result
    assert {str(place) for place, end in zip(graphs.node_places, graphs.outputs, strict=True) if end} == {
        a for a, b in own.edges if own.nodes[b]["type"] == "output"
    }


@pytest.mark.parametrize("settings", [ReadSettings(), ALL, ReadSettings(attributes=["kernel_shape", "axis"])])
def test_an_instance_is_the_graph_of_its_onnx_file(tmp_path: Path, settings: ReadSettings) -> None:
    paths = [*LIGHT, Path(save(branching(), tmp_path / "b.onnx")), Path(save(calling(), tmp_path / "c.onnx"))]
    for path in paths:
        instance_of(path).save(tmp_path / path.stem)
        read = load(f"younger:{tmp_path / path.stem}", settings)
        expected = next(read_onnx(str(path), settings))
        assert structure_digests(read) == structure_digests(expected), path
        assert read.node_types.tolist() == expected.node_types.tolist(), path
        assert read.outputs.tolist() == expected.outputs.tolist(), path


def test_samples_and_archives_of_a_task(tmp_path: Path) -> None:
    split = pytest.importorskip("younger.datasets.constructors.official.split", reason=REASON)
    instances = [instance_of(path) for path in LIGHT[:3]]
    meta = {"version": "0.0.1", "split": "train", "archive": "train.tar.gz"}
    split.save_split(meta, instances, tmp_path, 1)
    folder = tmp_path / "0.0.1" / "train"
    assert json.loads((folder / "meta.json").read_text()) == meta
    expected = [next(read_onnx(str(path), ALL)).nodes for path in LIGHT[:3]]
    for spec in (f"younger:{folder}", f"younger:{folder / 'train.tar.gz'}"):
        assert load(spec, ALL).node_counts.tolist() == expected
    graph = instances[0].network.graph
    io.save_pickle(("hash", graph, {"0"}), tmp_path / "tuples" / "sample-0.pkl")
    assert load(f"younger:{tmp_path / 'tuples'}", ALL).node_counts.tolist() == expected[:1]

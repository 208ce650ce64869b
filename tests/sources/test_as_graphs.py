from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx
import numpy as np
import onnx
import pytest
import torch

from grade import GraphSet, InputError
from grade.settings import ReadSettings
from grade.sources import as_graphs, load
from grade.sources.model_zoos import import_transformers
from grade.sources.torch_models import capture
from tests.graph_sets import assert_equal
from tests.onnx_models import LIGHT

IMAGE = torch.zeros(1, 3, 8, 8)


def module() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten()).eval()


def test_a_set_is_itself_and_a_name_is_loaded(tmp_path: Path) -> None:
    mini = load("zoo-mini")
    assert as_graphs(mini) is mini
    assert_equal(as_graphs("zoo-mini"), mini)
    assert_equal(as_graphs(LIGHT[0]), load(LIGHT[0]))
    (tmp_path / "copy.onnx").write_bytes(LIGHT[0].read_bytes())
    assert as_graphs(tmp_path).nodes == load(LIGHT[0]).nodes


def test_modules_with_their_inputs_are_captured() -> None:
    captured = capture(module(), (IMAGE,))
    assert_equal(as_graphs((module(), (IMAGE,))), captured)
    assert_equal(as_graphs((module(), [IMAGE])), captured)
    assert_equal(as_graphs((module(), (), {"input": IMAGE})), captured)
    program = torch.export.export(module(), (IMAGE,))
    assert as_graphs(program).node_types.tolist() == captured.node_types.tolist()
    named = as_graphs((module(), (IMAGE,)), ReadSettings(names="onnx"))
    assert named.node_vocabulary[0] == "Conv"


class Suggesting(torch.nn.Module):
    """A module with one of the attributes by which libraries say what their models take."""

    def __init__(self, **suggestions: Any) -> None:
        super().__init__()
        self.body = module()
        vars(self).update(suggestions)

    def forward(self, pixel_values: torch.Tensor, scale: float | None = None) -> torch.Tensor:
        features: torch.Tensor = self.body(pixel_values)
        return features if scale is None else features * scale


@pytest.mark.parametrize(
    ("suggestions", "last"),
    [
        ({"default_cfg": {"input_size": (3, 8, 8)}}, "aten.flatten"),  # timm
        ({"example_input_array": IMAGE}, "aten.flatten"),  # Lightning
        ({"example_input_array": (IMAGE, 2.0)}, "aten.mul"),
        ({"example_input_array": {"pixel_values": IMAGE, "scale": 2.0}}, "aten.mul"),
        (
            {"config": SimpleNamespace(to_dict=dict, model_type="vit", image_size=8)},
            "aten.flatten",
        ),  # transformers
    ],
)
def test_modules_that_say_what_they_take_need_no_inputs(suggestions: dict[str, Any], last: str) -> None:
    graphs = as_graphs(Suggesting(**suggestions))
    names = [graphs.node_vocabulary[kind] for kind in graphs.node_types]
    assert names[0] == "aten.conv2d"
    assert names[-1] == last


def test_a_model_of_transformers_needs_no_inputs() -> None:
    pytest.importorskip("transformers", reason="transformers is not installed (extra 'transformers')")
    transformers = import_transformers()
    configuration = transformers.BertConfig(
        num_hidden_layers=1, hidden_size=8, num_attention_heads=2, intermediate_size=8
    )
    graphs = as_graphs([transformers.AutoModel.from_config(configuration).eval()])
    assert "aten.scaled_dot_product_attention" in graphs.node_vocabulary


def test_models_in_memory(tmp_path: Path) -> None:
    read = load(LIGHT[1])
    made = as_graphs(onnx.load(LIGHT[1]))
    assert made.nodes == read.nodes > 100
    assert made.out_targets.tolist() == read.out_targets.tolist()
    graph = networkx.DiGraph(name="tiny")
    graph.add_node("a", type="conv")
    assert as_graphs(graph).node_vocabulary == ("conv",)


def test_a_list_becomes_one_set() -> None:
    one: list[Any] = ["zoo-mini", LIGHT[0], load("zoo-mini"), (module(), (IMAGE,))]
    graphs = as_graphs(one)
    assert len(graphs) == 12 + 1 + 12 + 1
    assert graphs.graph_names[25] == "Sequential"
    assert graphs.origins is not None
    assert graphs.origins.file(12) is not None
    assert_equal(as_graphs(["zoo-mini"]), load("zoo-mini"))
    assert_equal(as_graphs([["zoo-mini"], ("zoo-mini",)]).subset(range(12)), load("zoo-mini"))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (module(), r"A Sequential needs example inputs to be captured; give \(module, \(tensor,\)\) instead"),
        ((module(), IMAGE), "The example inputs of a Sequential must be a tuple of arguments"),
        ((module(), (IMAGE,), [1]), "The example inputs of a Sequential must be a tuple of arguments"),
        ((module(), (IMAGE,), {}, 1), "The example inputs of a Sequential must be a tuple of arguments"),
        ([], "An empty list names no graphs"),
        (3, "An object of type int stands for no graphs"),
        (None, "An object of type NoneType stands for no graphs"),
        (np.zeros(3), "An object of type ndarray stands for no graphs"),
        (["zoo-mini", 3], "An object of type int stands for no graphs"),
        ("no-such-set", "There is no file, folder or built-in set named 'no-such-set'"),
    ],
)
def test_what_stands_for_no_graphs_is_refused(wrong: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as error:
        as_graphs(wrong)
    assert "\n" not in str(error.value)


def test_a_set_made_in_memory_can_be_used(tmp_path: Path) -> None:
    made = GraphSet.from_edges(
        node_counts=[2], node_types=[0, 0], edge_counts=[1], edges=[[0, 1]], node_vocabulary=["conv"]
    )
    assert as_graphs([made, made]).edges == 2

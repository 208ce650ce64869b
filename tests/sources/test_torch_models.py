from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from grade import GraphSet, InputError
from grade.graphs import Pattern
from grade.mine import mine
from grade.sampling.census import take_census
from grade.settings import ReadSettings
from grade.sources.torch_models import capture
from tests.sources.test_onnx_files import named_edges, typed
from tests.sources.torch_modules import (
    OPERATORS,
    Branching,
    SmallResNet,
    Writing,
    called_operators,
)

IMAGE = (1, 3, 16, 16)


def layers(graphs: GraphSet) -> Counter[str]:
    return Counter(kind for kind in typed(graphs) if kind in OPERATORS.values())


def sequence(width: int) -> Any:
    return torch.zeros(5, 1, width)


PLAIN: dict[str, tuple[Any, Any]] = {
    "linear": (lambda: nn.Linear(4, 2), lambda: torch.zeros(1, 4)),
    "perceptron": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(), nn.Linear(8, 2), nn.LayerNorm(2)),
        lambda: torch.zeros(1, 4),
    ),
    "vgg": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3),
            nn.SiLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 4, 3),
            nn.GroupNorm(2, 4),
            nn.Flatten(),
        ),
        lambda: torch.zeros(IMAGE),
    ),
    "shared layer": (lambda: nn.Sequential(*[nn.Linear(4, 4)] * 3), lambda: torch.zeros(1, 4)),
    "upsampling": (
        lambda: nn.Sequential(nn.ConvTranspose2d(3, 4, 2), nn.BatchNorm2d(4), nn.Upsample(scale_factor=2)),
        lambda: torch.zeros(IMAGE),
    ),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, activation="relu"), lambda: sequence(8)),
    "decoder": (lambda: nn.TransformerDecoderLayer(8, 2), lambda: (sequence(8), sequence(8))),
    "lstm": (lambda: nn.LSTM(4, 4, num_layers=2), lambda: sequence(4)),
    "gru": (lambda: nn.GRU(4, 4), lambda: sequence(4)),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 4)),
        lambda: torch.zeros(1, 3).long(),
    ),
    "resnet": (lambda: SmallResNet(3), lambda: torch.zeros(IMAGE)),
    "resnet in place": (lambda: SmallResNet(3, inplace=True), lambda: torch.zeros(IMAGE)),
    "conv1d": (lambda: nn.Sequential(nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3)), lambda: torch.zeros(1, 2, 9)),
}


@pytest.mark.parametrize("name", PLAIN)
def test_the_layers_are_those_that_the_module_calls(name: str) -> None:
    make, example = PLAIN[name]
    module, arguments = make().eval(), example()
    arguments = arguments if isinstance(arguments, tuple) else (arguments,)
    expected = called_operators(module, *arguments)
    graphs = capture(module, arguments)
    found = layers(graphs)
    if name in ("encoder", "decoder"):  # attention calls the same operator by other means
        attentions = 1 if name == "encoder" else 2
        assert found["aten.scaled_dot_product_attention"] == 0  # not a layer of the list
        assert typed(graphs).count("aten.scaled_dot_product_attention") == attentions
        del found["aten.linear"], expected["aten.linear"]
    assert found == expected
    assert not any(kind.endswith("_") or "dropout" in kind for kind in typed(graphs))


def test_modules_on_the_meta_device_give_the_same_graph() -> None:
    with torch.device("meta"):
        made = capture(SmallResNet().eval(), (torch.empty(IMAGE),))
    real = capture(SmallResNet().eval(), (torch.zeros(IMAGE),))
    assert typed(made) == typed(real)
    assert named_edges(made) == named_edges(real)


# start -> conv -> norm -> relu -> conv -> norm -> add -> relu, and start -> add: what skips the block
BLOCK = ["conv2d", "batch_norm", "relu", "conv2d", "batch_norm", "add", "relu"]
ARCS = [*((i, i + 1) for i in range(7)), (0, 6)]


def block_pattern(graphs: GraphSet, start: str) -> Pattern:
    matrix = np.zeros((8, 8), int)
    matrix[tuple(zip(*ARCS, strict=True))] = 1
    types = [graphs.node_vocabulary.index(f"aten.{kind}") for kind in [start, *BLOCK]]
    return Pattern.of(types, matrix, graphs.node_vocabulary, graphs.edge_vocabulary)


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("blocks", [1, 5])
def test_the_residual_block_is_found_as_often_as_the_architecture_says(blocks: int, inplace: bool) -> None:
    with torch.device("meta"):
        graphs = capture(SmallResNet(blocks, inplace).eval(), (torch.empty(IMAGE),))
    assert (graphs.nodes, graphs.edges) == (1 + 7 * blocks + 2, 8 * blocks + 2)
    census = take_census(graphs, 8)
    count_of = {pattern.key: count for pattern, count in census.top(len(census.patterns))}

    assert count_of[block_pattern(graphs, "conv2d").key] == 1  # the first block follows the stem
    assert count_of.get(block_pattern(graphs, "relu").key, 0) == blocks - 1  # the others follow a block


def test_mining_finds_the_residual_block(tmp_path: Path) -> None:
    with torch.device("meta"):
        graphs = capture(SmallResNet(5).eval(), (torch.empty(IMAGE),))
    found = mine(graphs, 8, tmp_path / "run", top=40, rank_by="occurrences", all=True)
    count_of = {motif.key: motif.support.occurrences for motif in found.motifs}
    assert (
        count_of[block_pattern(graphs, "relu").key] == 4
    )  # all blocks but the first, which follows the stem


def test_writes_in_place_are_read_by_who_reads_later() -> None:
    graphs = capture(Writing(), (torch.zeros(2, 3),))
    assert set(typed(graphs)) == {"aten.sin", "aten.relu", "aten.select", "aten.exp", "aten.tanh"}
    assert named_edges(graphs) == {
        ("sin", "relu_"),
        ("relu_", "select"),
        ("select", "exp_"),
        ("relu_", "tanh"),
        ("exp_", "tanh"),  # written through the view
    }


def test_branches_are_flattened() -> None:
    graphs = capture(Branching(), (torch.zeros(2, 4),))
    kinds = Counter(typed(graphs))
    plain = ["chunk", "sum", "gt", "tanh", "add", "exp", "sub"]
    assert kinds == Counter(["cond", *(f"aten.{kind}" for kind in plain)])
    edges = named_edges(graphs)
    for source, target in (("tanh", "add"), ("exp", "sub")):
        branch = "true" if source == "tanh" else "false"
        inside = f"cond/{branch}_graph_0/"
        assert {
            ("chunk", inside + source),
            (inside + source, inside + target),
            (inside + target, "cond"),
        } < edges
    assert ("gt", "cond") in edges


def test_operators_can_have_their_onnx_names() -> None:
    graphs = capture(SmallResNet(1).eval(), (torch.zeros(IMAGE),), settings=ReadSettings(names="onnx"))
    block = ["Conv", "BatchNormalization", "Relu", "Conv", "BatchNormalization", "Add", "Relu"]
    assert typed(graphs) == ["Conv", *block, "ReduceMean", "Gemm"]
    with pytest.raises(InputError, match="cannot be named by 'greek'; give aten or onnx"):
        capture(nn.ReLU(), (torch.zeros(1),), settings=ReadSettings(names="greek"))


def test_weights_can_be_nodes_and_what_is_computed_from_them_alone_folded() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ (self.weight / self.weight.norm()) + torch.arange(4)

    def kinds(**choices: bool) -> Counter[str]:
        return Counter(typed(capture(Scaled(), (torch.zeros(1, 4),), settings=ReadSettings(**choices))))

    assert kinds()["aten.div"] == kinds()["aten.matmul"] == 1
    assert kinds(initializers=True)["Initializer"] == 1
    assert kinds(fold=True) == {"aten.matmul": 1, "aten.add": 1}


def test_inputs_that_are_read_twice_count_twice() -> None:
    class Square(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.exp(x)
            return y * y

    graphs = capture(Square(), (torch.zeros(2),), settings=ReadSettings(positions=True))
    assert graphs.edge_vocabulary[graphs.out_types[0]] == "0+1"


def test_operands_results_and_outputs_are_kept() -> None:
    class Parts(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            first, second = torch.split(torch.exp(x), 2)
            return second - first, second.relu()

    graphs = capture(Parts(), (torch.zeros(4),))
    kinds = [graphs.node_vocabulary[kind] for kind in graphs.node_types]
    split, difference = kinds.index("aten.split"), kinds.index("aten.sub")
    assert graphs.operands(difference) == [((0, 1), split), ((1, 0), split)]
    assert dict(zip(kinds, graphs.outputs.tolist(), strict=True)) == {
        "aten.exp": False,
        "aten.split": False,
        "aten.sub": True,
        "aten.relu": True,
    }


def test_what_torch_export_refuses_is_refused_in_one_sentence() -> None:
    class Asking(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x if x.sum() > 0 else -x

    with pytest.raises(InputError) as error:
        capture(Asking(), (torch.zeros(3),), name="asking")
    assert str(error.value).startswith("asking cannot be captured by torch.export (")
    assert "\n" not in str(error.value)

"""Names of blocks say what their operators do, which follows from what these read."""

from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest

import grade
from grade import GraphSet


def name_of(operators: Sequence[str], edges: Sequence[tuple[int, int]]) -> str:
    """The name of the largest block of a model that has these operators twice, each after an operator of its own kind
    (number -1), the last one an output.
    """
    size = len(operators) + 1
    one = [(source + 1, target + 1) for source, target in edges]
    words = sorted({*operators, "Split", "Tanh"})
    found = grade.blocks(
        GraphSet.from_edges(
            node_counts=[2 * size],
            node_types=[words.index(word) for word in ["Split", *operators] * 2],
            edge_counts=[2 * len(one)],
            edges=[*one, *((source + size, target + size) for source, target in one)],
            node_vocabulary=words,
            outputs=[place % size == size - 1 or place % size == 0 for place in range(2 * size)],
        )
    )
    return max(found, key=lambda block: block.nodes).name


ROW = [(-1, 0), (0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("operators", "edges", "name"),
    [
        (["Conv", "Sigmoid", "Mul"], [(-1, 0), (0, 1), (0, 2), (1, 2)], "conv-swish"),
        # a gate multiplies another value
        (["Conv", "Sigmoid", "Mul"], [(-1, 0), (-1, 2), (0, 1), (1, 2)], "conv-sigmoid-mul"),
        # x * clip(x + 3) / 6
        (
            ["Conv", "Relu", "Add", "Clip", "Mul", "Div"],
            [*ROW, (3, 4), (1, 4), (4, 5)],
            "conv-relu-hardswish",
        ),
        # additions are biases, or shortcuts, or neither
        (["Conv", "Relu", "Conv", "Add"], ROW, "conv-relu"),
        (["Conv", "Relu", "Conv", "Add"], [*ROW, (-1, 3)], "residual"),
        (
            ["Conv", "Slice", "Slice", "Pow", "Abs", "Add"],
            [*ROW[:2], (0, 2), (1, 3), (2, 4), (3, 5), (4, 5)],
            "conv",
        ),
        (["QuantizeLinear", "DequantizeLinear", "Conv", "Relu"], ROW, "quantized-conv-relu"),
        (["MatMul", "Reshape", "Add", "Gelu"], ROW, "linear-gelu"),
    ],
)
def test_names(operators: list[str], edges: list[tuple[int, int]], name: str) -> None:
    assert name_of(operators, edges) == name


def test_a_pair_is_a_swish_only_if_it_is_one_everywhere() -> None:
    """Sigmoid and Mul of one value, and in another model of two."""
    swish, gate = [(0, 1), (0, 2), (1, 2)], [(0, 1), (3, 2), (1, 2)]
    found = grade.blocks(
        GraphSet.from_edges(
            node_counts=[4, 4, 4],
            node_types=[0, 1, 2, 3] * 3,
            edge_counts=[3] * 3,
            edges=[*swish, *swish, *gate],
            outputs=[True, False, True, True] * 3,
            node_vocabulary=["Conv", "Sigmoid", "Mul", "Abs"],
        )
    )
    assert [block.name for block in found] == ["sigmoid-mul"]


def test_operators_that_prepare_weights_are_not_named() -> None:
    """onnx's light models make their weights by ConstantOfShape, and unsqueeze some."""
    folder = Path(onnx.__file__).parent / "backend/test/data/light"
    found = grade.blocks(folder / "light_inception_v2.onnx")
    names = {block.name.rpartition("-")[0] or block.name for block in found if block.nodes < 20}
    assert "conv-norm-relu" in names
    assert not any("constant" in name for name in names)

"""Functions that take the sizes of convolutions as attributes, and weights that models hand on."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from grade.blocks.outline import outline
from tests.blocks.test_outline import assert_same, results, written


def convolutions(sizes: list[tuple[int, int, list[int]]], groups: bool = False) -> onnx.ModelProto:
    """A residual block of two convolutions for each (kernel, stride, pads of the first)."""
    rng = np.random.default_rng(0)
    nodes, weights, value, channels = [], [], "x", 4
    for i, (kernel, stride, pads) in enumerate(sizes):
        shape = (channels, 1 if groups else channels, kernel, kernel)
        weights += [
            numpy_helper.from_array(rng.random(shape, np.float32), f"onnx::Conv_{2 * i}"),
            numpy_helper.from_array(
                rng.random((channels, channels, 1, 1), np.float32), f"onnx::Conv_{2 * i + 1}"
            ),
        ]
        nodes += [
            helper.make_node(
                "Conv",
                [value, f"onnx::Conv_{2 * i}"],
                [f"/{i}/a"],
                kernel_shape=[kernel] * 2,
                strides=[stride] * 2,
                pads=pads,
                group=channels if groups else 1,
            ),
            helper.make_node("Relu", [f"/{i}/a"], [f"/{i}/r"]),
            helper.make_node(
                "Conv", [f"/{i}/r", f"onnx::Conv_{2 * i + 1}"], [f"/{i}/b"], kernel_shape=[1, 1]
            ),
            helper.make_node("Add", [f"/{i}/a", f"/{i}/b"], [f"/{i}/y"]),
        ]
        value = f"/{i}/y"
    graph = helper.make_graph(
        nodes,
        "convolutions",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, 24, 24])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["a", "b", "c", "d"])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


WITH_SIZES = [(3, 1, [1] * 4), (5, 2, [2] * 4), (3, 2, [1] * 4), (3, 1, [1] * 4)]


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("groups", [False, True])
def test_sizes_of_convolutions_are_attributes(tmp_path: Path, flat: bool, groups: bool) -> None:
    before = convolutions(WITH_SIZES, groups)
    after = outline(written(before, tmp_path / "model.onnx"), flat=flat).model
    assert_same(before, after)
    assert len({node.op_type for node in after.graph.node}) == 1
    given = [
        {a.name: list(a.ints) for a in node.attribute if a.name in ("kernel_shape", "strides", "pads")}
        for node in after.graph.node
    ]
    assert given == [
        {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": pads}
        for kernel, stride, pads in WITH_SIZES
    ]
    np.testing.assert_array_equal(results(before, False)[0], results(after, False)[0])
    names = {name for function in after.functions for name in function.input}
    assert "Conv.W" in names  # the weights have no common name
    assert not any("onnx" in name for name in names)


def test_sizes_reach_functions_in_functions(tmp_path: Path) -> None:
    """Two kinds of larger blocks share a smaller one, whose stride they pass on or fix."""
    before = convolutions(WITH_SIZES)
    for i in (1, 3):
        node = next(node for node in before.graph.node if node.output[0] == f"/{i}/y")
        place = list(before.graph.node).index(node)
        node.output[0] = f"/{i}/sum"
        before.graph.node.insert(place + 1, helper.make_node("Tanh", [f"/{i}/sum"], [f"/{i}/y"]))
    after = outline(written(before, tmp_path / "model.onnx")).model
    assert_same(before, after)
    references = {
        a.ref_attr_name for function in after.functions for node in function.node for a in node.attribute
    }
    assert "strides" in references
    assert any(node.domain == "grade.blocks" for function in after.functions for node in function.node)
    np.testing.assert_array_equal(results(before, False)[0], results(after, False)[0])


def test_pads_of_one_side_tell_convolutions_apart(tmp_path: Path) -> None:
    before = convolutions([(3, 1, [1] * 4)] * 2 + [(3, 1, [0, 0, 2, 2])] * 2)
    after = outline(written(before, tmp_path / "model.onnx")).model
    assert_same(before, after)
    assert len({node.op_type for node in after.graph.node}) == 2


def handed_on(layers: int) -> Any:
    """Layers that share a weight, as exporters write it: all but the first read an Identity of it."""
    rng = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = [helper.make_node("Identity", ["w"], [f"w{i}"]) for i in range(1, layers)]
    value = "x"
    for i in range(layers):
        nodes += [
            helper.make_node("MatMul", [value, f"w{i}" if i else "w"], [f"m{i}"]),
            helper.make_node("Tanh", [f"m{i}"], [f"t{i}"]),
            helper.make_node("Add", [value, f"t{i}"], [f"x{i + 1}"]),
        ]
        value = f"x{i + 1}"
    graph = helper.make_graph(
        nodes,
        "handed on",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, [2, 8])],
        [numpy_helper.from_array(rng.random((8, 8), np.float32) / 8, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_the_identity_of_a_weight_is_a_weight(tmp_path: Path) -> None:
    before = handed_on(5)
    done = outline(written(before, tmp_path / "model.onnx"))
    assert_same(before, done.model)
    assert [node.op_type for node in done.model.graph.node[4:]] == [done.functions[0].name] * 5
    np.testing.assert_array_equal(results(before, False)[0], results(done.model, False)[0])

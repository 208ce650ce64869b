"""A small model with what the rules of fusing by hand look for, as an ONNX file."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def demo_model(path: Path) -> Path:
    """Conv, norm, Relu, residual; a gate; LayerNormalization, MatMul and bias, GELU by Erf, Softmax."""
    draw = np.random.default_rng(0)
    weights, nodes = [], []

    def weight(name: str, *shape: int, positive: bool = False) -> str:
        values = draw.random(shape) + 0.5 if positive else draw.standard_normal(shape) / 4
        weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def node(kind: str, *inputs: str, **attributes: object) -> str:
        out = f"{kind.lower()}_{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [out], name=out, **attributes))
        return out

    def norm(x: str, number: int) -> str:
        parts = [weight(f"{p}{number}", 8, positive=p in "sv") for p in "sbmv"]
        return node("BatchNormalization", x, *parts)

    x = "x"
    for block in range(2):
        conv = node("Conv", x, weight(f"w{block}", 8, 8, 3, 3), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        inner = node("Relu", norm(conv, block))
        second = node(
            "Conv", inner, weight(f"u{block}", 8, 8, 1, 1), weight(f"c{block}", 8), kernel_shape=[1, 1]
        )
        x = node("Relu", node("Add", norm(second, 10 + block), x))
    gate = node("Sigmoid", node("GlobalAveragePool", x))
    x = node("Mul", x, gate)
    x = node("Reshape", x, constant(weights, "shape", [1, 8, 36]))
    for block in range(2):
        scale, shift = weight(f"ls{block}", 36, positive=True), weight(f"lb{block}", 36)
        y = node("LayerNormalization", x, scale, shift, axis=-1)
        y = node("Add", node("MatMul", y, weight(f"fc{block}", 36, 36)), weight(f"mb{block}", 36))
        erf = node("Erf", node("Div", y, scalar(weights, f"root{block}", 2**0.5)))
        y = node(
            "Mul",
            node("Mul", y, node("Add", erf, scalar(weights, f"one{block}", 1.0))),
            scalar(weights, f"h{block}", 0.5),
        )
        x = node("Add", node("Softmax", y, axis=-1), x)
    nodes.append(helper.make_node("Identity", [x], ["y"], name="out"))

    def value(name: str, *dims: int | str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

    graph = helper.make_graph(nodes, "demo", [value("x", 1, 8, 6, 6)], [value("y", 1, 8, 36)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


def constant(weights: list[onnx.TensorProto], name: str, numbers: list[int]) -> str:
    weights.append(numpy_helper.from_array(np.array(numbers, np.int64), name))
    return name


def scalar(weights: list[onnx.TensorProto], name: str, number: float) -> str:
    weights.append(numpy_helper.from_array(np.array(number, np.float32), name))
    return name

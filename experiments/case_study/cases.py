"""The cases: the paper's A, B and C as printed, and motifs whose time is that of moving bytes.

Each is an ONNX model with drawn weights, as every case of `grade time`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from grade.timing.cases import from_model
from grade.timing.pieces import Case

OPSET = 20
Shape = tuple[int, ...]


class Graph:
    """An ONNX graph that is written operator by operator; values are names."""

    def __init__(self) -> None:
        self.draw = np.random.default_rng(0)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.inputs: list[Any] = []

    def input(self, name: str, shape: Shape) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def weight(self, array: NDArray[Any] | float) -> str:
        name = f"weight{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def node(self, kind: str, *reads: str, **attributes: Any) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, reads, [name], name=name, **attributes))
        return name

    def conv_relu(self, x: str, inputs: int, outputs: int) -> str:
        """A convolution of 3 x 3 without bias, its weights drawn as PyTorch draws them, and Relu."""
        bound = (9 * inputs) ** -0.5
        weight = self.weight(self.draw.uniform(-bound, bound, (outputs, inputs, 3, 3)))
        return self.node("Relu", self.node("Conv", x, weight, kernel_shape=[3, 3], pads=[1, 1, 1, 1]))

    def row(self, length: int) -> str:
        """A weight for each element of a row, near 1."""
        return self.weight(self.draw.uniform(0.5, 1.5, length))

    def model(self, *outputs: str) -> Any:
        """The model; its results have the shape of its first input."""
        shape = [dim.dim_value for dim in self.inputs[0].type.tensor_type.shape.dim]
        found = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in outputs]
        graph = helper.make_graph(self.nodes, "case", self.inputs, found, self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        onnx.checker.check_model(made)
        return made


def case_a(shape: Shape) -> Any:
    """Five convolutions in a row."""
    g, c = Graph(), shape[1]
    x = g.input("x", shape)
    for _ in range(5):
        x = g.conv_relu(x, c, c)
    return g.model(x)


def case_b(shape: Shape) -> Any:
    """Two in a row, two side by side, and one that reads both."""
    g, c = Graph(), shape[1]
    x = g.conv_relu(g.input("x", shape), c, c)
    split = g.conv_relu(x, c, c)
    left, right = g.conv_relu(split, c, c), g.conv_relu(split, c, c)
    return g.model(g.conv_relu(g.node("Concat", left, right, axis=1), 2 * c, c))


def case_c(shape: Shape) -> Any:
    """A skip around two convolutions, and two after it."""
    g, c = Graph(), shape[1]
    before = g.conv_relu(g.node("Relu", g.input("x", shape)), c, c)
    inner = g.conv_relu(g.conv_relu(before, c, c), c, c)
    joined = g.conv_relu(g.node("Concat", inner, before, axis=1), 2 * c, c)
    return g.model(g.conv_relu(joined, c, c))


def norm_gelu_gate_residual(shape: Shape) -> Any:
    """x + gate * Gelu(LayerNormalization(x)), with a gate for each channel."""
    g, n = Graph(), shape[-1]
    x = g.input("x", shape)
    norm = g.node("LayerNormalization", x, g.row(n), g.row(n), axis=-1)
    return g.model(g.node("Add", x, g.node("Mul", g.node("Gelu", norm), g.row(n))))


def residual_norm(shape: Shape) -> Any:
    """The sum of a residual and its norm; both are read later."""
    g, n = Graph(), shape[-1]
    total = g.node("Add", g.input("x", shape), g.input("residual", shape))
    return g.model(total, g.node("LayerNormalization", total, g.row(n), g.row(n), axis=-1))


def gated_unit(shape: Shape) -> Any:
    """The gate of a SwiGLU: x * sigmoid(x) * y."""
    g = Graph()
    x, y = g.input("x", shape), g.input("y", shape)
    return g.model(g.node("Mul", g.node("Mul", x, g.node("Sigmoid", x)), y))


def gelu_written_out(shape: Shape) -> Any:
    """Gelu as exporters of old write it: x / sqrt(2), Erf, + 1, * x, / 2."""
    g = Graph()
    x = g.input("x", shape)
    erf = g.node("Erf", g.node("Div", x, g.weight(2**0.5)))
    return g.model(g.node("Mul", g.node("Mul", x, g.node("Add", erf, g.weight(1.0))), g.weight(0.5)))


def root_mean_square_norm(shape: Shape) -> Any:
    """RMSNorm as it is exported: Pow, ReduceMean, Add, Sqrt, Div, Mul."""
    g = Graph()
    x = g.input("x", shape)
    axes = numpy_helper.from_array(np.array([-1], np.int64), "axes")
    g.weights.append(axes)
    mean = g.node("ReduceMean", g.node("Pow", x, g.weight(2.0)), "axes", keepdims=1)
    root = g.node("Sqrt", g.node("Add", mean, g.weight(1e-6)))
    return g.model(g.node("Mul", g.node("Div", x, root), g.row(shape[-1])))


def masked_softmax(shape: Shape) -> Any:
    """Scores of attention: scaled, masked, Softmax."""
    g = Graph()
    x, mask = g.input("x", shape), g.input("mask", (shape[0], 1, 1, shape[-1]))
    scaled = g.node("Mul", x, g.weight(0.125))
    return g.model(g.node("Softmax", g.node("Add", scaled, mask), axis=-1))


def norm_residual_relu(shape: Shape) -> Any:
    """The end of a residual block: BatchNormalization, + residual, Relu."""
    g, c = Graph(), shape[1]
    norm = g.node("BatchNormalization", g.input("x", shape), g.row(c), g.row(c), g.row(c), g.row(c))
    return g.model(g.node("Relu", g.node("Add", norm, g.input("residual", shape))))


def squeeze_gate_residual(shape: Shape) -> Any:
    """The end of a squeeze-and-excitation block: x * gate of each channel, + residual, HardSwish written out."""
    g = Graph()
    gate = g.input("gate", (*shape[:2], 1, 1))
    total = g.node("Add", g.node("Mul", g.input("x", shape), gate), g.input("residual", shape))
    clipped = g.node("Clip", g.node("Add", total, g.weight(3.0)), g.weight(0.0), g.weight(6.0))
    return g.model(g.node("Div", g.node("Mul", total, clipped), g.weight(6.0)))


PAPER: dict[str, Callable[[Shape], Any]] = {"A": case_a, "B": case_b, "C": case_c}
MOVING: dict[str, Callable[[Shape], Any]] = {
    "norm, GELU, gate, residual": norm_gelu_gate_residual,
    "residual, norm": residual_norm,
    "gated unit (SwiGLU)": gated_unit,
    "GELU written out": gelu_written_out,
    "RMS norm": root_mean_square_norm,
    "scale, mask, softmax": masked_softmax,
    "batch norm, residual, ReLU": norm_residual_relu,
    "channel gate, residual, hard swish": squeeze_gate_residual,
}
IMAGES = {"batch norm, residual, ReLU", "channel gate, residual, hard swish"}
SCORES = {"scale, mask, softmax"}


def shape_of(name: str, sizes: dict[str, list[int]]) -> Shape:
    """The shape of a case, from the section of settings.toml for a device."""
    kind = (
        "paper" if name in PAPER else "images" if name in IMAGES else "scores" if name in SCORES else "rows"
    )
    return tuple(sizes[kind])


def made_case(name: str, sizes: dict[str, list[int]], device: torch.device) -> Case:
    shape = shape_of(name, sizes)
    text = " x ".join(map(str, shape))
    return from_model(name, (PAPER | MOVING)[name](shape), set(), shape[0], device, text)


def cut_case(path: Path, batch: int, device: torch.device) -> Case:
    """A part that find.py cut out of a model; its weights are drawn here."""
    model = onnx.load(path)
    notes = {entry.key: entry.value for entry in model.metadata_props}
    weights = set(filter(None, notes["weights"].split("\n")))
    about = f"as in {notes['graph']}"
    if batch > 1:
        model = enlarged(model, weights, batch)
        about += f", batch {batch}"
    return from_model(path.stem, model, weights, batch, device, about)


def enlarged(model: Any, weights: set[str], batch: int) -> Any:
    """A model of batch 1 for a larger one: the first size of its inputs, and of what it reshapes to, is multiplied."""
    for info in model.graph.input:
        dims = info.type.tensor_type.shape.dim
        if info.name not in weights and len(dims) > 1:
            dims[0].dim_value *= batch
    targets = {node.input[1] for node in model.graph.node if node.op_type in ("Reshape", "Expand")}
    holders = [(tensor.name, tensor) for tensor in model.graph.initializer]
    holders += [(n.output[0], a.t) for n in model.graph.node if n.op_type == "Constant" for a in n.attribute]
    for name, tensor in holders:
        if name in targets:
            sizes = numpy_helper.to_array(tensor).copy()
            if sizes.ndim == 1 and len(sizes) > 1 and sizes[0] > 0:
                sizes[0] *= batch
                tensor.CopyFrom(numpy_helper.from_array(sizes, tensor.name))
    del model.graph.value_info[:]
    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
    return onnx.shape_inference.infer_shapes(model)

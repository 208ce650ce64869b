"""A pattern as an ONNX model that passes the checker and runs: example shapes, seeded weights.

Operators that are not known here are calls of local functions, in a domain that says so; the model holds them, too.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.export.model_files import import_onnx
from grade.export.plan import PLACEHOLDER, SMALL_EXAMPLE, Example, Operands, Step, Value, plan
from grade.graphs import Pattern

OPSET, IR_VERSION = 21, 10  # read by runtimes of 2024 and later
PLACEHOLDERS = "grade.placeholder"  # the domain of the local functions
WINDOW = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "Conv": WINDOW,
    "ConvTranspose": WINDOW,
    "MaxPool": WINDOW,
    "AveragePool": WINDOW,
    "LayerNormalization": {"axis": -1},
    "GroupNormalization": {"num_groups": 1},
    "Softmax": {"axis": -1},
    "LogSoftmax": {"axis": -1},
    "Concat": {"axis": 1},
    "Transpose": {"perm": [0, 1, 3, 2]},
    "Resize": {"mode": "nearest"},
}
NO_COUNTERPART = ("Gemm",)  # takes matrices only


def onnx_model(
    pattern: Pattern,
    name: str = "motif",
    about: str = "",
    places: Operands = None,
    example: Example = SMALL_EXAMPLE,
) -> Any:
    """The model, an ``onnx.ModelProto``; it has been checked."""
    onnx = import_onnx()
    helper, kinds = onnx.helper, onnx.TensorProto
    steps = plan(pattern, places, example)
    draw = np.random.default_rng(0)
    nodes, weights, functions = [], [], {}
    for number, step in enumerate(steps.steps):
        given = [value.name for value in step.inputs]
        if step.clamp is not None:
            least, kept = f"{step.output.name}.least", f"{step.output.name}.clamped"
            weights.append(onnx.numpy_helper.from_array(np.array(1e-3, np.float32), least))
            nodes.append(helper.make_node("Clip", [given[step.clamp], least], [kept], name=f"{number}_clamp"))
            given[step.clamp] = kept
        if step.operator == PLACEHOLDER or step.operator in NO_COUNTERPART:
            function = f"{identifier(step.label)}_of_{len(given)}_placeholder"
            functions[function] = placeholder(helper, function, len(given))
            made = helper.make_node(function, given, [step.output.name], domain=PLACEHOLDERS)
            made.doc_string = f"PLACEHOLDER for {step.label}"
        else:
            extra = parameters(step, draw)
            names = [f"{step.output.name}.{i}" if array is not None else "" for i, array in enumerate(extra)]
            weights += [
                onnx.numpy_helper.from_array(array, label)
                for array, label in zip(extra, names, strict=True)
                if array is not None
            ]
            attributes = ATTRIBUTES.get(step.operator, {})
            made = helper.make_node(step.operator, [*given, *names], [step.output.name], **attributes)
        if not step.in_order:
            made.doc_string = "The order of the operands is not known."
        made.name = f"{number}_{identifier(step.label)}"
        nodes.append(made)

    def described(value: Value) -> Any:
        return helper.make_tensor_value_info(
            value.name, kinds.FLOAT, [example.batch, value.width, value.size, value.size]
        )

    graph = helper.make_graph(
        nodes,
        identifier(name),
        [described(value) for value in steps.inputs],
        [described(value) for value in steps.outputs],
        weights,
    )
    versions = [helper.make_opsetid("", OPSET)] + [helper.make_opsetid(PLACEHOLDERS, 1)] * bool(functions)
    model = helper.make_model(
        graph,
        opset_imports=versions,
        functions=list(functions.values()),
        producer_name="GraDE",
        ir_version=IR_VERSION,
    )
    model.doc_string = about or str(pattern)
    onnx.checker.check_model(model, full_check=True)
    return model


def parameters(step: Step, draw: np.random.Generator) -> list[NDArray[Any] | None]:
    """Weights and other constants that an operator takes after its inputs; None for one that is left out."""

    def ones(n: int) -> NDArray[np.float32]:
        return np.ones(n, np.float32)

    def zeros(n: int) -> NDArray[np.float32]:
        return np.zeros(n, np.float32)

    wide, size = step.output.width, step.output.size
    match step.operator:
        case "Conv" | "ConvTranspose":
            shape = [wide, step.inputs[0].width] if step.operator == "Conv" else [step.inputs[0].width, wide]
            scale = (9 * step.inputs[0].width) ** -0.5
            return [(draw.standard_normal((*shape, 3, 3)) * scale).astype(np.float32), zeros(wide)]
        case "BatchNormalization":
            return [ones(wide), zeros(wide), zeros(wide), ones(wide)]
        case "InstanceNormalization" | "GroupNormalization":
            return [ones(wide), zeros(wide)]
        case "LayerNormalization":
            return [ones(size), zeros(size)]
        case "Pow" if step.square:
            return [np.array(2, np.float32)]
        case "PRelu":
            return [np.full((wide, 1, 1), 0.25, np.float32)]
        case "Clip":
            return [np.array(0, np.float32), np.array(6, np.float32)]
        case "Reshape":
            return [np.zeros(4, np.int64)]  # 0 keeps a dimension
        case "Resize":
            factor = size / step.inputs[0].size
            return [None, np.array([1, 1, factor, factor], np.float32)]
        case "ReduceMean" | "ReduceSum" | "ReduceMax" | "ReduceMin":
            return [np.array([2, 3], np.int64)]
        case _:
            return []


def placeholder(helper: Any, name: str, inputs: int) -> Any:
    """A local function that adds up its inputs."""
    given = [f"x{i}" for i in range(inputs)]
    return helper.make_function(
        PLACEHOLDERS,
        name,
        given,
        ["y"],
        [helper.make_node("Sum", given, ["y"])],
        [helper.make_opsetid("", OPSET)],
    )


def identifier(text: str) -> str:
    """A text of any kind as a name that every ONNX tool takes."""
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "operator"

"""An occurrence of a model as the source code of an equivalent PyTorch module.

The model that `grade.export.cutting` cuts out is translated operator by operator: attributes, the order of operands and
shapes are the model's own. Weights are parameters of the right shapes; their values are written beside the code where
they are asked for.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from grade.export.example_values import FLOATS, example_of
from grade.export.model_files import import_onnx, reads_of, type_of
from grade.export.operator_call import DTYPES, Call, UntranslatableError
from grade.export.pytorch import indented, plain, stem
from grade.export.torch_helpers import HELPERS
from grade.export.torch_operators import OPERATORS, SEVERAL

INLINE = 16  # numbers of a constant that is written into the code


@dataclass(frozen=True)
class Translated:
    """A module's source, and the values that it takes from the model."""

    source: str
    parameters: dict[str, str]  # name in the module -> name of the initializer in the model
    inputs: tuple[str, ...]  # tensors of the model, in the order of the parameters of ``forward``
    outputs: tuple[str, ...]
    unknown: tuple[str, ...]  # operators that have no counterpart

    def weights(self, model: Any) -> bytes:
        """The parameters with the values that they have in the model, as a safetensors file."""
        onnx = import_onnx()
        tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        tensors |= {n.output[0]: n.attribute[0].t for n in model.graph.node if n.op_type == "Constant"}
        return save(
            {
                own: np.ascontiguousarray(onnx.numpy_helper.to_array(tensors[value]))
                for own, value in self.parameters.items()
            }
        )


@dataclass
class Writer:
    """The state while operators are written one by one."""

    model: Any
    weights: set[str]
    names: dict[str, str] = field(default_factory=dict)  # value -> expression
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)  # name in the module -> initializer
    tensors: dict[str, str] = field(default_factory=dict)  # name in the module -> a constant as code
    statistics: set[str] = field(default_factory=set)  # initializers that no gradient can reach
    shapes: dict[str, list[int | None]] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)  # value -> onnx.TensorProto.DataType
    helpers: set[str] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)  # values that something reads

    def fresh(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}{number}"
        self.taken.add(name)
        return name


def translate(model: Any, weights: set[str], name: str = "Motif", about: str = "") -> Translated:
    """Write the module.

    Parameters
    ----------
    model
        onnx.ModelProto of one graph, as `cut` makes it
    weights
        inputs of the model that are weights, to become parameters
    """
    onnx = import_onnx()
    graph = model.graph
    writer = Writer(model, set(weights), taken={"torch", "nn", "F", "self", "seeded"} | set(HELPERS))
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.type.WhichOneof("value") == "tensor_type":
            writer.kinds[info.name] = info.type.tensor_type.elem_type
            if info.type.tensor_type.HasField("shape"):
                dims = info.type.tensor_type.shape.dim
                writer.shapes[info.name] = [d.dim_value if d.dim_value > 0 else None for d in dims]
    for tensor in graph.initializer:
        writer.shapes[tensor.name], writer.kinds[tensor.name] = list(tensor.dims), tensor.data_type
        if int(np.prod(tensor.dims)) <= INLINE and tensor.data_type in DTYPES:
            writer.constants[tensor.name] = onnx.numpy_helper.to_array(tensor)
        else:
            writer.weights.add(tensor.name)
    writer.used = {value for node in graph.node for value in reads_of(node)} | {o.name for o in graph.output}
    inputs = [info.name for info in graph.input if info.name not in writer.weights]
    for place, value in enumerate(inputs, start=1):
        writer.names[value] = writer.fresh("x" if len(inputs) == 1 else f"x{place}")
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)
    lines = [line for node in graph.node for line in operator_lines(writer, node, opset)]
    outputs = [info.name for info in graph.output]
    results = [expression_of(writer, value) for value in outputs]
    source = module_source(writer, name, about, inputs, lines, results)
    return Translated(source, writer.parameters, tuple(inputs), tuple(outputs), tuple(writer.unknown))


def operator_lines(writer: Writer, node: Any, opset: int) -> list[str]:
    """The statements for one operator; none for a constant, which is written where it is used."""
    onnx = import_onnx()
    attributes = {a.name: attribute_value(onnx, a) for a in node.attribute}
    kind, results = type_of(node), [value for value in node.output if value in writer.used]
    if kind == "Constant" and not set(attributes) & {"sparse_value", "value_string", "value_strings"}:
        found = np.asarray(next(iter(attributes.values())))
        found = found.astype(np.float32) if found.dtype == np.float64 and "value" not in attributes else found
        value = node.output[0]
        writer.shapes[value] = list(found.shape)
        writer.kinds[value] = onnx.helper.np_dtype_to_tensor_dtype(found.dtype)
        if found.size <= INLINE:
            writer.constants[value] = found
        return []
    word = stem(kind.rpartition(":")[2])
    call = Call(
        inputs=[
            expression_of(writer, value, word, place) if value else None
            for place, value in enumerate(node.input)
        ],
        attributes=attributes,
        constants=[writer.constants.get(value) for value in node.input],
        ranks=[len(writer.shapes[value]) if value in writer.shapes else None for value in node.input],
        outputs=max(
            (place + 1 for place, value in enumerate(node.output) if value in writer.used), default=1
        ),
        opset=opset,
        helpers=writer.helpers,
    )
    given = [expression for expression in call.inputs if expression is not None]
    try:
        if kind not in OPERATORS or (call.outputs > 1 and kind not in SEVERAL):
            raise UntranslatableError
        expression, note = OPERATORS[kind](call), ""
    except (UntranslatableError, KeyError):
        writer.unknown.append(kind)
        expression, note = (
            f"placeholder({', '.join([repr(kind).encode('unicode_escape').decode(), *given])})",
            "  # PLACEHOLDER",
        )
    targets = []
    for place, value in enumerate(node.output[: call.outputs]):
        target = writer.fresh(word if call.outputs == 1 else f"{word}_{place}") if value in results else "_"
        writer.names[value] = target
        targets.append(target)
    return [f"{', '.join(targets)} = {expression}{note}"]


def attribute_value(onnx: Any, attribute: Any) -> Any:
    """The value of an attribute: numbers, lists, text, arrays."""
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return value


def expression_of(writer: Writer, value: str, word: str = "value", place: int = 0) -> str:
    """How the code names a value: a variable, a number, or a parameter that is made here."""
    if word == "batch_norm" and place in (3, 4):  # running mean and variance
        writer.statistics.add(value)
    if value in writer.names:
        return writer.names[value]
    if value in writer.constants:
        known = writer.constants[value]
        made = f"torch.tensor({literal(known)}, dtype={dtype_of(known)})"
        if not known.ndim or known.dtype.kind != "f":  # works on any device, or is a shape
            return made
        name = writer.fresh(f"{word}_constant")
        writer.tensors[name] = made
        writer.names[value] = f"self.{name}"
        return writer.names[value]
    role = {1: "weight", 2: "bias", 3: "mean", 4: "variance"}.get(place, f"operand_{place}")
    if word == "batch_norm":
        role = {1: "scale"}.get(place, role)
    name = writer.fresh(f"{word}_{role}")
    writer.parameters[name] = value
    writer.names[value] = f"self.{name}"
    return writer.names[value]


def literal(array: NDArray[Any]) -> str:
    """Nested lists, with infinities and NaN as Python writes them."""
    return re.sub(r"\b(inf|nan)\b", r'float("\1")', str(array.tolist()))


def dtype_of(array: NDArray[Any]) -> str:
    return "torch.bool" if array.dtype == np.bool_ else f"torch.{array.dtype}"


def module_source(
    writer: Writer, name: str, about: str, inputs: list[str], lines: list[str], results: list[str]
) -> str:
    """The whole file."""
    parameters = [parameter_line(writer, own, value) for own, value in writer.parameters.items()]
    parameters += [
        f'self.register_buffer("{own}", {made}, persistent=False)' for own, made in writer.tensors.items()
    ]
    arguments = ", ".join(["self", *(f"{writer.names[value]}: torch.Tensor" for value in inputs)])
    kind = "torch.Tensor" if len(results) == 1 else f"tuple[{', '.join(['torch.Tensor'] * len(results))}]"
    text = [
        f'"""{plain(about)}',
        "",
        "Written by GraDE: operators, attributes, the order of operands and shapes are those of the model.",
        "Weights have the model's shapes and seeded example values; load_state_dict takes real ones.",
        '"""',
        "",
        "import torch",
        "import torch.nn.functional as F",
        "from torch import nn",
        "",
    ]
    if writer.parameters:
        text += ["# Parameters of the module and the initializers of the model that they stand for."]
        text += [
            "INITIALIZERS = {",
            *(f'    "{own}": {json.dumps(value)},' for own, value in writer.parameters.items()),
            "}",
            "",
        ]
        text += ["", *SEEDED.strip("\n").split("\n"), ""]
    for helper in sorted(writer.helpers):
        text += ["", *HELPERS[helper].strip("\n").split("\n"), ""]
    if writer.unknown:
        text += ["", *STAND_IN.strip("\n").split("\n"), ""]
    text += ["", f"class {name}(nn.Module):"]
    if parameters:
        text += [
            "    def __init__(self) -> None:",
            "        super().__init__()",
            *indented(parameters, 8),
            "",
        ]
    returned = ", ".join(results)
    text += [f"    def forward({arguments}) -> {kind}:", *indented([*lines, f"return {returned}"], 8)]
    graph = writer.model.graph
    examples = [f"{example_of(graph, value, writer.shapes, writer.kinds)}," for value in inputs]
    text += ["", "", "def example_inputs() -> tuple[torch.Tensor, ...]:"]
    text += [
        '    """Inputs of the shapes of the model; dimensions that it leaves open have example sizes."""'
    ]
    text += ["    torch.manual_seed(0)", "    return (", *indented(examples, 8), "    )", ""]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(text))


def parameter_line(writer: Writer, own: str, value: str) -> str:
    """A parameter with example values: positive for variances and scales, so that no example is NaN."""
    shape = [size or 1 for size in writer.shapes.get(value, [])]
    kind = DTYPES.get(writer.kinds.get(value, 1), "torch.float32")
    if kind not in FLOATS:
        return f'self.register_buffer("{own}", torch.zeros({shape}, dtype={kind}))'
    positive = own.rstrip("0123456789").endswith(("variance", "scale"))
    made = f'seeded("{own}", {shape}, {kind}, positive={positive})'
    if value in writer.statistics:
        return f'self.register_buffer("{own}", {made})'
    return f"self.{own} = nn.Parameter({made})"


SEEDED = '''

def seeded(name: str, shape: list[int], dtype: torch.dtype, positive: bool) -> torch.Tensor:
    """Example values that are the same in every run."""
    generator = torch.Generator().manual_seed(sum(name.encode()))
    values = torch.rand(shape, generator=generator, dtype=torch.float32)
    fan = max(values[0].numel(), 1) if values.dim() > 1 else 1
    return (values + 0.5 if positive else (values - 0.5) / fan**0.5).to(dtype)
'''
STAND_IN = '''
def placeholder(operator: str, *inputs: torch.Tensor) -> torch.Tensor:
    """PLACEHOLDER: stands for an operator that has no counterpart here; put yours in its place."""
    raise NotImplementedError(f"{operator} has no counterpart in this export")
'''

"""Which operators become one kernel, and that kernel: chains of elements, norms and residuals around one full shape."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from grade.export.model_files import reads_of
from grade.export.translation import attribute_value
from grade.timing.kernel_source import (
    POINTWISE,
    ROWWISE,
    Kernel,
    Language,
    Operand,
    Segment,
    UnsupportedError,
    broadcast_strides,
    clipped,
    merged,
)
from grade.timing.pieces import Case

FEWEST = 2  # operators that are worth a kernel
LONGEST_ROW = 65_536  # elements of a row that a norm or softmax may have


def supported(case: Case, node: Any) -> bool:
    """Whether a kernel can compute an operator: its result has the full shape, its inputs broadcast to it."""
    if node.domain not in ("", "ai.onnx") or len([v for v in node.output if v]) != 1:
        return False
    kind, result = node.op_type, case.values[node.output[0]]
    read = [case.values.get(value) for value in node.input if value]
    if result.dtype != torch.float32 or result.numel() == 0 or result.dim() == 0:
        return False
    if any(tensor is not None and tensor.dtype != torch.float32 for tensor in read):
        return False
    if kind in ("Pow", "Clip"):
        return kind == "Clip" or (len(node.input) == 2 and number_of(case, node.input[1]) is not None)
    if kind == "ReduceMean":
        return last_axis_only(case, node) and result.shape[-1] == 1
    if kind in ROWWISE:
        axis = attributes_of(case, node).get("axis", -1)
        return axis in (-1, result.dim() - 1) and result.shape[-1] <= LONGEST_ROW and kind != "ReduceMean"
    if kind == "BatchNormalization":
        return all(value in case.weights for value in node.input[1:5])
    return kind in POINTWISE


def groups_of(case: Case, wanted: Sequence[Any]) -> list[list[Any]]:
    """Sets of some operators for one kernel each, in their order: connected, of one full shape, and convex."""
    nodes, among = case.nodes, {id(node) for node in wanted}
    producer = {value: number for number, node in enumerate(nodes) for value in node.output if value}
    sources = [[producer[v] for v in reads_of(node) if v in producer] for node in nodes]
    fits = [id(node) in among and supported(case, node) for node in nodes]
    group = {number: number for number in range(len(nodes)) if fits[number]}
    edges = [
        (source, number) for number in group for source in dict.fromkeys(sources[number]) if source in group
    ]
    joined = True
    while joined:  # again, since a mean along rows fits only once all of its readers are together
        joined = False
        for source, number in edges:
            if group[source] == group[number]:
                continue
            union = {n for n, g in group.items() if g in (group[source], group[number])}
            if one_shape(case, [nodes[n] for n in union]) and convex(union, sources, max(union)):
                target = group[source]
                for n in union:
                    group[n] = target
                joined = True
    found: dict[int, list[Any]] = {}
    for number, owner in sorted(group.items()):
        found.setdefault(owner, []).append(nodes[number])
    return [members for members in found.values() if len(members) >= FEWEST]


def one_shape(case: Case, nodes: Sequence[Any]) -> bool:
    """Whether all results have the full shape, or that shape with a last axis of 1 that stays inside."""
    shapes = {tuple(case.values[node.output[0]].shape) for node in nodes}
    full = max(shapes, key=lambda shape: (np.prod(shape), len(shape)))
    rows = (*full[:-1], 1)
    if shapes - {full, rows}:
        return False
    inside = {id(node) for node in nodes}
    small = {node.output[0] for node in nodes if tuple(case.values[node.output[0]].shape) != full}
    outside = {v for node in case.nodes if id(node) not in inside for v in reads_of(node)} | set(case.outputs)
    return not small & outside and (not small or full[-1] <= LONGEST_ROW)


def convex(members: set[int], sources: Sequence[Sequence[int]], last: int) -> bool:
    """Whether no path leaves the members and comes back."""
    reached: set[int] = set()  # nodes outside that some member reaches
    for number in range(min(members), last + 1):
        if number in members:
            if any(source in reached for source in sources[number]):
                return False
        elif any(source in members or source in reached for source in sources[number]):
            reached.add(number)
    return True


def make_kernel(
    case: Case, nodes: Sequence[Any], language: Language, values: dict[str, torch.Tensor], last: bool = False
) -> tuple[Kernel, list[str], list[str], dict[str, torch.Tensor]]:
    """(kernel, values that it reads, values that it writes, constants that it reads) for a group.

    Parameters
    ----------
    values
        example values in the layout in which the kernel will meet them
    last
        images have their channels last, so that the axes are gone through in that order
    """
    inside = {id(node) for node in nodes}
    made = {node.output[0] for node in nodes}
    outside = {v for node in case.nodes if id(node) not in inside for v in reads_of(node)} | set(case.outputs)
    writes = [node.output[0] for node in nodes if node.output[0] in outside] or [nodes[-1].output[0]]
    full = max((tuple(case.values[value].shape) for value in made), key=lambda s: (np.prod(s), len(s)))
    rowwise = any(node.op_type in ROWWISE for node in nodes)
    if last and (rowwise or len(full) != 4):
        raise UnsupportedError
    builder = Builder(case, language, values, full, made)
    for node in nodes:
        builder.add(node)
    if any(tuple(case.values[value].shape) != full for value in writes):
        raise UnsupportedError
    tensors = [builder.tensors[name] for name in builder.names]
    layout = [broadcast_strides(tensor, full) for tensor in tensors]
    strides = contiguous(full, last)
    layout += [strides] * len(writes)
    order = (0, 2, 3, 1) if last else tuple(range(len(full)))
    shape, found = merged([full[a] for a in order], [tuple(s[a] for a in order) for s in layout], rowwise)
    inputs = [Operand(f"in{n}", tuple(s)) for n, s in enumerate(found[: len(tensors)])]
    outputs = [
        (Operand(f"out{n}", tuple(s)), builder.variables[value])
        for n, (value, s) in enumerate(zip(writes, found[len(tensors) :], strict=True))
    ]
    kernel = Kernel(tuple(shape), inputs, outputs, builder.segments, rowwise)
    return kernel, builder.names, writes, builder.constants


def contiguous(shape: Sequence[int], last: bool) -> tuple[int, ...]:
    """Strides of a dense tensor, with channels last where that is asked for."""
    empty = torch.empty(tuple(shape), device="meta")
    return tuple((empty.contiguous(memory_format=torch.channels_last) if last else empty).stride())


class Builder:
    """Statements of a kernel, operator by operator."""

    def __init__(
        self,
        case: Case,
        language: Language,
        values: dict[str, torch.Tensor],
        full: tuple[int, ...],
        made: set[str],
    ) -> None:
        self.case, self.language, self.values, self.full, self.made = case, language, values, full, made
        self.segments = [Segment()]
        self.variables: dict[str, str] = {}  # value -> variable
        self.names: list[str] = []  # values and constants that are read, in the order of the arguments
        self.tensors: dict[str, torch.Tensor] = {}
        self.constants: dict[str, torch.Tensor] = {}
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def operand(self, value: str) -> str:
        """The variable, number or argument that a value is."""
        if value in self.variables:
            return self.variables[value]
        known = number_of(self.case, value)
        if known is not None:
            return self.language.number(known)
        if value in self.case.weights:
            array = self.case.onnx.numpy_helper.to_array(self.case.weights[value])
            return self.argument(value, torch.from_numpy(array.copy()), True)
        return self.argument(value, self.values[value], False)

    def argument(self, name: str, tensor: torch.Tensor, constant: bool) -> str:
        if name not in self.tensors:
            if tensor.dtype != torch.float32 or tensor.dim() > len(self.full):
                raise UnsupportedError
            self.names.append(name)
            self.tensors[name] = tensor
            if constant:
                self.constants[name] = tensor.to(self.case.device)
        return f"in{self.names.index(name)}_"

    def line(self, expression: str) -> str:
        name = self.fresh()
        self.segments[-1].lines.append((name, expression))
        return name

    def reduce(self, kind: str, expression: str) -> str:
        """Reduce over the row; later statements go to a new segment."""
        name = self.fresh()
        self.segments[-1].sums.append((name, kind, expression))
        return name

    def next_segment(self) -> None:
        self.segments.append(Segment())

    def scalar(self, expression: str) -> str:
        name = self.fresh()
        self.segments[-1].after.append((name, expression))
        return name

    def add(self, node: Any) -> None:
        attributes, kind, f = attributes_of(self.case, node), node.op_type, self.language
        if kind in ROWWISE:
            self.variables[node.output[0]] = self.row(node, attributes)
            return
        if kind == "BatchNormalization":
            scale, shift = folded_batch_norm(self.case, node)
            dims = (-1, *(1,) * (len(self.full) - 2))
            x = self.operand(node.input[0])
            a = self.argument(f"{node.output[0]}:scale", scale.reshape(dims), True)
            b = self.argument(f"{node.output[0]}:shift", shift.reshape(dims), True)
            self.variables[node.output[0]] = self.line(f"{x} * {a} + {b}")
            return
        if kind == "Clip":
            low, high = clip_bounds(self.case, node, attributes)
            expression = clipped(f, self.operand(node.input[0]), low, high)
        elif kind == "Pow":
            exponent, x = number_of(self.case, node.input[1]), self.operand(node.input[0])
            powers = {2.0: f"{x} * {x}", 3.0: f"{x} * {x} * {x}", 0.5: f("sqrt", x)}
            if exponent not in powers:
                raise UnsupportedError
            expression = powers[exponent]
        else:
            expression = POINTWISE[kind](
                f, [self.operand(value) for value in node.input if value], attributes
            )
        self.variables[node.output[0]] = self.line(expression)

    def row(self, node: Any, attributes: dict[str, Any]) -> str:
        """LayerNormalization, Softmax and ReduceMean along the last axis."""
        f, length = self.language, self.language.number(self.full[-1])
        x = self.operand(node.input[0])
        if tuple(self.case.values[node.input[0]].shape) != self.full:
            raise UnsupportedError
        if node.op_type == "Softmax":
            top = self.reduce("max", x)
            self.next_segment()
            power = self.line(f("exp", f"{x} - {top}"))
            total = self.reduce("sum", power)
            self.next_segment()
            return self.line(f"{power} / {total}")
        total = self.reduce("sum", x)
        mean = self.scalar(f"{total} / {length}")
        self.next_segment()
        if node.op_type == "ReduceMean":
            return mean
        squares = self.reduce("sum", f"({x} - {mean}) * ({x} - {mean})")
        spread = f"{squares} / {length} + {f.number(attributes.get('epsilon', 1e-5))}"
        scale = self.scalar(f"{f.number(1)} / {f('sqrt', spread)}")
        self.next_segment()
        line = f"({x} - {mean}) * {scale}"
        line = f"{line} * {self.operand(node.input[1])}"
        if len(node.input) > 2 and node.input[2]:
            line = f"{line} + {self.operand(node.input[2])}"
        return self.line(line)


def attributes_of(case: Case, node: Any) -> dict[str, Any]:
    found = {a.name: attribute_value(case.onnx, a) for a in node.attribute}
    if node.op_type == "Elu":
        found.setdefault("alpha", 1.0)
    return found


def number_of(case: Case, value: str) -> float | None:
    """The number that a weight of one element is."""
    tensor = case.weights.get(value)
    if tensor is None:
        return None
    array = case.onnx.numpy_helper.to_array(tensor)
    return float(array.reshape(-1)[0]) if array.size == 1 and array.dtype.kind in "fiu" else None


def clip_bounds(case: Case, node: Any, attributes: dict[str, Any]) -> tuple[float, float]:
    bounds = []
    for place, name, missing in ((1, "min", -3.4e38), (2, "max", 3.4e38)):
        if name in attributes:
            bounds.append(float(attributes[name]))
        elif place < len(node.input) and node.input[place]:
            known = number_of(case, node.input[place])
            if known is None:
                raise UnsupportedError
            bounds.append(known)
        else:
            bounds.append(missing)
    return bounds[0], bounds[1]


def last_axis_only(case: Case, node: Any) -> bool:
    attributes, rank = attributes_of(case, node), case.values[node.input[0]].dim()
    axes = attributes.get("axes")
    if axes is None and len(node.input) > 1 and node.input[1] in case.weights:
        axes = case.onnx.numpy_helper.to_array(case.weights[node.input[1]]).reshape(-1).tolist()
    return bool(attributes.get("keepdims", 1)) and axes is not None and list(axes) in ([-1], [rank - 1])


def folded_batch_norm(case: Case, node: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """(scale [C], shift [C]) equivalent to a batch norm in evaluation."""
    arrays = [
        case.onnx.numpy_helper.to_array(case.weights[value]).astype(np.float64) for value in node.input[1:5]
    ]
    scale, bias, mean, variance = arrays
    factor = scale / np.sqrt(variance + attributes_of(case, node).get("epsilon", 1e-5))
    return torch.from_numpy(factor).float(), torch.from_numpy(bias - mean * factor).float()

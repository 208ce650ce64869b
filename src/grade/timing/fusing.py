"""A case fused by hand, by rules that a kernel engineer would apply.

    Conv + BatchNormalization               the weights take the norm in
    Conv (+ BatchNormalization) + Relu      one call of oneDNN (CPU) or cuDNN (GPU)
    MatMul + Add of a constant              one call of the matrix library
    elements, norms along rows, residuals   one kernel (grade.timing.kernel_groups)

The rest runs operator by operator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (as everywhere)

from grade.export.model_files import reads_of
from grade.timing.kernel_groups import attributes_of, folded_batch_norm, groups_of, make_kernel
from grade.timing.kernel_source import CPP, TRITON, UnsupportedError
from grade.timing.native_kernels import UnavailableError, on_cpu, on_gpu
from grade.timing.pieces import Case, Piece, in_order


@dataclass(frozen=True)
class Fused:
    """A case as fewer calls, with the operators of each."""

    call: Callable[..., Any]
    parts: list[list[Any]]  # operators of each call
    rules: list[str]


def fuse(case: Case, channels_last: bool = False) -> Fused:
    """Apply all rules that fit; refuse a case that none fits."""
    parts, rules = partition(case)
    if not rules:
        raise UnavailableError("no rule fits its operators")
    values = {name: laid_out(tensor, channels_last) for name, tensor in case.values.items()}
    pieces = [piece_of(case, nodes, values, channels_last) for nodes in parts]
    return Fused(in_order(pieces, list(case.inputs), case.outputs), parts, sorted(set(rules)))


def laid_out(tensor: torch.Tensor, channels_last: bool) -> torch.Tensor:
    return (
        tensor.contiguous(memory_format=torch.channels_last)
        if channels_last and tensor.dim() == 4
        else tensor.contiguous()
    )


def partition(case: Case) -> tuple[list[list[Any]], list[str]]:
    """The operators by the call that computes them, in an order in which they can run, and the rules that were used."""
    nodes, rules = case.nodes, list[str]()
    readers: dict[str, list[Any]] = {}
    for node in nodes:
        for value in reads_of(node):
            readers.setdefault(value, []).append(node)
    taken: set[int] = set()
    parts: list[list[Any]] = []

    def only_reader(node: Any) -> Any:
        """The only reader of an operator's result."""
        found = readers.get(node.output[0], [])
        return found[0] if len(found) == 1 and node.output[0] not in case.outputs else None

    for node in nodes:
        part = [node]
        following = only_reader(node)
        if node.op_type == "Conv" and constant_weights(case, node) and rank_of(case, node) == 4:
            if (
                following is not None
                and following.op_type == "BatchNormalization"
                and constant_norm(case, following)
            ):
                part.append(following)
                following = only_reader(following)
            if following is not None and following.op_type == "Relu" and fused_relu(case, node):
                part.append(following)
        elif node.op_type == "MatMul" and following is not None and biased(case, node, following):
            part.append(following)
        if len(part) > 1:
            rules.append(" + ".join(each.op_type for each in part))
            parts.append(part)
            taken |= {id(each) for each in part}
    left = [node for node in nodes if id(node) not in taken]
    for group in groups_of(case, left):
        if kernel_fits(case, group):
            rules.append(f"one kernel for {' + '.join(each.op_type for each in group)}")
            parts.append(group)
            taken |= {id(each) for each in group}
    parts += [[node] for node in nodes if id(node) not in taken]
    return sorted_parts(case, parts), rules


def sorted_parts(case: Case, parts: list[list[Any]]) -> list[list[Any]]:
    """In an order in which every part comes after those that it reads."""
    owner = {value: n for n, part in enumerate(parts) for node in part for value in node.output if value}
    needs = [
        {owner[v] for node in part for v in reads_of(node) if v in owner and owner[v] != n}
        for n, part in enumerate(parts)
    ]
    place = {id(node): number for number, node in enumerate(case.nodes)}
    waiting = sorted(range(len(parts)), key=lambda n: min(place[id(node)] for node in parts[n]))
    done: set[int] = set()
    ordered = []
    while waiting:
        ready = next((n for n in waiting if needs[n] <= done), None)
        if ready is None:  # two of them wait for each other: one goes back to its operators
            largest = max(waiting, key=lambda n: len(parts[n]))
            others = [part for n, part in enumerate(parts) if n != largest]
            return sorted_parts(case, [*others, *([node] for node in parts[largest])])
        waiting.remove(ready)
        done.add(ready)
        ordered.append(parts[ready])
    return ordered


def constant_weights(case: Case, node: Any) -> bool:
    given = [value for value in node.input[1:] if value]
    attributes = attributes_of(case, node)
    pads = list(attributes.get("pads", [0] * 4))
    half = len(pads) // 2
    return (
        all(value in case.weights for value in given)
        and attributes.get("auto_pad", "NOTSET") in ("NOTSET", "VALID")
        and pads[:half] == pads[half:]
    )


def rank_of(case: Case, node: Any) -> int:
    return case.values[node.output[0]].dim()


def constant_norm(case: Case, node: Any) -> bool:
    return all(value in case.weights for value in node.input[1:5])


def fused_relu(case: Case, node: Any) -> bool:
    """Whether the library has a convolution that ends with a Relu."""
    if case.values[node.output[0]].dtype != torch.float32:
        return False
    if case.device.type == "cuda":
        return bool(torch.backends.cudnn.is_available())  # type: ignore[no-untyped-call]  # torch's
    here = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]  # torch's
    return bool(here) and hasattr(torch.ops.mkldnn, "_convolution_pointwise")


def biased(case: Case, node: Any, following: Any) -> bool:
    """MatMul by a constant matrix, then Add of a constant vector."""
    if following.op_type != "Add" or node.input[1] not in case.weights:
        return False
    if len(case.weights[node.input[1]].dims) != 2:
        return False
    others = [value for value in following.input if value != node.output[0]]
    return (
        len(others) == 1
        and others[0] in case.weights
        and list(case.weights[others[0]].dims) == [case.weights[node.input[1]].dims[1]]
    )


def kernel_fits(case: Case, group: Sequence[Any]) -> bool:
    try:
        make_kernel(case, group, CPP, case.values)
    except UnsupportedError:
        return False
    return True


def piece_of(case: Case, nodes: Sequence[Any], values: dict[str, torch.Tensor], channels_last: bool) -> Piece:
    """One part as one call."""
    kinds = tuple(node.op_type for node in nodes)
    if len(nodes) == 1:
        return case.piece(nodes)
    if kinds[0] == "Conv":
        return convolution(case, nodes, channels_last)
    if kinds == ("MatMul", "Add"):
        return linear(case, nodes)
    return kernel_piece(case, nodes, values, channels_last)


def array(case: Case, value: str) -> torch.Tensor:
    return torch.from_numpy(case.onnx.numpy_helper.to_array(case.weights[value]).copy()).to(case.device)


def convolution(case: Case, nodes: Sequence[Any], channels_last: bool) -> Piece:
    """Conv with its followers: the norm in its weights, the Relu in the call."""
    conv, attributes = nodes[0], attributes_of(case, nodes[0])
    weight = array(case, conv.input[1])
    bias = array(case, conv.input[2]) if len(conv.input) > 2 and conv.input[2] else None
    for node in nodes[1:]:
        if node.op_type == "BatchNormalization":
            scale, shift = (part.to(case.device) for part in folded_batch_norm(case, node))
            weight = weight * scale[:, None, None, None]
            bias = shift if bias is None else bias * scale + shift
    weight = laid_out(weight, channels_last)
    strides, dilations = list(attributes.get("strides", [1, 1])), list(attributes.get("dilations", [1, 1]))
    padding, groups = list(attributes.get("pads", [0] * 4))[:2], int(attributes.get("group", 1))
    reads, writes = (conv.input[0],), (nodes[-1].output[0],)
    kinds = tuple(node.op_type for node in nodes)
    if kinds[-1] != "Relu":

        def plain(x: torch.Tensor) -> torch.Tensor:
            return F.conv2d(x, weight, bias, strides, padding, dilations, groups)

        return Piece(plain, reads, writes, kinds)
    if case.device.type == "cuda":
        zero = torch.zeros(len(weight), device=case.device) if bias is None else bias

        def cudnn(x: torch.Tensor) -> torch.Tensor:
            return torch.cudnn_convolution_relu(x, weight, zero, strides, padding, dilations, groups)

        return Piece(cudnn, reads, writes, kinds)

    def onednn(x: torch.Tensor) -> Any:
        return torch.ops.mkldnn._convolution_pointwise(
            x, weight, bias, padding, strides, dilations, groups, "relu", [], ""
        )

    return Piece(onednn, reads, writes, kinds)


def linear(case: Case, nodes: Sequence[Any]) -> Piece:
    product, addition = nodes
    weight = array(case, product.input[1]).T.contiguous()
    bias = array(case, next(value for value in addition.input if value != product.output[0]))

    def run(x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, weight, bias)

    return Piece(run, (product.input[0],), (addition.output[0],), ("MatMul", "Add"))


def kernel_piece(
    case: Case, nodes: Sequence[Any], values: dict[str, torch.Tensor], channels_last: bool
) -> Piece:
    """A group of operators as one kernel."""
    gpu = case.device.type == "cuda"
    full = case.values[nodes[0].output[0]]
    last = (
        channels_last
        and full.dim() == 4
        and not any(node.op_type in ("LayerNormalization", "Softmax", "ReduceMean") for node in nodes)
    )
    placed = values if last else {name: tensor.contiguous() for name, tensor in case.values.items()}
    try:
        kernel, names, writes, constants = make_kernel(case, nodes, TRITON if gpu else CPP, placed, last)
    except UnsupportedError:
        raise UnavailableError("a kernel cannot take its operators") from None
    templates = [laid_out(case.values[value], last) for value in writes]
    call = (on_gpu if gpu else on_cpu)(kernel, templates)
    reads = tuple(name for name in names if name not in constants)
    strides = {name: placed[name].stride() for name in reads}

    def run(*given: torch.Tensor) -> Any:
        held = {
            name: tensor if tensor.stride() == strides[name] else laid_out(tensor, last)
            for name, tensor in zip(reads, given, strict=True)
        }
        held.update(constants)
        return call(*(held[name] for name in names))

    return Piece(run, reads, tuple(writes), tuple(node.op_type for node in nodes))

"""Bytes and operations of a case, and the limits of the machine: the roofline to compare latencies with.

    seconds >= max(bytes that enter and leave / copy bandwidth, operations of products / rate of the fastest product)

Counted are multiplications and additions of convolutions and matrix products, two for each pair. One operation for each
element of another operator's result is given beside it: it does not enter the bound.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (as everywhere)

from grade.costs.value_sizes import VIEWS
from grade.export.model_files import reads_of
from grade.timing.kernel_groups import attributes_of
from grade.timing.pieces import Case

LEAST_COPIED, MOST_COPIED = 1 << 16, 1 << 30  # bytes
SIDE = {"cpu": 512, "cuda": 8192}  # of the matrices whose product is timed
IMAGES = {"cpu": (1, 64, 56, 56), "cuda": (64, 256, 56, 56)}  # of the convolution of 3 x 3 that is timed


@dataclass(frozen=True)
class Work:
    """The work of one run of a case."""

    bytes_fused: int  # inputs, weights and outputs, each once
    bytes_apart: int  # bytes that the operators read and write one by one
    products: int  # operations of convolutions and matrix products
    elements: int  # one for each element that another operator computes


@dataclass(frozen=True)
class Machine:
    """The peak rates of the machine that ran the case, measured."""

    bandwidth: float  # bytes a second, read and written by a copy of as many bytes as the case moves
    rate: float  # operations a second of the faster of a matrix product and a convolution of 3 x 3

    def least_seconds(self, work: Work) -> float:
        return max(work.bytes_fused / self.bandwidth, work.products / self.rate)


def work_of(case: Case) -> Work:
    """Count the work of a case."""

    def size(value: str) -> int:
        if value in case.weights:
            return int(case.onnx.numpy_helper.to_array(case.weights[value]).nbytes)
        tensor = case.values[value]
        return tensor.numel() * tensor.element_size()

    apart = products = elements = 0
    weights: set[str] = set()
    for node in case.nodes:
        read = [value for value in reads_of(node) if value in case.values or value in case.weights]
        weights |= {value for value in read if value in case.weights and value not in case.values}
        if node.op_type in VIEWS:
            continue
        results = [value for value in node.output if value in case.values]
        apart += sum(map(size, read)) + sum(map(size, results))
        count = product_operations(case, node)
        products += count
        elements += 0 if count else sum(case.values[value].numel() for value in results)
    fused = sum(map(size, case.inputs)) + sum(map(size, weights)) + sum(map(size, case.outputs))
    return Work(fused, apart, products, elements)


def product_operations(case: Case, node: Any) -> int:
    """Multiplications and additions of a convolution or matrix product; 0 for others."""

    def shape(value: str) -> list[int]:
        return list(case.weights[value].dims) if value in case.weights else list(case.values[value].shape)

    if node.op_type == "Conv":
        return 2 * prod(shape(node.output[0])) * prod(shape(node.input[1])[1:])
    if node.op_type == "ConvTranspose":
        return 2 * prod(shape(node.input[0])) * prod(shape(node.input[1])[1:])
    if node.op_type == "MatMul":
        return 2 * prod(shape(node.output[0])) * shape(node.input[0])[-1]
    if node.op_type == "Gemm":
        inner = shape(node.input[0])[0 if attributes_of(case, node).get("transA", 0) else 1]
        return 2 * prod(shape(node.output[0])) * inner
    return 0


class Peaks:
    """Benchmarks of the machine, timed in turns with the strategies: a copy of as many bytes as the case moves, a
    matrix product, and a convolution, which may be faster.
    """

    def __init__(self, work: Work, device: torch.device) -> None:
        self.copied = min(max(work.bytes_fused // 2, LEAST_COPIED), MOST_COPIED)
        self.side = SIDE.get(device.type, SIDE["cpu"])
        source = torch.ones(self.copied // 4, device=device)
        target = torch.empty_like(source)
        factor = torch.ones(self.side, self.side, device=device)
        product = torch.empty_like(factor)
        images = torch.ones(IMAGES.get(device.type, IMAGES["cpu"]), device=device)
        images = images.contiguous(memory_format=torch.channels_last)
        kernel = torch.ones(images.shape[1], images.shape[1], 3, 3, device=device)
        self.operations = {
            "product": 2 * self.side**3,
            "convolution": 2 * images.numel() * images.shape[1] * 9,
        }
        self.runs: dict[str, Callable[[], object]] = {
            "copy": lambda: target.copy_(source),
            "product": lambda: torch.mm(factor, factor, out=product),
            "convolution": lambda: F.conv2d(images, kernel, padding=1),
        }

    def machine(self, seconds: dict[str, list[float]]) -> Machine:
        """The machine by the quickest samples, since a roofline is an upper limit."""
        rate = max(count / min(seconds[name]) for name, count in self.operations.items())
        return Machine(2 * (self.copied // 4 * 4) / min(seconds["copy"]), rate)


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)

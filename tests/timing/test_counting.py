"""Bytes and operations against counts by hand."""

import torch

from grade.timing.roofline import LEAST_COPIED, Machine, Peaks, Work, work_of
from tests.timing.test_kernels import case_of


def test_elements() -> None:
    case = case_of([("Relu", ["x"], "r", {}), ("Add", ["r", "x"], "y", {})], {"x": (2, 3)})
    # One by one: Relu reads and writes 24 bytes each, Add reads 24 twice and writes 24.
    assert work_of(case) == Work(bytes_fused=48, bytes_apart=120, products=0, elements=12)


def test_products() -> None:
    conv = case_of(
        [("Conv", ["x", "w"], "y", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "group": 2})],
        {"x": (2, 4, 5, 5), "w": (6, 2, 3, 3)},
    )
    assert work_of(conv).products == 2 * (2 * 6 * 5 * 5) * (2 * 3 * 3)
    strided = case_of(
        [("Conv", ["x", "w"], "y", {"strides": [2, 2]})], {"x": (1, 3, 8, 8), "w": (4, 3, 2, 2)}
    )
    assert work_of(strided).products == 2 * (4 * 4 * 4) * (3 * 2 * 2)
    assert work_of(strided).bytes_fused == 4 * (3 * 64 + 4 * 12 + 4 * 16)
    product = case_of([("MatMul", ["x", "w"], "y", {})], {"x": (2, 5, 7), "w": (7, 3)})
    assert work_of(product).products == 2 * (2 * 5 * 3) * 7
    gemm = case_of([("Gemm", ["x", "w"], "y", {"transA": 1})], {"x": (7, 5), "w": (7, 3)})
    assert work_of(gemm).products == 2 * (5 * 3) * 7
    spread = case_of(
        [("ConvTranspose", ["x", "w"], "y", {"kernel_shape": [2, 2]})], {"x": (1, 3, 4, 4), "w": (3, 5, 2, 2)}
    )
    assert work_of(spread).products == 2 * (3 * 4 * 4) * (5 * 2 * 2)


def test_views_move_nothing() -> None:
    case = case_of([("Flatten", ["x"], "f", {}), ("Relu", ["f"], "y", {})], {"x": (2, 3, 4)})
    assert work_of(case).bytes_apart == 2 * 96


def test_the_roofline() -> None:
    machine = Machine(bandwidth=100.0, rate=10.0)
    assert machine.least_seconds(Work(50, 80, 20, 0)) == 2.0
    assert machine.least_seconds(Work(500, 800, 20, 0)) == 5.0
    peaks = Peaks(Work(1, 1, 0, 0), torch.device("cpu"))
    assert peaks.copied == LEAST_COPIED
    found = peaks.machine({"copy": [2.0, 1.0], "product": [1.0], "convolution": [1e9]})
    assert found == Machine(2.0 * LEAST_COPIED, 2.0 * peaks.side**3)

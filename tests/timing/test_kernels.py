"""Kernels written for a group of operators, against PyTorch: every operator, broadcasts, layouts, both languages."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch
from onnx import TensorProto, helper

from grade.timing.fusing import fuse
from grade.timing.kernel_groups import groups_of, make_kernel
from grade.timing.kernel_source import CPP, POINTWISE, TRITON, kernel_triton, merged
from grade.timing.measuring import difference
from grade.timing.native_kernels import on_cpu, on_gpu
from grade.timing.pieces import Case

SHAPES = [(2, 6, 5, 7), (3, 300), (40_000,), (1, 1, 9)]


def case_of(
    nodes: list[tuple[str, list[str], str, dict]], inputs: dict[str, tuple[int, ...]], opset: int = 20
) -> Case:
    """A case from (operator, inputs, output, attributes); its inputs are positive."""
    torch.manual_seed(1)
    tensors = {name: torch.rand(shape) + 0.5 for name, shape in inputs.items()}
    made = [helper.make_node(kind, reads, [out], **attributes) for kind, reads, out, attributes in nodes]
    graph = helper.make_graph(
        made,
        "test",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(nodes[-1][2], TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return Case("test", model, tensors)


def check(case: Case, last: bool = False, triton: bool = False) -> None:
    (group,) = groups_of(case, case.nodes)
    assert len(group) == len(case.nodes)
    values = {
        name: tensor.contiguous(memory_format=torch.channels_last) if last and tensor.dim() == 4 else tensor
        for name, tensor in case.values.items()
    }
    kernel, names, writes, constants = make_kernel(case, group, TRITON if triton else CPP, values, last)
    call = (on_gpu if triton else on_cpu)(kernel, [values[value] for value in writes])
    results = call(*(constants.get(name, values.get(name)) for name in names))
    assert difference(results, [case.values[value] for value in writes]) < 2e-6


@pytest.mark.parametrize("kind", sorted(POINTWISE))
def test_every_operator(kind: str) -> None:
    two = kind in ("Add", "Sub", "Mul", "Div", "Max", "Min")
    nodes = [
        ("Neg", ["x"], "n", {}),
        (kind, ["n", "z"] if two else ["n"], "m", {}),
        ("Add", ["m", "x"], "y", {}),
    ]
    if kind in ("Log", "Sqrt"):
        nodes[0] = ("Abs", ["x"], "n", {})
    check(case_of(nodes, {"x": (2, 3, 5, 7), "z": (3, 1, 1)} if two else {"x": (2, 3, 5, 7)}))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("other", ["full", "channel", "row", "one"])
def test_broadcasts(shape: tuple[int, ...], other: str) -> None:
    shapes = {"full": shape, "channel": (shape[1], *(1,) * (len(shape) - 2)) if len(shape) > 1 else shape}
    shapes |= {"row": shape[-1:], "one": (1,)}
    nodes = [("Sigmoid", ["x"], "s", {}), ("Mul", ["s", "z"], "m", {}), ("Sub", ["m", "x"], "y", {})]
    case = case_of(nodes, {"x": shape, "z": shapes[other]})
    check(case)
    if len(shape) == 4:
        check(case, last=True)


NORM = [
    ("Add", ["x", "r"], "a", {}),
    ("LayerNormalization", ["a", "s", "b"], "n", {"axis": -1, "epsilon": 1e-5}),
    ("Gelu", ["n"], "g", {}),
    ("Mul", ["g", "x"], "m", {}),
    ("Add", ["m", "a"], "y", {}),
]
SOFTMAX = [
    ("Mul", ["x", "r"], "a", {}),
    ("Softmax", ["a"], "p", {"axis": -1}),
    ("Sub", ["p", "a"], "y", {}),
]


RMS_NORM = [
    ("Mul", ["x", "x"], "p", {}),
    ("ReduceMean", ["p"], "m", {"axes": [-1], "keepdims": 1}),
    ("Sqrt", ["m"], "q", {}),
    ("Div", ["x", "q"], "d", {}),
    ("Mul", ["d", "s"], "y", {}),
]


def test_a_mean_is_joined_with_what_it_is_the_mean_of() -> None:
    check(case_of(RMS_NORM, {"x": (4, 5, 33), "s": (33,)}, opset=17))


@pytest.mark.parametrize("shape", [(4, 5, 33), (2, 3, 4, 8), (1, 700)])
def test_rows(shape: tuple[int, ...]) -> None:
    check(case_of(NORM, {"x": shape, "r": shape, "s": shape[-1:], "b": shape[-1:]}))
    check(case_of(SOFTMAX, {"x": shape, "r": shape}))


def test_masks_of_infinities_survive() -> None:
    case = case_of(
        [("Add", ["x", "r"], "a", {}), ("Softmax", ["a"], "y", {"axis": -1})], {"x": (2, 9), "r": (2, 9)}
    )
    mask = torch.zeros(2, 9)
    mask[:, 4:] = float("-inf")
    case.inputs["r"] = mask
    case.find_values()
    check(case)


def test_a_value_that_others_read_is_written() -> None:
    nodes = [
        ("Relu", ["x"], "r", {}),
        ("Add", ["r", "x"], "a", {}),
        ("Transpose", ["r"], "t", {}),
        ("MatMul", ["t", "a"], "y", {}),
    ]
    case = case_of(nodes, {"x": (6, 6)})
    fused = fuse(case)
    assert [len(part) for part in fused.parts] == [2, 1, 1]
    assert difference(list(fused.call(*case.inputs.values())), case.results()) < 2e-6


def test_a_group_that_would_wait_for_itself_is_not_made() -> None:
    """Relu -> Transpose -> Add with Relu -> Add: the path through Transpose leaves the group and comes back."""
    nodes = [
        ("Relu", ["x"], "r", {}),
        ("Transpose", ["r"], "t", {}),
        ("Add", ["r", "t"], "a", {}),
        ("Relu", ["a"], "y", {}),
    ]
    case = case_of(nodes, {"x": (6, 6)})
    assert [[node.op_type for node in group] for group in groups_of(case, case.nodes)] == [["Add", "Relu"]]
    fused = fuse(case)
    assert difference(list(fused.call(*case.inputs.values())), case.results()) < 2e-6


def test_merged_axes() -> None:
    assert merged((2, 1, 3), [(3, 3, 1), (0, 0, 1)], False) == ([2, 3], [[3, 1], [0, 1]])
    assert merged((1, 1), [(1, 1)], False) == ([1], [[1]])
    assert merged((2, 3), [(3, 1)], True) == ([2, 3], [[3, 1]])


def test_the_triton_source_is_python() -> None:
    case = case_of(NORM, {"x": (4, 5, 33), "r": (4, 5, 33), "s": (33,), "b": (33,)})
    kernel = make_kernel(case, case.nodes, TRITON, case.values)[0]
    source = kernel_triton(kernel)
    compile(source, "kernel", "exec")
    assert "GRID = (2,)" in source  # 20 rows, 16 of 64 elements in a program
    assert "ELEMENTS = 1024" in source


def interpreted() -> None:
    """The same kernels by Triton's interpreter."""
    for shape in ((2, 3, 4, 5), (70,), (1500,)):
        nodes = [("Sigmoid", ["x"], "s", {}), ("HardSwish", ["s"], "m", {}), ("Tanh", ["m"], "y", {})]
        check(case_of(nodes, {"x": shape}), triton=True)
    nodes = [("Sigmoid", ["x"], "s", {}), ("Mul", ["s", "z"], "m", {}), ("Sub", ["m", "x"], "y", {})]
    for other in ((1,), (3, 1, 1), (2, 3, 1, 1), (5,), (4, 5), (1, 3, 4, 5)):
        case = case_of(nodes, {"x": (2, 3, 4, 5), "z": other})
        check(case, triton=True)
        check(case, last=True, triton=True)
    for shape in ((4, 33), (3, 1100), (2, 3, 4, 8), (40, 49), (1, 1)):
        row = shape[-1:]
        check(case_of(NORM, {"x": shape, "r": shape, "s": row, "b": row}), triton=True)
        check(case_of(RMS_NORM, {"x": shape, "s": row}, opset=17), triton=True)
        for other in (shape, row, (*shape[:-1], 1)):
            check(case_of(SOFTMAX, {"x": shape, "r": other}), triton=True)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
def test_triton_kernels_in_its_interpreter() -> None:
    program = "from tests.timing.test_kernels import interpreted; interpreted()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

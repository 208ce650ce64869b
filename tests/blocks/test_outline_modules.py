"""PyTorch source of outlined models: it runs, and computes what onnxruntime computes."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper

from grade.blocks.outline import outline
from grade.export.outline_modules import module_source
from grade.export.outlines import write_outline
from grade.settings import OutlineSettings
from tests.blocks.test_outline import LIGHT, results, stack, written
from tests.blocks.test_outline_sizes import WITH_SIZES, convolutions, handed_on


def loaded(path: Path) -> tuple[Any, str]:
    """(module with the model's weights, source)."""
    done = outline(path)
    source = module_source(done, "A test.")
    space: dict[str, Any] = {}
    exec(compile(source, "model.py", "exec"), space)
    module = space["load"](str(path)) if "load" in space else space["Model"]().eval()  # without weights
    assert not module.training
    return module, source


def inputs_of(model: onnx.ModelProto) -> list[torch.Tensor]:
    """The same as `results` gives to onnxruntime."""
    known = {tensor.name for tensor in model.graph.initializer}
    found = []
    for value in (v for v in model.graph.input if v.name not in known):
        shape = [d.dim_value or 2 for d in value.type.tensor_type.shape.dim]
        rng = np.random.default_rng(len(value.name))
        found.append(torch.from_numpy(rng.random(shape).astype(np.float32)))
    return found


def test_a_stack_is_a_loop_over_layers(tmp_path: Path) -> None:
    path = written(stack(6), tmp_path / "stack.onnx")
    module, source = loaded(path)
    assert "for _ in range(6))" in source
    assert "for layer in self.layers:" in source
    assert source.count("(nn.Module)") == 2
    with torch.no_grad():
        found = module(*inputs_of(onnx.load(path)))
    np.testing.assert_allclose(found, results(onnx.load(path), False)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shared", [False, True])
def test_weights_have_their_places(tmp_path: Path, shared: bool) -> None:
    path = written(stack(3, shared=shared), tmp_path / "stack.onnx")
    module, _ = loaded(path)
    names = set(module.state_dict())
    assert len([name for name in names if name.startswith("layers.")]) == len(names)
    assert {name.split(".")[1] for name in names} == {"0", "1", "2"}


@pytest.mark.parametrize(
    "name",
    [
        "bvlc_alexnet",
        "squeezenet",
        "resnet50",
        "shufflenet",
        "vgg19",
        "densenet121",
        "zfnet512",
    ],
)
def test_light_models(name: str) -> None:
    path = next(path for path in LIGHT if path.stem == f"light_{name}")
    model = onnx.load(path)
    module, source = loaded(path)
    assert "# PLACEHOLDER" not in source
    assert len(source.split("\n")) < 100 + 2 * len(model.graph.node)
    with torch.no_grad():
        found = module(*inputs_of(model))
    np.testing.assert_allclose(found, results(model, False)[0], rtol=1e-3, atol=1e-5)


def test_values_that_are_handed_on_need_no_line(tmp_path: Path) -> None:
    before = stack(3)
    before.graph.node[-1].output[0] = "last"
    before.graph.node.append(onnx.helper.make_node("Identity", ["last"], ["x3"]))
    path = written(before, tmp_path / "stack.onnx")
    module, source = loaded(path)
    assert "identity" not in source
    with torch.no_grad():
        found = module(*inputs_of(onnx.load(path)))
    np.testing.assert_allclose(found, results(onnx.load(path), False)[0], rtol=1e-5, atol=1e-6)


def test_functions_of_a_model_are_inlined(tmp_path: Path) -> None:
    """Also those of an outline; their constants are weights of the module."""
    before = stack(4, shared=True)
    outline(written(before, tmp_path / "stack.onnx"), tmp_path / "outlined.onnx")
    settings = OutlineSettings(model=tmp_path / "outlined.onnx", out=tmp_path / "model.py", to="pytorch")
    done = write_outline(settings)
    assert done.placeholders == ()
    space: dict[str, Any] = {}
    exec(compile((tmp_path / "model.py").read_text(), "model.py", "exec"), space)
    module = space["load"](str(tmp_path / "outlined.onnx"))
    with torch.no_grad():
        found = module(*inputs_of(before))
    np.testing.assert_allclose(found, results(before, False)[0], rtol=1e-5, atol=1e-6)


def test_operators_without_a_counterpart_are_named(tmp_path: Path, run: Any) -> None:
    before = stack(3)
    before.graph.node.add(op_type="Strange", domain="far", input=["x3"], output=["y"])
    before.opset_import.add(domain="far", version=1)
    before.graph.output[0].name = "y"
    written(before, tmp_path / "stack.onnx")
    code, out, _ = run("outline", "stack.onnx", "--to", "pytorch", "--out", "model.py")
    assert code == 0
    assert "Operators without a counterpart, marked PLACEHOLDER: 1 far::Strange" in out
    assert "placeholder('far::Strange'" in (tmp_path / "model.py").read_text()


def test_the_command_writes_a_file(tmp_path: Path) -> None:
    path = written(stack(3), tmp_path / "stack.onnx")
    write_outline(OutlineSettings(model=path, out=tmp_path / "model.py", to="pytorch"))
    compile((tmp_path / "model.py").read_text(), "model.py", "exec")


def assert_computes(before: onnx.ModelProto, path: Path) -> str:
    """The module computes what the model does; its source."""
    module, source = loaded(written(before, path))
    assert "# PLACEHOLDER" not in source
    with torch.no_grad():
        found = module(*inputs_of(before))
    np.testing.assert_allclose(found, results(before, False)[0], rtol=1e-4, atol=1e-6)
    return source


@pytest.mark.parametrize("groups", [False, True])
def test_sizes_are_arguments_of_a_layer(tmp_path: Path, groups: bool) -> None:
    source = assert_computes(convolutions(WITH_SIZES, groups), tmp_path / "model.onnx")
    more = ", groups=4" if groups else ""
    assert f"nn.Conv2d(4, 4, kernel, stride=stride, padding=padding{more}, bias=False)" in source
    assert "(kernel=5, stride=2, padding=2)" in source


def test_computed_weights_with_other_strides(tmp_path: Path) -> None:
    before = convolutions(WITH_SIZES)
    for node in [node for node in before.graph.node if node.op_type == "Conv"]:
        place = list(before.graph.node).index(node)
        before.graph.node.insert(
            place, helper.make_node("Tanh", [node.input[1]], [f"{node.output[0]}.weight"])
        )
        node.input[1] = f"{node.output[0]}.weight"
    source = assert_computes(before, tmp_path / "model.onnx")
    assert "stride=self.stride" in source


def test_inputs_that_are_one_value_in_the_first_occurrence_only(tmp_path: Path) -> None:
    """The first block adds its own input, the others that of the model."""
    nodes, value = [], "x"
    for i in range(4):
        nodes += [
            helper.make_node("Tanh", [value], [f"t{i}"]),
            helper.make_node("Sin", [f"t{i}"], [f"s{i}"]),
            helper.make_node("Neg", [f"s{i}"], [f"n{i}"]),
            helper.make_node("Sub", [f"n{i}", "x"], [f"x{i + 1}"]),
        ]
        value = f"x{i + 1}"
    info = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in ("x", value)]
    graph = helper.make_graph(nodes, "shared", info[:1], info[1:])
    before = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    source = assert_computes(before, tmp_path / "model.onnx")
    assert "def forward(self, x1: torch.Tensor, x2: torch.Tensor)" in source


def test_a_product_and_a_bias_are_a_linear_layer(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    nodes, weights, value = [], [], "x"
    for i, (rows, columns) in enumerate([(8, 16), (16, 16), (16, 4)]):
        weights += [
            numpy_helper.from_array(rng.random((rows, columns), np.float32), f"w{i}"),
            numpy_helper.from_array(rng.random(columns, np.float32), f"b{i}"),
        ]
        nodes += [
            helper.make_node("MatMul", [value, f"w{i}"], [f"m{i}"]),
            helper.make_node("Add", [f"b{i}", f"m{i}"] if i else [f"m{i}", f"b{i}"], [f"x{i + 1}"]),
        ]
        value = f"x{i + 1}"
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 8])],
        [
            helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, [2, 4]),
            helper.make_tensor_value_info("b0", onnx.TensorProto.FLOAT, [16]),
        ],
        weights,
    )
    before = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    module, source = loaded(written(before, tmp_path / "model.onnx"))
    assert [layer for layer in module.children() if isinstance(layer, torch.nn.Linear)] == list(
        module.children()
    )
    assert " @ " not in source
    with torch.no_grad():
        found = module(*inputs_of(before))
    for one, other in zip(found, results(before, False), strict=True):
        np.testing.assert_allclose(one.detach(), other, rtol=1e-5)


def test_weights_that_are_handed_on(tmp_path: Path) -> None:
    source = assert_computes(handed_on(5), tmp_path / "model.onnx")
    assert "for _ in range(5)" in source
    assert "identity" not in source


def test_source_is_short_and_indexes_as_python_does(tmp_path: Path) -> None:
    """Slice and Squeeze with known numbers, numbers of one element, and the weights of a loop in one line each."""
    nodes, tensors = (
        [],
        [
            numpy_helper.from_array(np.array([1, 0]), "starts"),
            numpy_helper.from_array(np.array([2, 2**62]), "ends"),
            numpy_helper.from_array(np.array([2, 1]), "axes"),
            numpy_helper.from_array(np.array([1, 2]), "steps"),
            numpy_helper.from_array(np.array([2]), "two"),
            numpy_helper.from_array(np.array([0.5], np.float32), "half"),
        ],
    )
    rng = np.random.default_rng(0)
    for i in range(4):
        tensors.append(numpy_helper.from_array(rng.random((6, 6), np.float32), f'h{{"\u00e9{i + 2}.w'))
        nodes += [
            helper.make_node("MatMul", [f"x{i}", tensors[-1].name], [f"y{i}"]),
            helper.make_node("Tanh", [f"y{i}"], [f"z{i}"]),
            helper.make_node("Mul", [f"z{i}", "half"], [f"m{i}"]),
            helper.make_node("Add", [f"m{i}", f"x{i}"], [f"x{i + 1}"]),
        ]
    nodes += [
        helper.make_node("Slice", ["x4", "starts", "ends", "axes", "steps"], ["s"]),
        helper.make_node("Squeeze", ["s", "two"], ["out"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x0", onnx.TensorProto.FLOAT, [2, 5, 6])],
        [helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, None)],
        tensors,
    )
    before = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    source = assert_computes(before, tmp_path / "model.onnx")
    assert "[:, ::2, 1:2]" in source
    assert ".squeeze(2)" in source
    assert "* 0.5" in source
    assert 'layers.{i}.linear.weight": f"h{{\\"\\xe9{i + 2}.w" for i in range(4)}' in source


def test_einsum_and_gather_elements(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Einsum", ["x", "x"], ["product"], equation="bik, bjk -> bij"),
        helper.make_node("GatherElements", ["product", "index"], ["out"], axis=2),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 4, 6])],
        [helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array([[[0, -1], [3, 2], [-4, 1]]]), "index")],
    )
    before = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert_computes(before, tmp_path / "model.onnx")

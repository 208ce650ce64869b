"""PyTorch source of outlined models: it runs, and computes what onnxruntime computes."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper

from grade.blocks.outline import outline
from grade.export.outline_modules import module_source
from grade.export.outlines import write_outline
from grade.settings import OutlineSettings
from tests.blocks.test_outline import LIGHT, results, stack, written


def loaded(path: Path) -> tuple[Any, str]:
    """(module with the model's weights, source)."""
    done = outline(path)
    source = module_source(done, "A test.")
    space: dict[str, Any] = {}
    exec(compile(source, "model.py", "exec"), space)
    graph = done.onnx_graph.model.graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    tensors |= {
        n.output[0]: numpy_helper.to_array(n.attribute[0].t) for n in graph.node if n.op_type == "Constant"
    }
    module = space["Model"]().eval()
    state = {name: torch.from_numpy(tensors[value].copy()) for name, value in space["INITIALIZERS"].items()}
    module.load_state_dict(state, strict=True)
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


def test_the_command_writes_a_file(tmp_path: Path) -> None:
    path = written(stack(3), tmp_path / "stack.onnx")
    write_outline(OutlineSettings(model=path, out=tmp_path / "model.py", to="pytorch"))
    compile((tmp_path / "model.py").read_text(), "model.py", "exec")

"""Outlined models against the models that they were made from."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from grade import InputError, cli
from grade.blocks.outline import outline
from tests.blocks.meaning import Meaning
from tests.onnx_models import branching, calling

LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("light_*.onnx"))


def stack(layers: int, shared: bool = False, opset: int = 17) -> onnx.ModelProto:
    """Layers of LayerNormalization, a product with weights, Gelu by hand, and a residual; the same eps everywhere."""
    rng = np.random.default_rng(0)
    nodes, weights, value = [], [], "x"
    for i in range(layers):
        scale, bias, matrix = f"layer.{i}.scale", f"layer.{i}.bias", f"layer.{0 if shared else i}.w"
        weights += [numpy_helper.from_array(rng.random(8, np.float32), name) for name in (scale, bias)]
        if i == 0 or not shared:
            weights.append(numpy_helper.from_array(rng.random((8, 8), np.float32) / 8, matrix))
        nodes += [
            helper.make_node("LayerNormalization", [value, scale, bias], [f"n{i}"], f"norm{i}", epsilon=1e-5),
            helper.make_node("MatMul", [f"n{i}", matrix], [f"m{i}"], f"mul{i}"),
            helper.make_node(
                "Constant", [], [f"half{i}"], value=numpy_helper.from_array(np.float32(0.5)), name=f"c{i}"
            ),
            helper.make_node("Mul", [f"m{i}", f"half{i}"], [f"h{i}"]),
            helper.make_node("Tanh", [f"h{i}"], [f"t{i}"]),
            helper.make_node("Add", [value, f"t{i}"], [f"x{i + 1}"], f"add{i}"),
        ]
        value = f"x{i + 1}"
    graph = helper.make_graph(
        nodes,
        "stack",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["batch", 8])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    helper.set_model_props(model, {"author": "somebody"})
    model.producer_name = "a test"
    return model


def written(model: onnx.ModelProto, path: Path) -> Path:
    onnx.save(model, path)
    return path


def results(model: onnx.ModelProto, optimised: bool, folder: Path | None = None) -> list[np.ndarray]:
    """What onnxruntime computes on inputs that depend on their names and shapes only."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
    source = str(folder) if folder else model.SerializeToString()
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    feeds = {}
    for value in session.get_inputs():
        shape = [size if isinstance(size, int) and size > 0 else 2 for size in value.shape]
        kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}
        rng = np.random.default_rng(len(value.name))
        feeds[value.name] = rng.random(shape).astype(kinds[value.type])
    return session.run(None, feeds)


def assert_same(before: onnx.ModelProto, after: onnx.ModelProto, check: bool = True) -> None:
    """The outline is valid, and inlined it is the model again."""
    if check:  # the checker looks for external data in the present folder
        onnx.checker.check_model(after)
    inlined = onnx.inliner.inline_local_functions(after)
    assert not inlined.functions
    meaning = Meaning()
    assert meaning.of(before) == meaning.of(inlined)
    assert [v.SerializeToString() for v in before.graph.input] == [
        v.SerializeToString() for v in after.graph.input
    ]
    assert [v.SerializeToString() for v in before.graph.output] == [
        v.SerializeToString() for v in after.graph.output
    ]
    assert list(before.opset_import) == [o for o in after.opset_import if o.domain != "grade.blocks"]
    assert list(before.metadata_props) == list(after.metadata_props)
    assert before.producer_name == after.producer_name


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_models(path: Path, flat: bool) -> None:
    before, done = onnx.load(path), outline(path, flat=flat)
    assert_same(before, done.model)
    assert len(done.model.graph.node) <= len(before.graph.node) / 2
    calls = [
        node for function in done.model.functions for node in function.node if node.domain == "grade.blocks"
    ]
    if flat:
        assert not calls
    elif path.stem == "light_resnet50":
        assert calls


@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet", "light_inception_v1"])
def test_light_models_compute_the_same(name: str) -> None:
    path = next(path for path in LIGHT if path.stem == name)
    after = outline(path).model
    for one, other in zip(results(onnx.load(path), False), results(after, False), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(results(onnx.load(path), True), results(after, True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_a_stack_is_one_function_with_its_weights_as_inputs(tmp_path: Path) -> None:
    before = stack(6)
    done = outline(written(before, tmp_path / "stack.onnx"), tmp_path / "out.onnx")
    after = onnx.load(tmp_path / "out.onnx")
    assert_same(before, after)
    assert [node.op_type for node in after.graph.node] == [done.functions[0].name] * 6
    assert [node.output[0] for node in after.graph.node] == [f"x{i}" for i in range(1, 7)]
    function = after.functions[0]
    # the constant 0.5 is the same everywhere and lies inside; names are those that the weights share
    assert sorted(function.input) == ["layer.bias", "layer.scale", "layer.w", "x"]
    assert "Constant" in [node.op_type for node in function.node]
    for optimised in (False, True):
        np.testing.assert_allclose(results(before, optimised)[0], results(after, optimised)[0], rtol=1e-5)
    np.testing.assert_array_equal(results(before, False)[0], results(after, False)[0])


def test_names_and_notes_in_a_function_hold_for_all_its_occurrences(tmp_path: Path) -> None:
    before = stack(3)
    for node in before.graph.node:
        node.doc_string = f"of {node.output[0]}"
        for key, value in (("layer", node.output[0]), ("kind", node.op_type)):
            node.metadata_props.add(key=key, value=value)
        node.name = f"/layer.{node.output[0][1:]}/{node.op_type}"
    function = outline(written(before, tmp_path / "stack.onnx")).model.functions[0]
    inside = [node for node in function.node if node.op_type != "Constant"]
    assert [node.name for node in inside] == [f"layer.{node.op_type}" for node in inside]
    assert not any(node.doc_string for node in inside)
    notes = [[(entry.key, entry.value) for entry in node.metadata_props] for node in inside]
    assert notes == [[("kind", node.op_type)] for node in inside]


def test_operators_of_a_function_do_not_share_a_name(tmp_path: Path) -> None:
    """The common part of their names would be the same; onnxruntime refuses that."""
    before = stack(3)
    for number, node in enumerate(before.graph.node):
        node.name = f"/layer/{number}"
    after = outline(written(before, tmp_path / "stack.onnx")).model
    names = [node.name for function in after.functions for node in function.node if node.name]
    assert len(names) == len(set(names))
    np.testing.assert_array_equal(results(before, False)[0], results(after, False)[0])


def test_a_weight_that_is_the_same_everywhere_lies_in_the_function(tmp_path: Path) -> None:
    before = stack(4, shared=True)
    after = outline(written(before, tmp_path / "stack.onnx")).model
    assert_same(before, after)
    assert len(after.functions[0].input) == 3
    assert "layer.0.w" not in {tensor.name for tensor in after.graph.initializer}
    np.testing.assert_array_equal(results(before, False)[0], results(after, False)[0])


def test_external_data_is_neither_read_nor_moved(tmp_path: Path) -> None:
    before = stack(3)
    path = tmp_path / "stack.onnx"
    onnx.save(stack(3), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").rename(tmp_path / "elsewhere.bin")  # no reading now
    outline(path, tmp_path / "out.onnx")
    (tmp_path / "elsewhere.bin").rename(tmp_path / "weights.bin")
    stored = onnx.load(tmp_path / "out.onnx", load_external_data=False)
    assert_same(onnx.load(path, load_external_data=False), stored, check=False)
    assert all(tensor.data_location == TensorProto.EXTERNAL for tensor in stored.graph.initializer)
    onnx.checker.check_model(str(tmp_path / "out.onnx"))
    np.testing.assert_array_equal(results(before, False)[0], results(stored, False, tmp_path / "out.onnx")[0])
    (tmp_path / "far").mkdir()
    with pytest.raises(InputError, match="data in other files"):
        outline(path, tmp_path / "far/out.onnx")


def test_defaults_of_inputs_stay_inputs(tmp_path: Path) -> None:
    """An initializer that is an input, too, may be replaced by the caller: it is no constant."""
    before = stack(4, shared=True)
    before.graph.input.append(helper.make_tensor_value_info("layer.0.w", TensorProto.FLOAT, [8, 8]))
    after = outline(written(before, tmp_path / "stack.onnx")).model
    assert_same(before, after)
    assert "layer.0.w" in {tensor.name for tensor in after.graph.initializer}
    assert len(after.functions[0].input) == 4


@pytest.mark.parametrize("make", [branching, calling])
def test_bodies_and_functions_are_left_as_they_are(make: Any, tmp_path: Path) -> None:
    before = make()
    after = outline(written(before, tmp_path / "model.onnx")).model
    onnx.checker.check_model(after)
    meaning = Meaning()
    assert meaning.of(onnx.inliner.inline_local_functions(before)) == meaning.of(
        onnx.inliner.inline_local_functions(after)
    )


def test_bodies_that_stay_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    path = written(branching(), tmp_path / "model.onnx")
    monkeypatch.setattr(sys, "argv", ["grade", "outline", str(path), "--out", str(tmp_path / "out.onnx")])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code
    assert "(If, Loop, Scan); their insides are not outlined." in capsys.readouterr().out


def test_what_a_body_reads_stays_outside(tmp_path: Path) -> None:
    """A branch reads the middle of a layer: that layer is not hidden in a function."""
    before = stack(4)
    branch = helper.make_graph(
        [helper.make_node("Neg", ["t1"], ["b"])],
        "branch",
        [],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, [2, 8])],
    )
    before.graph.input.append(helper.make_tensor_value_info("flag", TensorProto.BOOL, []))
    before.graph.node.append(helper.make_node("If", ["flag"], ["y"], then_branch=branch, else_branch=branch))
    before.graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8]))
    after = outline(written(before, tmp_path / "stack.onnx")).model
    assert_same(before, after)
    assert "t1" in {text for node in after.graph.node for text in node.output}
    for one, other in zip(results(before, False), results(after, False), strict=True):
        np.testing.assert_array_equal(one, other)


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    """Random operators of few kinds on few constants, in copies, with several outputs."""
    kinds = ["Relu", "Neg", "Add", "Sub", "Mul", "Split"]
    block = [
        (draw(st.sampled_from(kinds)), draw(st.integers(0, 9)), draw(st.integers(0, 9)), draw(st.booleans()))
        for _ in range(draw(st.integers(1, 6)))
    ]
    nodes, values = [], ["x"]
    for copy in range(draw(st.integers(1, 4))):
        for i, (kind, one, two, constant) in enumerate(block):
            name = f"v{copy}.{i}"
            first = values[-1 - one % len(values)]
            second = f"c{two % 3}" if constant else values[-1 - two % len(values)]
            if kind == "Split":
                nodes.append(helper.make_node("Split", [first], [name, f"{name}.b"], axis=0))
                nodes.append(helper.make_node("Concat", [f"{name}.b", name], [f"{name}.c"], axis=0))
                values.append(f"{name}.c")
                continue
            inputs = [first] if kind in ("Relu", "Neg") else [first, second]
            nodes.append(helper.make_node(kind, inputs, [name]))
            values.append(name)
    outputs = draw(st.lists(st.sampled_from(values[1:]), min_size=1, max_size=3, unique=True))
    constants = [numpy_helper.from_array(np.full(4, i % 2 + 0.5, np.float32), f"c{i}") for i in range(3)]
    graph = helper.make_graph(
        nodes,
        "random",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in outputs],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@given(models(), st.booleans())
@settings(deadline=None, max_examples=150)
def test_random_models(tmp_path_factory: pytest.TempPathFactory, before: onnx.ModelProto, flat: bool) -> None:
    path = written(before, tmp_path_factory.mktemp("random") / "model.onnx")
    after = outline(path, flat=flat).model
    assert_same(before, after)
    for one, other in zip(results(before, False), results(after, False), strict=True):
        np.testing.assert_array_equal(one, other)


def test_blocks_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    written(stack(4), tmp_path / "stack.onnx")

    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["grade", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return int(stop.value.code or 0)

    assert call("blocks", "stack.onnx", "--out", "kept") == 0
    names = json.loads((tmp_path / "kept/names.json").read_text())
    (tmp_path / "kept/names.json").write_text(json.dumps(dict.fromkeys(names, "TheLayer")))
    assert call("blocks", "stack.onnx", "--out", "kept") == 0
    capsys.readouterr()
    assert call("outline", "stack.onnx", "--blocks", "kept", "--out", "out.onnx", "--json") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert json.loads(captured.out)["calls"] == 4
    assert [function.name for function in onnx.load(tmp_path / "out.onnx").functions] == ["TheLayer"]


def test_bad_input_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = written(stack(3), tmp_path / "stack.onnx")
    outline(path, tmp_path / "out.onnx")
    for given_path, out, message in [
        (tmp_path / "out.onnx", tmp_path / "again.onnx", "functions of the domain grade.blocks already"),
        (path, path, "is the model itself"),
        (tmp_path / "none.onnx", tmp_path / "again.onnx", "cannot be read"),
    ]:
        with pytest.raises(InputError, match=message):
            outline(given_path, out)
    (tmp_path / "broken.onnx").write_bytes(b"not a model")
    with pytest.raises(InputError, match="not a valid ONNX model"):
        outline(tmp_path / "broken.onnx", tmp_path / "again.onnx")
    twice, lost = stack(3), stack(3)
    twice.graph.node.append(helper.make_node("Relu", ["x"], ["m0"]))
    lost.graph.output[0].name = "nothing"
    for model, message in [
        (twice, "'m0' is computed twice"),
        (lost, "nothing computes its output 'nothing'"),
    ]:
        with pytest.raises(InputError, match=message):
            outline(written(model, tmp_path / "invalid.onnx"), tmp_path / "again.onnx")
    assert not (tmp_path / "again.onnx").exists()


def test_a_model_without_operators(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [],
        "empty",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
    )
    before = helper.make_model(graph)
    assert outline(written(before, tmp_path / "empty.onnx")).model == before

"""Occurrences taken out of models: what is cut out and translated computes what the model computes there."""

import csv
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import grade
from grade import GraphSet, InputError
from grade.export.formats import export
from grade.export.occurrences import Occurrences, occurrences_of
from grade.export.translation import translate
from grade.graphs.storage import load_graph_set
from grade.mine import mine
from grade.settings import ReadSettings
from grade.sources import load
from grade.sources.building import build_graph_set
from grade.verify import Verifier, read_patterns
from tests.onnx_models import LIGHT, branching, save

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402 (after the skip)

from tests.export.real_models import RealModel, imported  # noqa: E402 (after the skip)
from tests.export.torch_definitions import export_all  # noqa: E402 (after the skip)

CLOSE = 1e-4  # of the largest value; sums of thousands of products differ in the sixth digit


def block() -> Any:
    """Attention and LayerNorm by hand, a convolution with uneven pads, a split: where order and attributes matter."""
    rng = np.random.default_rng(3)

    def weight(name: str, *shape: int) -> Any:
        return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32) / 4, name)

    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "wq"], ["q"], name="query"),
        node("MatMul", ["x", "wk"], ["k"], name="key"),
        node("Transpose", ["k"], ["kt"], name="turn", perm=[0, 2, 1]),
        node("MatMul", ["q", "kt"], ["s"], name="scores"),
        node("Softmax", ["s"], ["p"], name="soft", axis=-1),
        node("MatMul", ["p", "x"], ["a"], name="mix"),
        node("ReduceMean", ["a"], ["m"], name="mean", axes=[-1], keepdims=1),
        node("Sub", ["a", "m"], ["d"], name="centre"),
        node("Pow", ["d", "two"], ["d2"], name="square"),
        node("ReduceMean", ["d2"], ["v"], name="variance", axes=[-1], keepdims=1),
        node("Add", ["v", "eps"], ["ve"], name="stable"),
        node("Sqrt", ["ve"], ["sd"], name="root"),
        node("Div", ["d", "sd"], ["n"], name="norm"),
        node("Conv", ["n", "wc", "bc"], ["c"], name="conv", kernel_shape=[3], pads=[2, 1], group=2),
        node("Split", ["c"], ["left", "right"], name="halves", axis=1),
        node("Identity", ["left"], ["same"], name="nothing"),
        node("Sub", ["same", "right"], ["out"], name="difference"),
    ]
    graph = helper.make_graph(
        nodes,
        "block",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 6, 8])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 3, 9])],
        [
            weight("wq", 8, 8),
            weight("wk", 8, 8),
            weight("wc", 6, 3, 3),
            weight("bc", 6),
            numpy_helper.from_array(np.array(2, np.float32), "two"),
            numpy_helper.from_array(np.array(1e-5, np.float32), "eps"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GraphSet]:
    folder = tmp_path_factory.mktemp("models")
    save(block(), folder / "block.onnx")
    build_graph_set([str(folder / "block.onnx")], folder / "set", workers=1)
    return folder / "block.onnx", load_graph_set(folder / "set")


def found_in(graphs: GraphSet, text: str) -> Occurrences:
    given = read_patterns(text, graphs.node_vocabulary, graphs.edge_vocabulary)[0].pattern
    return Occurrences(graphs, given, 100)  # type: ignore[arg-type]  # a pattern or a query


def test_names_and_tensors_of_an_occurrence(blocks: tuple[Path, GraphSet]) -> None:
    path, graphs = blocks
    found = found_in(graphs, "MatMul#1 -> Softmax -> MatMul#2")
    assert (len(found), found.complete, found.notes) == (1, True, [])
    occurrence = found[0]
    assert set(occurrence.nodes) == {"scores", "soft", "mix"}
    assert [graphs.node_vocabulary.index(kind) for kind in occurrence.types] == list(found.pattern.node_types)
    assert (occurrence.inputs, occurrence.outputs) == (["q", "kt", "x"], ["a"])
    assert set(occurrence.producers) == {"query", "turn"}
    assert set(occurrence.consumers) == {"mean", "centre"}
    assert Path(str(occurrence.file)).samefile(path)


def test_every_part_of_a_block_computes_what_the_block_computes(
    blocks: tuple[Path, GraphSet], tmp_path: Path
) -> None:
    path, graphs = blocks
    model = RealModel(path, graphs)
    for number, nodes in enumerate(model.occurrences(4, 12) + model.occurrences(9, 12)):
        assert model.check_onnx(nodes, values=bool(number % 2)) < CLOSE
        found = model.check_torch(nodes, tmp_path)
        assert found is not None
        assert found < CLOSE


def test_the_order_of_operands_is_that_of_the_model(blocks: tuple[Path, GraphSet], tmp_path: Path) -> None:
    """LayerNorm: Sub takes the mean as its second operand, Div the root."""
    path, graphs = blocks
    run = tmp_path / "run"
    found = mine(graphs, k=5, out=run, top=100, contains=["Sqrt", "Sub", "Div"], all=True)
    number = next(m.id for m in found.motifs if {"Sub", "Pow"} <= set(m.pattern.type_names))
    made = export(run, number, "pytorch", tmp_path / "norm.py", graphs=graphs)
    assert made.occurrence is not None
    code = made.file.read_text()
    assert re.search(r"sub = (mat_mul|x1) - x\d", code)  # the mean comes second, from outside
    assert re.search(r"divide\(sub, sqrt\)", code)
    assert not np.isnan(examples(code, tmp_path, f"Motif{number}")).any()
    assert not made.reason

    # With the file gone, the pattern alone keeps the order that the set knows, and says what it does not know.
    hidden = path.with_suffix(".gone")
    path.rename(hidden)
    try:
        alone = export(run, number, "pytorch", tmp_path / "alone.py", graphs=graphs)
        assert "is not there" in alone.reason
        code = alone.file.read_text()
        assert "order of the operands is not known" not in code
        assert not np.isnan(examples(code, tmp_path, f"Motif{number}")).any()
    finally:
        hidden.rename(path)


def examples(code: str, folder: Path, name: str) -> np.ndarray:
    module = imported(code, folder)
    found = getattr(module, name)()(*module.example_inputs())
    found = found if isinstance(found, tuple) else (found,)
    return np.concatenate([value.detach().numpy().ravel() for value in found])


def test_left_out_operators_come_along(tmp_path: Path) -> None:
    """The set drops Identity; what is cut out has it where it lies between two operators of the occurrence."""
    save(block(), tmp_path / "block.onnx")
    graphs = load(tmp_path / "block.onnx")
    model = RealModel(tmp_path / "block.onnx", graphs)
    names = [graphs.node_names[i] for i in range(graphs.nodes)]  # type: ignore[index]  # this set has names
    nodes = sorted(names.index(name) for name in ("halves", "difference"))
    made = model.cut(nodes, values=True).model
    kept = "nothing" in names
    assert [n.name for n in made.graph.node] == (
        ["halves", "difference"] if kept else ["halves", "nothing", "difference"]
    )


def test_files_of_occurrences(blocks: tuple[Path, GraphSet], tmp_path: Path) -> None:
    _, graphs = blocks
    found = found_in(graphs, "MatMul -> Softmax")
    found.write("jsonl", tmp_path / "where.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "where.jsonl").read_text().splitlines()]
    assert [set(row["nodes"]) for row in rows] == [{"scores", "soft"}]
    found.write("csv", tmp_path / "where.csv")
    with (tmp_path / "where.csv").open() as file:
        assert json.loads(next(csv.DictReader(file))["outputs"]) == ["p"]
    [model] = found.write("onnx", tmp_path / "cut")
    assert [n.op_type for n in onnx.load(model).graph.node] == ["MatMul", "Softmax"]
    with pytest.raises(InputError, match="no format 'xml' for occurrences; known: jsonl, csv, onnx"):
        found.write("xml", tmp_path / "cut")
    with pytest.raises(InputError, match="is a file; give a folder"):
        found.write("onnx", tmp_path / "where.csv")


def test_a_changed_or_missing_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "block.onnx"
    save(block(), path)
    build_graph_set([str(path)], tmp_path / "set", workers=1)
    graphs = load_graph_set(tmp_path / "set")
    path.write_bytes(path.read_bytes() + b"\x00\x00")
    found = found_in(graphs, "MatMul -> Softmax")
    with pytest.raises(InputError, match=r"block\.onnx has changed since the set was built"):
        found.cut(0)
    assert found[0].inputs is None
    assert len(found.notes) == 1
    path.unlink()
    with pytest.raises(InputError, match=r"block\.onnx that .* came from is not there"):
        found_in(graphs, "MatMul -> Softmax").cut(0)
    mini = load("zoo-mini")
    with pytest.raises(InputError, match="did not come from an ONNX file"):
        found_in(mini, "Conv -> Relu").cut(0)


def test_bodies_go_with_the_operator_that_holds_them(tmp_path: Path) -> None:
    save(branching(), tmp_path / "branching.onnx")
    graphs = load(tmp_path / "branching.onnx")
    found = found_in(graphs, "Add -> If -> Sub") if "If" in graphs.node_vocabulary else None
    assert found is not None
    assert len(found)
    made = found.cut(0).model
    assert [node.op_type for node in made.graph.node] == ["If", "Sub"]
    with pytest.raises(InputError, match="reaches into a body of If, Loop or Scan"):
        found_in(graphs, "Relu -> Add").cut(0)


def test_occurrences_that_cannot_be_cut_out_do_not_keep_the_others_back(tmp_path: Path) -> None:
    """One ReLU is read in two bodies, and by an operator beside it: only the last pair is a model of its own."""
    save(branching(), tmp_path / "branching.onnx")
    found = found_in(load(tmp_path / "branching.onnx"), "Relu -> *")
    assert sorted(row.types[1] if row.types[0] == "Relu" else row.types[0] for row in found) == [
        "Add",
        "Mul",
        "Sub",
    ]
    written = found.write("onnx", tmp_path / "cut")
    assert [{node.op_type for node in onnx.load(model).graph.node} for model in written] == [{"Relu", "Sub"}]
    assert found.notes[-1].startswith(
        "2 of 3 occurrences cannot be cut out, the first because: The occurrence reaches"
    )
    with pytest.raises(InputError, match="reaches into a body"):
        found_in(load(tmp_path / "branching.onnx"), "Relu -> Add").write("onnx", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def normalised(folder: Path) -> Path:
    """Conv -> BatchNormalization -> Relu; the scale comes from ConstantOfShape, as in light models."""
    rng = np.random.default_rng(4)
    weights = {"w": (24, 3, 3, 3), "mean": (24,), "variance": (24,), "shift": (24,)}
    node = helper.make_node
    graph = helper.make_graph(
        [
            node("Conv", ["x", "w"], ["c"], name="conv", kernel_shape=[3, 3]),
            node(
                "ConstantOfShape",
                ["channels"],
                ["scale"],
                value=helper.make_tensor("v", TensorProto.FLOAT, [1], [2]),
            ),
            node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"], name="norm"),
            node("Relu", ["n"], ["y"], name="relu"),
        ],
        "normalised",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 24, 6, 6])],
        [
            *(numpy_helper.from_array(rng.random(s).astype(np.float32), n) for n, s in weights.items()),
            numpy_helper.from_array(np.array([24]), "channels"),
        ],
    )
    path = folder / "normalised.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8), path)
    return path


def test_an_exported_module_can_be_trained(tmp_path: Path) -> None:
    """Statistics of normalisation are buffers: no gradient can reach them."""
    graphs = load(normalised(tmp_path), ReadSettings(fold=True))
    found = mine(graphs, k=3, out=tmp_path / "run", all=True)
    made = export(tmp_path / "run", found.motifs[0].id, "pytorch", tmp_path / "net.py", graphs=graphs)
    module = imported(made.file.read_text(), tmp_path)
    motif = module.Motif1()
    inputs = [value.requires_grad_() for value in module.example_inputs()]
    motif(*inputs).sum().backward()
    assert {name for name, _ in motif.named_parameters()} == {"conv_weight", "batch_norm_bias"}
    assert {name for name, _ in motif.named_buffers()} == {"batch_norm_mean", "batch_norm_variance"}
    assert all(value.grad is not None for value in [*inputs, *motif.parameters()])


def test_example_inputs_fit_where_shapes_are_inputs(tmp_path: Path) -> None:
    """A shape, pads and bounds that are computed outside of the part: the examples give the shapes of the model."""
    node, info = helper.make_node, helper.make_tensor_value_info
    nodes = [
        node("Relu", ["sizes"], ["positive"], name="shape"),
        node("Cast", ["positive"], ["whole"], name="cast", to=TensorProto.INT64),
        node("Reshape", ["x", "whole"], ["r"], name="reshape"),
        node("Cast", ["width"], ["pads"], name="width", to=TensorProto.INT64),
        node("Pad", ["r", "pads"], ["p"], name="pad", mode="reflect"),
        node("Slice", ["p", "begin", "end"], ["y"], name="slice"),
    ]
    ints = {name: info(name, TensorProto.INT64, [3]) for name in ("begin", "end")}
    graph = helper.make_graph(
        nodes,
        "shapes",
        [
            info("x", TensorProto.FLOAT, ["batch", 12, 8]),
            info("sizes", TensorProto.FLOAT, [3]),
            info("width", TensorProto.INT32, [6]),
            *ints.values(),
        ],
        [info("y", TensorProto.FLOAT, [None, None, None])],
        value_info=[info("r", TensorProto.FLOAT, ["batch", 6, 16])],
    )
    save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8),
        tmp_path / "shapes.onnx",
    )
    graphs = load(tmp_path / "shapes.onnx")
    made, _ = found_in(graphs, "Cast#1 -> Reshape -> Pad -> Slice; Cast#2 -> Pad").first_cut()
    module = imported(translate(made.model, set(made.weights)).source, tmp_path)
    assert module.Motif()(*module.example_inputs()).shape == (1, 6, 16)


def test_constants_are_written_as_python_has_them(tmp_path: Path) -> None:
    """A mask of minus infinity, and a number that is short in single precision only."""
    node, info = helper.make_node, helper.make_tensor_value_info
    constants = [("low", -np.inf), ("tiny", 1e-5), ("minus", -0.5)]
    graph = helper.make_graph(
        [
            node("Mul", ["x", "minus"], ["m"], name="halve"),
            node("Add", ["m", "tiny"], ["a"], name="add"),
            node("Clip", ["a", "low", "tiny"], ["f"], name="clip"),
            node("Add", ["f", "low"], ["y"], name="mask"),
        ],
        "constants",
        [info("x", TensorProto.FLOAT, [4])],
        [info("f", TensorProto.FLOAT, [4]), info("y", TensorProto.FLOAT, [4])],
        [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in constants],
    )
    path = tmp_path / "constants.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    model = RealModel(path, load(path))
    assert model.check_torch([0, 1, 2, 3], tmp_path) == 0
    code = (tmp_path / "motif.py").read_text()
    assert "mul = x * (-0.5)" in code
    assert "add = mul + 1e-05" in code
    assert '+ (float("-inf"))' in code


def test_results_of_folded_operators_are_weights(tmp_path: Path) -> None:
    path = normalised(tmp_path)
    for fold, enters in ((True, ["c"]), (False, ["c", "scale"])):
        graphs = load(path, ReadSettings(fold=fold))
        found = found_in(graphs, "BatchNormalization -> Relu")[0]
        assert (found.inputs, found.outputs) == (enters, ["y"])


def test_a_cut_out_model_is_a_pattern_of_its_set(tmp_path: Path) -> None:
    """Operators on weights alone come along in the file, but are no part of the pattern."""
    for fold in (True, False):
        graphs = load(normalised(tmp_path), ReadSettings(fold=fold))
        [file] = found_in(graphs, "BatchNormalization -> Relu").write("onnx", tmp_path / f"cut-{fold}")
        assert ("ConstantOfShape" in {n.op_type for n in onnx.load(file).graph.node}) == fold
        assert grade.count(graphs, str(file)).patterns[0].key == "BatchNormalization -> Relu"
        assert grade.count(graphs, str(file)).supports[0].occurrences == 1


def test_a_list_that_time_cut_off_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = load("zoo-mini")
    pattern = read_patterns("Conv -> Relu", graphs.node_vocabulary, graphs.edge_vocabulary)[0].pattern
    whole = Occurrences(graphs, pattern, 10_000)
    assert whole.complete
    assert not Occurrences(graphs, pattern, len(whole) - 1).complete
    assert Occurrences(graphs, pattern, len(whole)).complete
    listed = Verifier.listed
    monkeypatch.setattr(Verifier, "listed", lambda *asked: (listed(*asked)[0][:7], False))
    cut_off = Occurrences(graphs, pattern, 10_000)
    assert (len(cut_off), cut_off.complete) == (7, False)
    assert cut_off.notes == ["Listing was cut off after 60 s; there are more."]


@pytest.mark.parametrize(
    ("text", "induced"), [("Conv* -> Relu", True), ("Conv -> *", True), ("Add -> *", False)]
)
def test_occurrences_of_any_pattern_are_those_that_are_counted(text: str, induced: bool) -> None:
    graphs = load("zoo-mini")
    found = occurrences_of(Path("zoo-mini"), text, limit=100_000, induced=induced)
    counted = grade.count(graphs, text, induced=induced).supports[0]
    assert len(found) == counted.occurrences > 0
    assert found.complete
    source, target = (re.escape(part).replace(r"\*", ".*") for part in text.split(" -> "))
    for row in found:
        assert any(
            re.fullmatch(source, one) and re.fullmatch(target, other)
            for one, other in (row.types, row.types[::-1])
        )


def test_weights_are_shapes_unless_their_values_are_wanted(
    blocks: tuple[Path, GraphSet], tmp_path: Path
) -> None:
    _, graphs = blocks
    run = tmp_path / "run"
    found = mine(graphs, k=3, out=run, top=100, all=True)
    number = next(m.id for m in found.motifs if set(m.pattern.type_names) == {"Div", "Conv", "Split"})
    shapes = export(run, number, "onnx", tmp_path / "shapes.onnx", graphs=graphs).file
    values = export(run, number, "onnx", tmp_path / "values.onnx", values=True, graphs=graphs).file
    assert {i.name for i in onnx.load(shapes).graph.input} >= {i.name for i in onnx.load(values).graph.input}
    assert "wc" in {t.name for t in onnx.load(values).graph.initializer}
    made = export(run, number, "pytorch", tmp_path / "conv.py", values=True, graphs=graphs)
    assert made.weights is not None
    from safetensors.torch import load_file

    module = imported(made.file.read_text(), tmp_path)
    motif = getattr(module, f"Motif{number}")()
    motif.load_state_dict(load_file(made.weights))
    assert set(module.INITIALIZERS.values()) <= {"wc", "bc"}


def test_occurrences_of_a_run_are_those_that_it_counted(tmp_path: Path) -> None:
    found = mine("zoo-mini", k=4, top=3, out=tmp_path / "run")
    for motif in found.motifs:
        listed = occurrences_of(tmp_path / "run", motif.id, limit=100_000)
        assert len(listed) == motif.support.occurrences
        assert listed.complete
        rows = [tuple(row.nodes) for row in listed]
        assert len({(row.graph, *sorted(row.nodes)) for row in listed}) == len(rows)
    assert not found.occurrences(1, limit=5).complete


def check_model(path: Path, size: int, count: int, folder: Path) -> int:
    """How many random occurrences of a model gave the same numbers as ONNX and as PyTorch."""
    model = RealModel(path, load(path))
    same = 0
    for number, nodes in enumerate(model.occurrences(size, count)):
        try:
            assert model.check_onnx(nodes, values=bool(number % 2)) < CLOSE
        except InputError:  # it reaches into a body, or ends at a tensor of unknown rank
            continue
        found = model.check_torch(nodes, folder)
        if found is not None:
            assert found < CLOSE
            same += 1
    return same


def test_parts_of_exported_networks_compute_the_same(tmp_path: Path) -> None:
    same = {path.stem: check_model(path, 5, 8, tmp_path) for path in export_all(tmp_path)}
    assert min(same.values()) >= 5, same


@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet"])
def test_parts_of_real_models_compute_the_same(name: str, tmp_path: Path) -> None:
    path = next(path for path in LIGHT if path.stem == name)
    assert check_model(path, 6, 4, tmp_path) == 4


MORE = sorted(Path(os.environ.get("GRADE_TEST_DATA", "nowhere")).glob("models/**/*.onnx"))


@pytest.mark.slow
def test_parts_of_all_light_models_compute_the_same(tmp_path: Path) -> None:
    """Those of the onnx package, exported networks, and those of wheels where they are at hand (rapidocr, silero-vad,
    magika).
    """
    paths = (*LIGHT, *export_all(tmp_path), *MORE)
    same = {str(path): check_model(path, 7, 8, tmp_path) for path in paths}
    assert len(same) >= 12
    assert sum(count > 0 for count in same.values()) >= 10
    assert sum(same.values()) >= 50
    assert min(same[str(path)] for path in LIGHT) >= 6


@pytest.mark.parametrize("axis", range(-3, 4))
def test_flatten_at_any_axis(axis: int, tmp_path: Path) -> None:
    """The axis may be the number of dimensions, or count from the end."""
    x, y = helper.make_tensor_value_info("x", 1, [2, 3, 4]), helper.make_empty_tensor_value_info("y")
    node = helper.make_node("Flatten", ["x"], ["y"], axis=axis)
    model = helper.make_model(helper.make_graph([node], "flat", [x], [y]), ir_version=9)
    module = imported(translate(model, set()).source, tmp_path).Motif()
    given = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    [wanted] = onnx.reference.ReferenceEvaluator(model).run(None, {"x": given})
    np.testing.assert_array_equal(module(torch.from_numpy(given)).numpy(), wanted)


@pytest.mark.parametrize("text", ["Conv -> Relu", "Conv -> *"])
def test_limits_past_64_bits_list_all(text: str) -> None:
    graphs = load("zoo-mini")
    (given,) = read_patterns(text, graphs.node_vocabulary, graphs.edge_vocabulary)
    listed, wide = (Occurrences(graphs, given.pattern, limit) for limit in (10**6, 10**20))
    assert wide.complete
    assert wide.rows.tolist() == listed.rows.tolist()
    assert len(listed.rows) > 0

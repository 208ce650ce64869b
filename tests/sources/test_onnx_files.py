import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from grade import GraphSet
from grade.settings import ReadSettings
from grade.sources import load, to_networkx
from grade.sources.onnx_files import read_onnx
from tests.onnx_models import BUNDLED, LIGHT, branching, calling, count, model, save

node = helper.make_node


def read(made: onnx.ModelProto, folder: Path, **choices: Any) -> GraphSet:
    return next(read_onnx(save(made, folder / "model.onnx"), ReadSettings(**{"drop": "", **choices})))


def named_edges(graphs: GraphSet) -> set[tuple[str, str]]:
    assert graphs.node_names is not None
    return {(graphs.node_names[s], graphs.node_names[t]) for s, t in graphs.edge_list(0).tolist()}


def typed(graphs: GraphSet) -> list[str]:
    return [graphs.node_vocabulary[kind] for kind in graphs.node_types]


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_the_bundled_models_have_the_counts_of_the_onnx_package(path: Path) -> None:
    graphs = load(path, ReadSettings(drop=""))
    assert (graphs.nodes, graphs.edges) == count(onnx.load(path))
    assert list(graphs.graph_names) == [str(path)]


def test_all_other_files_of_the_onnx_package() -> None:
    paths = sorted(path for path in BUNDLED.rglob("*.onnx") if path not in LIGHT)
    assert len(paths) > 100
    for path in paths:
        graphs = load(path, ReadSettings(drop=""))
        assert (graphs.nodes, graphs.edges) == count(onnx.load(path)), path


def test_bodies_are_flattened_and_captured_values_wired(tmp_path: Path) -> None:
    made = branching()
    onnx.checker.check_model(made)
    graphs = read(made, tmp_path)
    assert (graphs.nodes, graphs.edges) == count(made)
    then, body = "choose/then_branch/", "choose/else_branch/inner/body/"
    assert named_edges(graphs) == {
        ("cast", "choose"),
        ("relu", f"{then}add"),  # captured by the branch
        (f"{then}add", "choose"),
        ("choose/else_branch/neg", f"{body}mul"),  # the initial value
        ("choose/else_branch/neg", "choose/else_branch/inner"),
        ("cast", f"{body}same"),
        ("cast", "choose/else_branch/inner"),
        ("relu", f"{body}mul"),  # captured through two levels
        (f"{body}mul", "choose/else_branch/inner"),
        (f"{body}same", "choose/else_branch/inner"),
        ("choose/else_branch/inner", "choose"),
        ("choose", "sub"),
        ("relu", "sub"),
    }


def test_scan_bodies_are_wired_to_the_inputs(tmp_path: Path) -> None:
    body = helper.make_graph(
        [node("Add", ["sum_in", "item"], ["sum_out"], name="add"), node("Identity", ["sum_out"], ["copy"])],
        "body",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("sum_in", "item")],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("sum_out", "copy")],
    )
    made = model(
        [
            node("Relu", ["x"], ["start"], name="relu"),
            node("Exp", ["x"], ["items"], name="exp"),
            node("Scan", ["start", "items"], ["last", "y"], name="scan", num_scan_inputs=1, body=body),
        ]
    )
    graphs = read(made, tmp_path)
    assert {("relu", "scan/body/add"), ("exp", "scan/body/add"), ("scan/body/add", "scan")} < named_edges(
        graphs
    )
    assert (graphs.nodes, graphs.edges) == (5, 7)


def test_functions_are_inlined(tmp_path: Path) -> None:
    made = calling()
    graphs = read(made, tmp_path)
    assert (graphs.nodes, graphs.edges) == count(made)
    assert sorted(typed(graphs)) == sorted(["Relu", "Concat"] + ["Sigmoid", "Mul"] * 3 + ["Add"] * 2)
    # `second` gets the outputs of `first` swapped, and hands them on
    assert {("first/q", "second/p/s"), ("first/p/g", "second/q"), ("second/q", "third/s")} < named_edges(
        graphs
    )


def test_a_function_that_hands_its_input_on_leaves_no_trace(tmp_path: Path) -> None:
    same = helper.make_function("local", "Same", ["a"], ["a"], [], [helper.make_opsetid("", 17)])
    made = model(
        [
            node("Relu", ["x"], ["r"], name="relu"),
            node("Same", ["r"], ["s"], domain="local"),
            node("Exp", ["s"], ["y"], name="exp"),
        ],
        functions=[same],
    )
    assert named_edges(read(made, tmp_path)) == {("relu", "exp")}


CONSTANT = node("Constant", [], ["c"], name="const", value_float=1.0)
FOLDING = [
    CONSTANT,
    node("Mul", ["c", "w"], ["scaled"], name="scale"),  # constants only: folds
    node("Transpose", ["scaled"], ["turned"], name="turn"),  # and so does this
    node("RandomNormalLike", ["turned"], ["noise"], name="noise"),  # not the same twice: stays
    node("MatMul", ["x", "turned"], ["m"], name="matmul"),
    node("Add", ["m", "noise"], ["y"], name="add"),
]


@pytest.mark.parametrize(
    ("choices", "names"),
    [
        ({}, "scale turn noise matmul add"),
        ({"constants": True}, "const scale turn noise matmul add"),
        ({"initializers": True}, "w scale turn noise matmul add"),
        ({"fold": True}, "noise matmul add"),
        ({"fold": True, "constants": True}, "turn noise matmul add"),
        ({"fold": True, "initializers": True}, "noise matmul add"),
    ],
)
def test_constants_are_kept_dropped_or_folded(tmp_path: Path, choices: dict[str, bool], names: str) -> None:
    graphs = read(model(FOLDING, initializers="w"), tmp_path, **choices)
    assert graphs.node_names is not None
    assert set(graphs.node_names) == set(names.split())
    if "constants" in choices:
        folded = "turn" if "fold" in choices else "const"
        assert typed(graphs)[list(graphs.node_names).index(folded)] == "Constant"
    if "initializers" in choices and "fold" not in choices:
        assert ("w", "scale") in named_edges(graphs)
        assert "Initializer" in typed(graphs)


def test_edges_can_tell_the_input_and_the_number_of_parallel_arcs(tmp_path: Path) -> None:
    made = model(
        [
            node("Relu", ["x"], ["r"], name="relu"),
            node("Mul", ["r", "r"], ["square"], name="square"),
            node("Sub", ["square", "r"], ["y"], name="sub"),
        ]
    )

    def kinds(**choices: bool) -> dict[tuple[str, str], str]:
        graphs = read(made, tmp_path, **choices)
        assert graphs.node_names is not None
        return {
            (graphs.node_names[s], graphs.node_names[t]): graphs.edge_vocabulary[kind]
            for (s, t), kind in zip(graphs.edge_list(0), graphs.edge_types_of(0), strict=True)
        }

    arcs = [("relu", "square"), ("square", "sub"), ("relu", "sub")]
    assert kinds() == dict.fromkeys(arcs, "edge")
    assert kinds(parallel=True) == dict(zip(arcs, ["edge x2", "edge", "edge"], strict=True))
    assert kinds(positions=True) == dict(zip(arcs, ["0+1", "0", "1"], strict=True))


def operands(graphs: GraphSet) -> dict[str, list[tuple[int, int, str]]]:
    """By node: (operand, result, producer)."""
    names = graphs.node_names
    assert names is not None
    return {
        names[node]: [(arc.operand, arc.result, names[source]) for arc, source in graphs.operands(node)]
        for node in range(graphs.nodes)
    }


def test_operands_outputs_and_places_are_kept_beside_the_types(tmp_path: Path) -> None:
    made = model(
        [
            CONSTANT,
            node("Split", ["x"], ["", "b", "a"], name="split", num_outputs=3),
            node("Mul", ["b", "b"], ["square"], name="square"),
            node("Sub", ["c", "square"], ["d"], name="sub"),
            node("Clip", ["d", "", "a"], ["y"], name="clip"),
            node("Exp", ["square"], ["unused"], name="exp"),
        ],
        outputs="y square",
    )
    graphs = read(made, tmp_path)
    assert graphs.edge_vocabulary == ("none", "edge")
    assert operands(graphs) == {
        "split": [],
        "square": [(0, 1, "split"), (1, 1, "split")],
        "sub": [(1, 0, "square")],  # the constant is not a node, its operand still counts
        "clip": [(0, 0, "sub"), (2, 2, "split")],
        "exp": [(0, 0, "square")],
    }
    assert graphs.node_names is not None
    assert graphs.node_places is not None
    assert dict(zip(graphs.node_names, graphs.outputs.tolist(), strict=True)) == {
        "split": False,
        "square": True,  # and read, too
        "sub": False,
        "clip": True,
        "exp": False,  # nobody reads it, but it is no output
    }
    for name, place in zip(graphs.node_names, graphs.node_places.tolist(), strict=True):
        assert made.graph.node[place].name == name


def test_operators_of_a_body_are_found_at_the_node_that_has_it(tmp_path: Path) -> None:
    made = branching()
    graphs = read(made, tmp_path)
    assert graphs.node_names is not None
    assert graphs.node_places is not None
    for name, place in zip(graphs.node_names, graphs.node_places.tolist(), strict=True):
        assert name.split("/")[0] == made.graph.node[place].name


def test_a_function_hands_its_results_on(tmp_path: Path) -> None:
    opset = [helper.make_opsetid("", 17)]
    body = [node("Split", ["a"], ["p", "q"], name="split", num_outputs=2)]
    both = helper.make_function("local", "Both", ["a"], ["q", "p"], body, opset)
    made = model(
        [
            node("Both", ["x"], ["", "second"], domain="local", name="both"),
            node("Exp", ["second"], ["y"], name="exp"),
        ],
        functions=[both],
    )
    assert operands(read(made, tmp_path))["exp"] == [(0, 0, "both/split")]


def test_transparent_operators_are_taken_out(tmp_path: Path) -> None:
    made = model(
        [
            node(
                "Identity", ["x"], ["in"], name="start"
            ),  # of an input: its consumers read nothing from here
            node("Split", ["in"], ["a", "b"], name="split", num_outputs=2),
            node("Identity", ["b"], ["p"], name="one"),
            CONSTANT,
            node("Dropout", ["p", "c0"], ["d"], name="two"),
            node("Sub", ["a", "d"], ["e"], name="sub"),
            node("Mul", ["e", "f"], ["g"], name="square"),
            node("Identity", ["e"], ["f"], name="three"),
            node("Dropout", ["g"], ["h", "mask"], name="masked"),  # whose mask is wanted
            node("Cast", ["g"], ["i"], name="cast", to=1),
            node("Identity", ["i"], ["y"], name="end"),
        ],
        outputs="y mask",
        initializers="c0",
    )
    graphs = read(made, tmp_path, drop="Identity,Dropout")
    assert graphs.node_names is not None
    assert list(graphs.node_names) == ["split", "sub", "square", "masked", "cast"]
    assert operands(graphs) == {
        "split": [],
        "sub": [(0, 0, "split"), (1, 1, "split")],
        "square": [(0, 0, "sub"), (1, 0, "sub")],
        "masked": [(0, 0, "square")],
        "cast": [(0, 0, "square")],
    }
    assert graphs.outputs.tolist() == [False, False, False, True, True]
    assert len(read(made, tmp_path, drop="").node_names or []) == 10
    without_casts = read(made, tmp_path, drop="Ident*, Dropout,Cast")
    assert list(without_casts.node_names or []) == ["split", "sub", "square", "masked"]
    assert without_casts.outputs.tolist() == [
        False,
        False,
        True,
        True,
    ]  # the square is given back through the Cast
    kept = read(made, tmp_path, drop="Identity,Dropout", initializers=True, constants=True)
    assert set(kept.node_names or []) - set(graphs.node_names) == {
        "const"
    }  # nothing reads the ratio any more


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_dropping_is_contraction(path: Path, fold: bool) -> None:
    """Against networkx: every dropped operator is contracted into what it reads first."""
    whole = load(path, ReadSettings(drop="", fold=fold))
    graph = to_networkx(whole, 0)
    for place in [place for place in graph if graph.nodes[place]["type"] in ("Identity", "Dropout", "Relu")]:
        read = [s for s, _, word in graph.in_edges(place, data="operands") if word == "0"]
        for _, target, word in list(graph.out_edges(place, data="operands")):
            graph.add_edges_from((source, target, {"operands": word}) for source in read)
        graph.remove_node(place)
    dropped = to_networkx(load(path, ReadSettings(drop="Identity,Dropout,Relu", fold=fold)), 0)
    number = {place: i for i, place in enumerate(graph)}
    assert [kind for _, kind in graph.nodes(data="type")] == [kind for _, kind in dropped.nodes(data="type")]
    assert {(number[a], number[b]) for a, b in graph.edges} == set(dropped.edges)


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_the_bundled_models_have_the_operands_that_the_onnx_package_shows(path: Path) -> None:
    made, graphs = onnx.load(path), load(path, ReadSettings(drop=""))
    assert graphs.node_places is not None
    places = graphs.node_places.tolist()
    written = {
        name: (at, result)
        for at, step in enumerate(made.graph.node)
        for result, name in enumerate(step.output)
        if step.op_type != "Constant"
    }
    for number, place in enumerate(places):
        step = made.graph.node[place]
        found = [(arc.operand, places[source], arc.result) for arc, source in graphs.operands(number)]
        assert found == [(at, *written[name]) for at, name in enumerate(step.input) if name in written]
    ends = {written[output.name][0] for output in made.graph.output if output.name in written}
    assert {place for place, end in zip(places, graphs.outputs, strict=True) if end} == ends
    assert graphs.origins is not None
    assert graphs.origins.file(0) == (str(path), hashlib.sha256(path.read_bytes()).hexdigest())


def test_attributes_can_stand_in_the_type(tmp_path: Path) -> None:
    opset = [helper.make_opsetid("", 17)]
    inner = node("LeakyRelu", ["a"], ["b"])
    inner.attribute.append(onnx.AttributeProto(name="alpha", type="FLOAT", ref_attr_name="slope"))
    leaky = helper.make_function("local", "Leaky", ["a"], ["b"], [inner], opset, attributes=["slope"])
    made = model(
        [
            node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 5], group=2, auto_pad="VALID"),
            node("MaxPool", ["a"], ["b"], kernel_shape=[2, 2]),
            node("Leaky", ["b"], ["y"], domain="local", slope=0.25),
        ],
        initializers="w",
        functions=[leaky],
    )
    plain = ["Conv", "MaxPool", "LeakyRelu"]
    assert typed(read(made, tmp_path)) == plain
    assert typed(read(made, tmp_path, attributes=["nothing"])) == plain
    assert typed(read(made, tmp_path, attributes=["kernel_shape", "alpha"])) == [
        "Conv[kernel_shape=3x5]",
        "MaxPool[kernel_shape=2x2]",
        "LeakyRelu[alpha=0.25]",
    ]
    assert typed(read(made, tmp_path, attributes=["Conv.kernel_shape", "group", "auto_pad"])) == [
        "Conv[auto_pad=VALID,group=2,kernel_shape=3x5]",
        "MaxPool",
        "LeakyRelu",
    ]


def test_other_domains_stand_before_the_operator(tmp_path: Path) -> None:
    made = model(
        [
            node("Gelu", ["x"], ["a"], domain="com.microsoft"),
            node("Relu", ["a"], ["y"], domain="ai.onnx"),
        ]
    )
    assert typed(read(made, tmp_path)) == ["com.microsoft::Gelu", "Relu"]


def test_external_data_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trap")  # whoever opened it would wait for ever
    (tmp_path / "models").mkdir()
    for location in ("../trap", str(tmp_path / "trap"), "not-there.bin"):
        made = model([node("Gemm", ["x", "w"], ["y"])], initializers="w")
        onnx.external_data_helper.set_external_data(
            _with_raw_data(made.graph.initializer[0]), location, offset=0, length=2 << 30
        )
        made.graph.initializer[0].ClearField("raw_data")
        graphs = read(made, tmp_path / "models")
        assert (graphs.nodes, graphs.edges) == (1, 0)


def _with_raw_data(weights: onnx.TensorProto) -> onnx.TensorProto:
    weights.ClearField("float_data")
    weights.raw_data = b"\0" * 4
    return weights


@pytest.mark.slow
@pytest.mark.parametrize("wheel", ["rapidocr", "silero-vad", "magika"])
def test_models_in_wheels(tmp_path: Path, wheel: str) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "-d",
        str(tmp_path),
        wheel,
    ]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip(f"the wheel of {wheel} cannot be downloaded")
    (archive,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(archive) as files:
        models = [name for name in files.namelist() if name.endswith(".onnx")]
        for name in models:
            (tmp_path / "model.onnx").write_bytes(files.read(name))
            graphs = load(tmp_path / "model.onnx", ReadSettings(drop=""))
            made = onnx.load(tmp_path / "model.onnx")
            assert (graphs.nodes, graphs.edges) == count(made), name
            kept = next(read_onnx(str(tmp_path / "model.onnx"), ReadSettings(constants=True, drop="")))
            assert (kept.nodes, kept.edges) == count(made, constants=True), name
    assert models

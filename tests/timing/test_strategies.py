"""Every strategy computes what the operators compute one by one, for every motif of a small demo."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from grade.blocks import blocks
from grade.errors import InputError
from grade.mine import mine
from grade.timing.cases import find_case, from_model
from grade.timing.fusing import fuse, partition
from grade.timing.measuring import TOLERANCE, difference, measure, prepare
from grade.timing.native_kernels import UnavailableError
from grade.timing.pieces import Case
from grade.timing.roofline import work_of
from grade.timing.strategies import STRATEGIES, Options, Ready, Strategy
from tests.timing.models import demo_model

CPU = torch.device("cpu")
QUICK = ("eager", "eager-nhwc", "hand", "hand-nhwc", "ort-plain", "ort")
MAY_BE_MISSING = {  # reasons for which a strategy may be left out here
    "hand": ("no rule fits its operators",),
    "hand-nhwc": ("it has no convolution", "no rule fits its operators"),
    "eager-nhwc": ("no input is an image",),
    "ort": ("onnxruntime is not installed",),
    "ort-plain": ("onnxruntime is not installed",),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a demo model: five patterns of each size from 3 to 7."""
    folder = tmp_path_factory.mktemp("demo")
    demo_model(folder / "demo.onnx")
    mine(
        str(folder / "demo.onnx"),
        k="3-7",
        top=8,
        all=True,
        rank_by="saving",
        fusible=True,
        out=folder / "run",
    )
    return folder / "run"


def cases(run: Path) -> list[Case]:
    count = 0
    found = []
    while True:
        count += 1
        try:
            found.append(find_case(run, count, None, False, CPU).case)
        except ValueError:
            return found


def test_all_that_is_quick_to_make_ready(run: Path) -> None:
    made = cases(run)
    assert len(made) >= 20
    used = dict.fromkeys(QUICK, 0)
    for case in made:
        assert case.about.startswith("as in ")
        with torch.inference_mode():
            for name in QUICK:
                found, ready = prepare(case, name, Options(1), TOLERANCE[False])
                if ready is None:
                    assert found.reason in MAY_BE_MISSING.get(name, ()), (
                        f"{case.name}, {name}: {found.reason}"
                    )
                used[name] += ready is not None
    assert used["hand"] > 12  # most have something to fuse
    assert used["hand-nhwc"] > 3


@pytest.mark.slow
def test_all_that_compile(run: Path) -> None:
    names = ["operators", "compiled", "compiled-nhwc"]
    names += ["tvm-operators", "tvm-hand", "tvm"] * (importlib.util.find_spec("tvm") is not None)
    for case in cases(run)[::4]:
        with torch.inference_mode():
            for name in names:
                found, ready = prepare(case, name, Options(1), TOLERANCE[False])
                known = ("no input is an image", "no rule fits its operators")
                assert ready is not None or found.reason in known, f"{case.name}, {name}: {found.reason}"


def test_blocks_are_timed_as_motifs_are(run: Path, tmp_path: Path) -> None:
    found = blocks(str(run.parent / "demo.onnx"), min_count=2, out=tmp_path / "blocks")
    for number in range(1, len(found.blocks) + 1):
        case = find_case(tmp_path / "blocks", number, None, False, CPU).case
        assert case.about.startswith("as in ")
        with torch.inference_mode():
            result, ready = prepare(case, "hand", Options(1), TOLERANCE[False])
        assert ready is not None or result.reason == "no rule fits its operators", result.reason
    residual = find_case(tmp_path / "blocks", 1, None, False, CPU).case
    assert len(residual.nodes) >= 6


def test_patterns_alone_have_the_shape_that_is_asked_for(run: Path) -> None:
    case = find_case(run, 1, "2x4x5x5", True, CPU).case
    assert all(tensor.shape[0] == 2 and tensor.shape[2:] == (5, 5) for tensor in case.inputs.values())
    assert "2x4x5x5" in case.about


def test_which_operators_become_one(run: Path) -> None:
    def kinds(case: Case) -> list[list[str]]:
        return [[node.op_type for node in part] for part in partition(case)[0]]

    found = [part for case in cases(run) for part in kinds(case)]
    assert ["Conv", "BatchNormalization", "Relu"] in found
    assert ["MatMul", "Add"] in found
    assert any({"Div", "Erf", "Add", "Mul"} <= set(part) for part in found)
    assert any({"Add", "Relu"} <= set(part) for part in found)


def test_a_wrong_strategy_is_not_timed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = find_case(run, 1, None, False, CPU).case
    right = case.results()

    def off(by: float) -> Strategy:
        wrong = [result + by * result.abs().max() for result in right]
        return Strategy("off", lambda case, options: Ready(lambda: wrong, list))

    def fails(case: Case, options: Options) -> Ready:
        raise UnavailableError("the moon is in the way")

    monkeypatch.setitem(STRATEGIES, "off", off(1e-2))
    monkeypatch.setitem(STRATEGIES, "near", off(1e-6))
    monkeypatch.setitem(STRATEGIES, "missing", Strategy("missing", fails))
    found, machine = measure(case, ["eager", "off", "near", "missing"], Options(1), rounds=2)
    assert [each.seconds is None for each in found] == [False, True, False, True]
    assert "differ by 1.0e-02" in found[1].reason
    assert found[3].reason == "the moon is in the way"
    assert found[0].samples == 2
    assert machine.bandwidth > 0
    assert found[0].share(machine, work_of(case)) == pytest.approx(
        machine.least_seconds(work_of(case)) / (found[0].seconds or 0)
    )
    assert fuse(case).rules


def test_what_was_compiled_lasts_until_it_is_timed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = find_case(run, 1, None, False, CPU).case
    compiled = torch.compile
    monkeypatch.setattr(torch, "compile", lambda call, **_: compiled(call, backend="eager", dynamic=False))
    with torch.inference_mode():
        made = [prepare(case, name, Options(1), TOLERANCE[False])[1] for name in ("operators", "compiled")]
        with torch.compiler.set_stance("fail_on_recompile"):
            for each in made:
                assert each is not None
                each.run()


def test_a_case_without_finite_numbers_is_refused() -> None:
    root = helper.make_node("Log", ["n"], ["y"])
    nodes = [helper.make_node("Neg", ["x"], ["n"]), root]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    model = helper.make_model(helper.make_graph(nodes, "logs", [x], [y]), ir_version=9)
    with pytest.raises(InputError, match="logs computes no finite number"):
        from_model("logs", model, set(), 1, CPU, "")


def test_variances_are_positive_under_any_name() -> None:
    """An exporter that finds a variance equal to another weight writes Identity of that one."""
    weights = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("bias", "scale")]
    nodes = [
        helper.make_node("Identity", ["bias"], ["variance"]),
        helper.make_node("BatchNormalization", ["x", "scale", "bias", "bias", "variance"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3, 4, 4]) for name in "xy")
    model = helper.make_model(helper.make_graph(nodes, "norm", [x, *weights], [y]), ir_version=9)
    case = from_model("norm", model, {"bias", "scale"}, 1, CPU, "")
    assert bool(case.results()[0].isfinite().all())


def test_differences() -> None:
    one = torch.tensor([1.0, -4.0, float("inf")])
    assert difference([one], [one]) == 0
    assert difference([torch.tensor([1.0, -3.0])], [torch.tensor([1.0, -4.0])]) == 0.25
    assert difference([one], [torch.tensor([1.0, -4.0, 1.0])]) == float("inf")
    assert difference([one], [one[:2]]) == float("inf")
    assert difference([], [one]) == float("inf")


def test_constants_of_several_numbers_move_with_their_module() -> None:
    scale = numpy_helper.from_array(np.array([1.0, 2.0, 3.0], np.float32), "scale")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Mul", ["x", "scale"], ["y"])], "scaled", [x], [y], [scale])
    case = from_model("scaled", helper.make_model(graph, ir_version=9), set(), 1, CPU, "")
    module = case.piece(case.nodes, case.outputs).call
    assert module.to("meta")(torch.ones(2, 3, device="meta")).device.type == "meta"
    assert not module.state_dict()  # a constant is no weight

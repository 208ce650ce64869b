from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade.export.onnx_model import PLACEHOLDERS, onnx_model
from grade.graphs import Pattern
from grade.sources import load
from grade.verify import count_pattern
from tests.export.patterns import HARD, chains, demo_patterns, zoo_patterns

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def run(model: Any) -> list[Any]:
    """The outputs for random inputs, from onnxruntime; onnx's own reference must give as many of the same shapes."""
    from onnx.reference import ReferenceEvaluator

    draw = np.random.default_rng(1)
    feeds = {
        value.name: draw.standard_normal([d.dim_value for d in value.type.tensor_type.shape.dim]).astype(
            np.float32
        )
        for value in model.graph.input
    }
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    outputs: list[Any] = session.run(None, feeds)
    reference = ReferenceEvaluator(model).run(None, feeds)
    assert [np.shape(output) for output in outputs] == [np.shape(output) for output in reference]
    return outputs


def check(pattern: Pattern) -> Any:
    model = onnx_model(pattern)
    onnx.checker.check_model(model, full_check=True)
    for output, value in zip(run(model), model.graph.output, strict=True):
        assert list(output.shape) == [d.dim_value for d in value.type.tensor_type.shape.dim]
    return model


def test_the_motifs_of_the_demonstration_run_and_make_the_round_trip(tmp_path: Path) -> None:
    for number, pattern in enumerate(demo_patterns(tmp_path / "run")):
        model = check(pattern)
        assert not model.functions
        file = tmp_path / f"{number}.onnx"
        onnx.save(model, file)
        assert count_pattern(load(file), pattern, threads=1).occurrences == 1


@pytest.mark.parametrize("name", HARD)
def test_whatever_the_operators_it_passes_the_checker_and_runs(name: str) -> None:
    check(HARD[name])


def test_patterns_of_all_types_of_the_zoo_run() -> None:
    for pattern in zoo_patterns():
        check(pattern)


def test_placeholders_are_functions_of_a_domain_that_says_so() -> None:
    model = check(chains("Relu NonMax<b>Suppression Add"))
    node = next(node for node in model.graph.node if node.domain == PLACEHOLDERS)
    assert node.op_type == "NonMax_b_Suppression_of_1_placeholder"
    assert node.doc_string == "PLACEHOLDER for NonMax<b>Suppression"


def test_the_same_pattern_gives_the_same_bytes() -> None:
    first, second = (onnx_model(HARD["attention"]).SerializeToString() for _ in range(2))
    assert first == second

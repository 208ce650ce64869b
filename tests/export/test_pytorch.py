import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from grade.errors import InputError
from grade.export.pytorch import source_code
from grade.graphs import Pattern
from grade.settings import ReadSettings
from grade.sources.torch_models import capture
from grade.verify import count_pattern
from tests.export.patterns import HARD, chains, demo_patterns, zoo_patterns

SAME = {"GlobalAveragePool": "AveragePool", "GlobalMaxPool": "MaxPool"}  # one operator in PyTorch


def loaded(code: str, folder: Path) -> ModuleType:
    """The code as a module, imported from a file as its user would."""
    file = folder / "motif.py"
    file.write_text(code)
    spec = importlib.util.spec_from_file_location("motif", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trained(module: ModuleType) -> torch.nn.Module:
    """The motif after one step forward and one backward, on random inputs."""
    torch.manual_seed(0)
    motif = module.Motif()
    inputs = [value.requires_grad_() for value in module.example_inputs()]
    outputs = motif(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    sum(output.sum() for output in outputs).backward()
    for value in [*inputs, *motif.parameters()]:
        assert value.grad is not None  # every input and every weight takes part
    return motif  # type: ignore[no-any-return]  # of a module made at run time


def check_round_trip(pattern: Pattern, folder: Path) -> None:
    """Captured again, the module contains the pattern that it was made of."""
    module = loaded(source_code(pattern), folder)
    motif = trained(module).eval()
    graphs = capture(motif, module.example_inputs(), settings=ReadSettings(names="onnx"))
    renamed = tuple(SAME.get(name, name) for name in pattern.type_names)
    vocabulary = tuple(dict.fromkeys(renamed))
    expected = Pattern.of([vocabulary.index(n) for n in renamed], pattern.edges, vocabulary, ("none", "edge"))
    assert count_pattern(graphs, expected, threads=1).occurrences >= 1, source_code(pattern)


def test_the_motifs_of_the_demonstration_make_the_round_trip(tmp_path: Path) -> None:
    patterns = demo_patterns(tmp_path / "run")
    assert len(patterns) == 50
    for pattern in patterns:
        code = source_code(pattern)
        assert "PLACEHOLDER" not in code
        check_round_trip(pattern, tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "sum of concatenations",
        "nested concatenations",
        "squeeze and excite",
        "attention",
        "layer norm of the mean",
    ],
)
def test_shapes_fit_without_a_placeholder(name: str, tmp_path: Path) -> None:
    assert "PLACEHOLDER" not in source_code(HARD[name])
    check_round_trip(HARD[name], tmp_path)


@pytest.mark.parametrize("name", HARD)
def test_whatever_the_operators_it_runs_forward_and_backward(name: str, tmp_path: Path) -> None:
    trained(loaded(source_code(HARD[name]), tmp_path))


def test_patterns_of_all_types_of_the_zoo_run(tmp_path: Path) -> None:
    for pattern in zoo_patterns():
        trained(loaded(source_code(pattern), tmp_path))


def test_placeholders_say_so_and_name_their_operator() -> None:
    code = source_code(chains("Relu NonMaxSuppression Add"))
    assert "placeholder('NonMaxSuppression', relu)  # PLACEHOLDER" in code
    assert "put yours in its place" in code


def test_aten_names_are_understood(tmp_path: Path) -> None:
    pattern = chains("aten.conv2d aten.batch_norm aten.relu aten.add")
    module = loaded(source_code(pattern), tmp_path)
    motif = trained(module).eval()
    assert count_pattern(capture(motif, module.example_inputs()), pattern, threads=1).occurrences == 1


def test_hostile_names_cannot_leave_their_quotes(tmp_path: Path) -> None:
    evil = "\"\"\"\\\n'''); import os; os.abort() #\u2028\x00"
    code = source_code(Pattern.of([0, 1], [[0, 1], [0, 0]], (evil, "Relu")))
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    assert "os" not in names
    assert not [
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Import) and node.names[0].name == "os"
    ]
    trained(loaded(code, tmp_path))


def test_the_code_is_formatted_as_ruff_would(tmp_path: Path) -> None:
    file = tmp_path / "motif.py"
    file.write_text(source_code(HARD["squeeze and excite"], about="A block"))
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--diff", str(file)], capture_output=True, text=True
    )
    assert done.stdout == ""


def test_a_cycle_cannot_run() -> None:
    with pytest.raises(InputError, match="has a cycle"):
        source_code(chains("Relu Add Relu"))

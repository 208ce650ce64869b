"""The case study: its cases are the paper's, no node is saved twice, and the page is that of the results."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (as everywhere)
from onnx import numpy_helper
from torch import nn

import grade
from grade.sources import as_graphs

FOLDER = Path(__file__).parents[2] / "experiments" / "case_study"
SHAPE = (1, 4, 6, 6)
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("cases", "find", "tables"):
        sys.modules.pop(name, None)


def as_printed(name: str, x: torch.Tensor, convs: list[nn.Conv2d]) -> torch.Tensor:
    """The forward functions of the paper."""
    one, two, three, four, five = (lambda v, c=conv: F.relu(c(v)) for conv in convs)
    if name == "A":
        return five(four(three(two(one(x)))))
    if name == "B":
        split = two(one(x))
        return five(torch.cat([three(split), four(split)], dim=1))
    before = one(F.relu(x))
    return five(four(torch.cat([three(two(before)), before], dim=1)))


@pytest.mark.parametrize("name", "ABC")
def test_the_cases_are_the_papers(name: str) -> None:
    from cases import PAPER, made_case
    from find import case_text

    case = made_case(name, {"paper": SHAPE}, CPU)
    convs = []
    for node in case.nodes:
        if node.op_type == "Conv":
            weight = torch.tensor(numpy_helper.to_array(case.weights[node.input[1]]))
            convs.append(nn.Conv2d(weight.shape[1], len(weight), 3, padding=1, bias=False))
            convs[-1].weight = nn.Parameter(weight, requires_grad=False)
    if name == "C":
        case.inputs["x"] = case.inputs["x"] - 1  # so that the first ReLU matters
        case.find_values()
    torch.testing.assert_close(case.results()[0], as_printed(name, case.inputs["x"], convs))
    counted = grade.count(as_graphs(PAPER[name](SHAPE)), case_text(name, "", "Relu"))
    assert (counted.patterns[0].size, counted.supports[0].occurrences) == (len(case.nodes), 1)


def test_no_node_is_saved_twice() -> None:
    from find import Candidate, chosen

    long = Candidate("long", np.array([[0, 1, 2], [3, 4, 5]]), np.array([3.0, 3.0]))
    short = Candidate("short", np.array([[0, 1], [3, 4], [6, 7]]), np.array([1.5, 1.5, 1.5]))
    other = Candidate("other", np.array([[8, 9]]), np.array([2.0]))
    found = [(candidate.text, free.tolist()) for candidate, free in chosen([short, long, other], 10, 9)]
    assert found == [("long", [True, True]), ("other", [True]), ("short", [False, False, True])]


def test_what_was_cut_out_runs_in_any_batch() -> None:
    from cases import cut_case

    for file in sorted((FOLDER / "cutouts").glob("*-0[1-4].onnx")):
        one, two = (cut_case(file, batch, CPU) for batch in (1, 2))
        assert [2 * t.numel() for t in one.results()] == [t.numel() for t in two.results()]
        assert all(bool(tensor.isfinite().all()) for tensor in two.results())


def test_the_page_is_that_of_the_results() -> None:
    import tables

    assert tables.page() == (FOLDER / "results" / "README.md").read_text()

"""What ``import grade`` offers: the same answers as the commands, results that show themselves."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from onnx import helper

import grade
from grade.sources import load
from tests.onnx_models import model, save

GRADE = [sys.executable, "-m", "grade.cli"]


def printed(*arguments: object) -> Any:
    command = [*GRADE, *map(str, arguments), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_graphs_are_taken_in_every_form(tmp_path: Path) -> None:
    import torch

    mini = load("zoo-mini")
    halves = [mini.subset(range(6)), mini.subset(range(6, 12))]
    whole = grade.census("zoo-mini", 3)
    for graphs in (mini, halves, ["zoo-mini"]):
        assert grade.census(graphs, 3).top(9999) == whole.top(9999)
    with torch.device("meta"):
        module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()
        image = torch.empty(1, 3, 8, 8)
    assert grade.load((module, (image,))).node_vocabulary == ("aten.conv2d", "aten.relu")
    assert len(grade.load([(module, (image,)), "zoo-mini"])) == 13
    with pytest.raises(grade.InputError, match="Sequential needs example inputs to be captured"):
        grade.load(module)
    with pytest.raises(grade.InputError, match="An empty list names no graphs"):
        grade.load([])


def test_every_function_takes_every_form(tmp_path: Path) -> None:
    import torch

    write_onnx(tmp_path / "models" / "one.onnx")
    write_onnx(tmp_path / "models" / "two.onnx")
    with torch.device("meta"):
        layers = [torch.nn.Conv2d(3, 3, 3), torch.nn.ReLU(), torch.nn.Conv2d(3, 3, 3), torch.nn.ReLU()]
        module = (torch.nn.Sequential(*layers).eval(), (torch.empty(1, 3, 8, 8),))
    single = grade.load(tmp_path / "models" / "one.onnx")
    given = {
        1: [module, tmp_path / "models" / "one.onnx", str(tmp_path / "models" / "one.onnx"), single],
        2: [tmp_path / "models", f"{tmp_path}/models/*.onnx", [single, module], [single, "zoo-mini"][:1] * 2],
    }
    for graphs, forms in given.items():
        for form in forms:
            assert grade.census(form, 2).instances == 3 * graphs
            assert len(grade.sample(form, 2, count=5)) == 5
            assert len(grade.count(form, "* -> *", induced=False)) == 1
            assert grade.count(form, "* -> *", induced=False)[0].occurrences == 3 * graphs
            assert grade.mine(form, k=3, top=5).motifs[0].support.graphs >= 1
            assert grade.match("* -> *", form, remaining=0).nodes == 4 * graphs
            assert grade.blocks(form, min_count=2).nodes == 4 * graphs
            assert grade.features(form, 2).to_numpy().sum() == 3 * graphs
            assert (
                grade.significance(form, 2, draws=5, switches=1, least=1).scores.observed.sum() == 3 * graphs
            )


def write_onnx(path: Path) -> None:
    """A chain of two convolutions, each with its activation."""
    path.parent.mkdir(exist_ok=True)
    values = ["x", "a", "b", "c", "y"]
    made = [
        helper.make_node(kind, [*values[i : i + 1], *["w"] * (kind == "Conv")], [values[i + 1]])
        for i, kind in enumerate(["Conv", "Relu", "Conv", "Relu"])
    ]
    save(model(made, initializers="w"), path)


def test_counts_are_those_of_the_command() -> None:
    found = grade.count("zoo-mini", "Conv -> Relu", threads=1)
    (row,) = printed("verify", "Conv -> Relu", "zoo-mini")["supports"]
    assert {name: row[name] for name in found[0].numbers()} == found[0].numbers()
    assert grade.count("zoo-mini", found.patterns)[0] == found[0]
    wild = grade.count("zoo-mini", ["Conv* -> *", found.patterns[0]], induced=False)
    assert wild[0].occurrences > wild[1].occurrences >= found[0].occurrences
    assert wild.columns()["key"] == ["Conv* -> *", "Conv -> Relu"]


def test_samples_and_models_are_those_of_the_commands(tmp_path: Path) -> None:
    drawn = grade.sample("zoo-mini", 4, count=300, seed=3)
    printed("sample", "zoo-mini", "-k", 4, "--count", 300, "--seed", 3, "--out", tmp_path / "drawn")
    stored = grade.graphs.sample.load_sample(tmp_path / "drawn")
    assert (stored.occurrences == drawn.occurrences).all()
    fitted = grade.fit(drawn, "frequency", out=tmp_path / "model")
    assert (tmp_path / "model").is_dir()
    best = drawn.columns()
    assert best["weight"] == sorted(best["weight"], reverse=True)
    assert fitted.log_probability(drawn.patterns).argmax() == drawn.weighted_counts.argmax()


def test_results_show_themselves(tmp_path: Path) -> None:
    census = grade.census("zoo-mini", 3)
    assert repr(census).splitlines()[0] == "Census(8,015 instances of 348 patterns, k=3)"
    assert len(repr(census).splitlines()) == 6
    mined = grade.mine("zoo-mini", k=3, top=8, threads=1)
    assert len([line for line in repr(mined).splitlines() if "->" in line]) == 5
    for result in (
        census,
        mined,
        grade.count("zoo-mini", "Conv -> Relu"),
        grade.sample("zoo-mini", 3, count=9),
    ):
        columns = result.columns()
        assert result._repr_html_().count("<svg") >= 1
        assert len({len(values) for values in columns.values()}) == 1
        if find_spec("pandas"):
            assert result.to_pandas().to_dict("list").keys() == columns.keys()


def test_a_graph_set_shows_its_largest_graphs_and_types() -> None:
    graphs = grade.load("zoo-mini")
    page, columns = graphs._repr_html_(), graphs.columns()
    largest = int(graphs.node_counts.argmax())
    assert page.index(graphs.graph_names[largest]) == min(
        page.index(n) for n in graphs.graph_names if n in page
    )
    assert f"Conv ({(graphs.node_types == graphs.node_vocabulary.index('Conv')).sum():,})" in page
    assert (sum(columns["nodes"]), sum(columns["edges"])) == (graphs.nodes, graphs.edges)
    hostile = grade.GraphSet.from_edges(
        node_counts=[1],
        node_types=[0],
        edge_counts=[0],
        edges=[],
        node_vocabulary=["<b>"],
        graph_names=["<i>"],
    )
    assert "<b>" not in hostile._repr_html_()
    assert "<i>" not in hostile._repr_html_()
    assert grade.GraphSet.from_edges(
        node_counts=[], node_types=[], edge_counts=[], edges=[], node_vocabulary=[]
    )._repr_html_()


def test_drawings_are_shown_and_saved(tmp_path: Path) -> None:
    drawing = grade.draw("Conv -> Relu")
    assert drawing._repr_svg_().count("<rect") == 2
    assert drawing.save(tmp_path / "pair.svg").read_text() == drawing.svg
    assert drawing.save(tmp_path / "pair.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(grade.InputError, match=r"must end in \.svg or \.png"):
        drawing.save(tmp_path / "pair.pdf")
    with pytest.raises(grade.InputError, match="write it without wildcards"):
        grade.draw("Conv* -> Relu")


def test_reports_are_written(tmp_path: Path) -> None:
    for name in ("one", "two"):
        grade.mine("zoo-mini", k=3, top=4, threads=1, out=tmp_path / name)
    page = grade.report(tmp_path / "one")
    assert page == tmp_path / "one" / "report.html"
    assert grade.report(tmp_path / "one", tmp_path / "two", tmp_path / "both.html").stat().st_size > 5_000


def test_every_name_is_there_and_documented() -> None:
    for name in ("load", "census", "sample", "fit", "count", "mine", "report", "draw"):
        function = getattr(grade, name)
        assert name in dir(grade)
        assert ">>>" in (getattr(function, "__wrapped__", function).__doc__ or ""), name
    with pytest.raises(AttributeError, match="no attribute 'minne'"):
        grade.minne  # noqa: B018 (raises)


def test_messages_suit_python_and_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(grade.InputError, match="`list_size` is 0; give 1 or more"):
        grade.mine("zoo-mini", k=4, list_size=0)
    with pytest.raises(grade.InputError, match="`top` is 'many'; give a number"):
        grade.mine("zoo-mini", k=4, top="many")
    arguments = ["mine", "zoo-mini", "-k", "4", "--list-size", "0", "--out", str(tmp_path / "run")]
    done = subprocess.run([*GRADE, *arguments], capture_output=True, text=True, check=False)
    assert done.stderr == "grade: --list-size is 0; give 1 or more.\n"


@pytest.mark.parametrize(
    "arguments",
    [["runs", "show", "run", "--top", "-1"], ["census", "zoo-mini", "-k", "3", "--threads", "0"]],
)
def test_numbers_out_of_range_are_refused(arguments: list[str], tmp_path: Path) -> None:
    grade.mine("zoo-mini", k=3, top=2, threads=1, out=tmp_path / "run")
    done = subprocess.run([*GRADE, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"grade: {arguments[-2]} is {arguments[-1]}; give ")


def test_a_failing_gpu_is_no_damaged_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from grade.errors import DeviceError
    from grade.estimators import estimators, load_estimator

    drawn = grade.sample("zoo-mini", 3, count=50, seed=1)
    grade.fit(drawn, "frequency", out=tmp_path / "model")

    def fails(folder: Path) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nCompile with ...")

    monkeypatch.setattr(estimators["frequency"], "load", fails)
    with pytest.raises(
        DeviceError, match=r"cannot be moved to the GPU \(CUDA error: an illegal memory access"
    ):
        load_estimator(tmp_path / "model")


def test_models_pictures_and_matches_show_themselves() -> None:
    drawn = grade.sample("zoo-mini", 4, count=100, seed=1)
    assert re.fullmatch(r"Frequency\(frequency, k = 4, \d+\.\d s\)", repr(grade.fit(drawn, "frequency")))
    assert re.fullmatch(r"Parts\(parts, k = 4, \d+\.\d s\)", repr(grade.fit(drawn, "parts")))
    assert repr(grade.draw("Conv -> Relu")) == "Drawing('Conv -> Relu')"
    census = grade.census("zoo-mini", 3)
    assert repr(census.top(1)) == "[(Pattern('Unsqueeze#1 -> Concat; Unsqueeze#2 -> Concat'), 279)]"
    assert repr(census.patterns).startswith("PatternTable(348 patterns, k=3)\n    Add -> ")
    assert len(repr(census.patterns).splitlines()) == 7
    support = "Support(50 occurrences, 3 graphs, 50 disjoint, 100 coverage, 50 mni)"
    assert repr(grade.count("zoo-mini", "Conv -> Relu")[0]) == support
    mined = grade.mine("zoo-mini", k=3, top=2, threads=1)
    text = "Conv -> BatchNormalization -> Relu"
    assert repr(mined).startswith(
        "2 distinct motifs of zoo-mini (12 graphs, 4,187 nodes), k = 3, by coverage\n"
    )
    support = "Support(201 occurrences, 4 graphs, 201 disjoint, 603 coverage, 201 mni)"
    assert repr(mined.motifs[0]) == f"Motif(1, '{text}', {support})"
    assert repr(mined.catalogue) == "Catalogue('zoo-mini': 2 motifs, k=3)"
    assert repr(mined.occurrences(1, 5)) == f"Occurrences('{text}' in 'zoo-mini': 5 or more)"
    page = grade.match("fusions", "zoo-mini", remaining=0)._repr_html_()
    assert page.startswith("<table><caption>fusions covers ")
    assert "<td>Conv -&gt; BatchNormalization</td><td>conv-batchnorm</td>" in page

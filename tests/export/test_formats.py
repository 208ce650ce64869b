import json
from pathlib import Path
from xml.etree import ElementTree

import networkx
import pytest

from grade.errors import InputError
from grade.export.formats import FORMATS, export
from grade.export.graph_formats import as_json, dot, graphml
from grade.graphs import Pattern
from grade.sources import load
from grade.verify import count_pattern
from tests.report.gallery import GALLERY
from tests.report.runs import make_run


@pytest.mark.parametrize("name", GALLERY)
def test_graphml_is_read_back_by_us_and_by_networkx(name: str, tmp_path: Path) -> None:
    pattern = GALLERY[name]
    file = tmp_path / "pattern.graphml"
    file.write_text(graphml(pattern))
    assert count_pattern(load(file), pattern, threads=1).occurrences == 1
    read = networkx.read_graphml(file)
    assert [data["type"] for _, data in read.nodes(data=True)] == list(pattern.type_names)
    assert set(read.edges) == {(f"n{i}", f"n{j}") for i, j, _ in pattern.edge_list}


def test_json_and_dot_hold_every_node_and_edge() -> None:
    pattern = GALLERY["residual"]
    data = json.loads(as_json(pattern))
    assert data["node_types"] == list(pattern.type_names)
    assert data["edges"] == [[i, j, "edge"] for i, j, _ in pattern.edge_list]
    lines = dot(pattern).splitlines()
    assert [line for line in lines if "->" in line] == [f"  n{i} -> n{j};" for i, j, _ in pattern.edge_list]
    assert sum("label=" in line for line in lines) == pattern.size


def test_hostile_names_stay_text() -> None:
    name = '"]; evil [label="<&>\\\n\x00'
    pattern = Pattern.of([0], [[0]], [name])
    label = dot(pattern).splitlines()[2].split("label=", 1)[1].rsplit(", fillcolor", 1)[0]
    assert json.loads(label) == name[:-1]  # the quoting of Graphviz is that of JSON here
    text = "".join(ElementTree.fromstring(graphml(pattern)).itertext())
    assert text == name[:-1] + "\ufffd"


def test_every_format_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = make_run(
        tmp_path / "run", load("zoo-mini"), [(GALLERY["diamond"], 3), (GALLERY["residual"], 2)], "zoo-mini"
    )
    for name, (suffix, _) in FORMATS.items():
        assert export(run, 2, name).file == Path(f"motif-2{suffix}")
        assert (tmp_path / f"motif-2{suffix}").stat().st_size > 100
        assert export(run, 1, name, tmp_path / "there").file == tmp_path / "there"
    assert "class Motif2(nn.Module)" in (tmp_path / "motif-2.py").read_text()


def test_what_does_not_exist_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", load("zoo-mini"), [(GALLERY["diamond"], 3)])
    with pytest.raises(InputError, match=r"`pattern` is 2, but .* has patterns 1 to 1"):
        export(run, 2, "svg")
    with pytest.raises(InputError, match=r"There is no format 'pdf'; known: pytorch, onnx"):
        export(run, 1, "pdf")

from pathlib import Path

import pytest

from grade import InputError
from grade.sources import load
from tests.sources.test_json_lines import described


def test_nodes_are_numbered_as_they_are_met(tmp_path: Path) -> None:
    path = tmp_path / "graph.edges"
    path.write_text("# a remark\n% another\n\nc a\na b skip\nb b\n")
    graphs = load(path)
    assert described(graphs) == [
        (str(path), ["node"] * 3, [[0, 1], [1, 2], [2, 2]], ["edge", "skip", "edge"])
    ]
    assert graphs.node_names is not None
    assert list(graphs.node_names) == ["c", "a", "b"]


def test_types_stand_in_a_file_beside(tmp_path: Path) -> None:
    (tmp_path / "graph.edgelist").write_text("1 0")
    (tmp_path / "graph.types").write_text("0 conv\n1 add\nlonely conv\n")
    assert described(load(tmp_path / "graph.edgelist"))[0][1:] == (
        ["conv", "add", "conv"],
        [[1, 0]],
        ["edge"],
    )


@pytest.mark.parametrize(
    ("edges", "types", "reason"),
    [
        (
            "a b\na",
            None,
            r"graph.edges, line 2: it is not a source, a target and perhaps a type; correct it.",
        ),
        ("a b x y", None, r"graph.edges, line 1: it is not a source"),
        ("a b\na b", None, r"graph.edges, line 2: the edge is there twice"),
        ("a b none", None, r"graph.edges, line 1: 'none' is the word for no edge"),
        ("a b", "a conv", r"graph.edges, line 1: the node 'b' has no type in .*graph.types; add it."),
        ("a b", "a", r"graph.types, line 1: it is not a node and its type"),
        ("a b", "a x\na y", r"graph.types, line 2: the node 'a' is there twice"),
        ("a \udcff", None, r"graph.edges, line 1: it is not UTF-8"),
        ("x" * 70_000, None, r"graph.edges, line 1: it is longer than"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, edges: str, types: str | None, reason: str) -> None:
    (tmp_path / "graph.edges").write_text(edges, errors="surrogateescape")
    if types is not None:
        (tmp_path / "graph.types").write_text(types)
    with pytest.raises(InputError, match=reason):
        load(tmp_path / "graph.edges")

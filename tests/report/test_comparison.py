from pathlib import Path

from grade.graphs import GraphSet, Pattern
from grade.report.comparison import compare, write_comparison
from grade.runs import Catalogue
from tests.report.runs import make_run


def run_of(folder: Path, names: list[str], found: list[tuple[list[str], int]]) -> Path:
    """A run whose motifs are chains of these types."""
    graphs = GraphSet.from_edges(
        node_counts=[1], node_types=[0], edge_counts=[0], edges=[], node_vocabulary=names, graph_names=["g"]
    )
    patterns = []
    for chain, count in found:
        edges = [[int(j == i + 1) for j in range(len(chain))] for i in range(len(chain))]
        pattern = Pattern.of([names.index(name) for name in chain], edges, names, graphs.edge_vocabulary)
        patterns.append((pattern, count))
    return make_run(folder, graphs, patterns, "no-such-set")


def test_motifs_are_matched_by_the_names_of_their_types(tmp_path: Path) -> None:
    first = run_of(
        tmp_path / "first",
        ["conv", "relu", "add"],
        [(["conv", "relu"], 9), (["relu", "conv"], 8), (["add", "add"], 5), (["relu", "relu"], 4)],
    )
    second = run_of(
        tmp_path / "second",
        ["gelu", "add", "relu", "conv"],
        [(["relu", "conv"], 80), (["add", "add"], 5), (["conv", "gelu"], 3), (["conv", "relu"], 3)],
    )
    result = compare(*(Catalogue.load(run / "catalogue.sqlite") for run in (first, second)))
    assert [str(pair.pattern) for pair in result.gained] == ["conv -> gelu"]
    assert [str(pair.pattern) for pair in result.lost] == ["relu#1 -> relu#2"]
    assert [(str(pair.pattern), round(pair.change, 3)) for pair in result.changed] == [
        ("relu -> conv", 10),
        ("conv -> relu", 0.333),
    ]
    assert [str(pair.pattern) for pair in result.same] == ["add#1 -> add#2"]

    facts = write_comparison(first, second, tmp_path / "page.html")
    assert facts == {"gained": 1, "lost": 1, "changed": 2, "unchanged": 1}
    text = (tmp_path / "page.html").read_text()
    assert text.count("<svg") == 5
    assert '<dd class="up">10.00 times</dd>' in text
    assert '<dd class="down">0.33 times</dd>' in text


def test_runs_of_different_sizes_share_nothing(tmp_path: Path) -> None:
    first = run_of(tmp_path / "first", ["a"], [(["a", "a"], 1)])
    second = run_of(tmp_path / "second", ["a"], [(["a", "a", "a"], 1)])
    assert write_comparison(first, second, tmp_path / "page.html") == {
        "gained": 1,
        "lost": 1,
        "changed": 0,
        "unchanged": 0,
    }
    assert "different sizes (2, 3 nodes)" in (tmp_path / "page.html").read_text()

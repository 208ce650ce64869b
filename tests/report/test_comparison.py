import re
from dataclasses import replace
from pathlib import Path

from grade.graphs import GraphSet, Pattern
from grade.report.comparison import compare, write_comparison
from grade.runs import Catalogue
from grade.runs.catalogue import Chosen
from tests.report.runs import make_run


def run_of(folder: Path, names: list[str], found: list[tuple[list[str], int]], nodes: int = 1) -> Path:
    """A run whose motifs are chains of these types."""
    graphs = GraphSet.from_edges(
        node_counts=[nodes],
        node_types=[0] * nodes,
        edge_counts=[0],
        edges=[],
        node_vocabulary=names,
        graph_names=["g"],
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


def test_distinct_motifs_are_compared_and_variants_told(tmp_path: Path) -> None:
    chains = [(["a", "b"], 9), (["b", "a"], 8), (["a", "a"], 7)]
    first, second = (run_of(tmp_path / name, ["a", "b"], chains, nodes=100) for name in ("first", "second"))
    for run, places in ((first, (0, 2)), (second, (0, 1))):
        whole = Catalogue.load(run / "catalogue.sqlite")
        motifs = [
            replace(motif, choice=Chosen(2, 10.0, 10.0 * (place + 1)))
            if place in places
            else replace(motif, variant_of=1)
            for place, motif in enumerate(whole.motifs)
        ]
        distinct = {"motifs": 2, "candidates": 3, "covered": 20, "bound": 30}
        described = {**whole.run, "distinct": distinct}
        replace(whole, motifs=motifs, run=described).save(run / "catalogue.sqlite")
    result = compare(*(Catalogue.load(run / "catalogue.sqlite") for run in (first, second)))
    assert [str(pair.pattern) for pair in result.same] == ["a -> b"]
    assert [str(pair.pattern) for pair in result.lost] == ["a#1 -> a#2"]
    assert [str(pair.pattern) for pair in result.gained] == ["b -> a"]

    write_comparison(first, second, tmp_path / "page.html")
    text = re.sub(r"\s+", " ", (tmp_path / "page.html").read_text())
    assert (
        text.count(
            "2 distinct motifs of no-such-set, 2 nodes, by occurrences; they cover 20.0 % of the nodes"
        )
        == 2
    )
    assert "<dt>rank</dt><dd>#2 (a variant of #1) &rarr; #2</dd>" in text
    assert "<dt>rank</dt><dd>#3 &rarr; #3 (a variant of #1)</dd>" in text
    assert "<dt>adds</dt><dd>10.0 % &rarr; -</dd>" in text
    assert "different sizes" not in text


def test_runs_of_different_sizes_share_nothing(tmp_path: Path) -> None:
    first = run_of(tmp_path / "first", ["a"], [(["a", "a"], 1)])
    second = run_of(tmp_path / "second", ["a"], [(["a", "a", "a"], 1)])
    assert write_comparison(first, second, tmp_path / "page.html") == {
        "gained": 1,
        "lost": 1,
        "changed": 0,
        "unchanged": 0,
    }
    assert "different sizes (2 and 3 nodes)" in (tmp_path / "page.html").read_text()

import dataclasses
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from grade.graphs import GraphSet, Pattern
from grade.mine import mine
from grade.report.page import settings_used, write_page
from grade.runs import Catalogue
from grade.sampling.census import take_census
from grade.sources import load
from grade.verify import count_pattern
from tests.report.runs import make_run

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)>--><!--]]>&\u2028\"'"


class Reader(HTMLParser):
    """The elements of a page and the data that it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id") or tag

    def handle_data(self, data: str) -> None:
        self.text[self.inside] = self.text.get(self.inside, "") + data

    @property
    def data(self) -> Any:
        return json.loads(self.text["data"])


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text())
    return reader


@pytest.fixture(scope="module")
def page(mined: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    assert write_page(mined, out) == {"motifs": 30, "variants": 0, "others": 0}
    return out


def test_the_page_tells_what_the_catalogue_holds(page: Path, mined: Path) -> None:
    catalogue, shown = Catalogue.load(mined / "catalogue.sqlite"), read(page).data["motifs"]
    for motif, row in zip(catalogue.motifs, shown, strict=True):
        assert (row["id"], row["key"]) == (motif.id, motif.text)
        assert row["occurrences"] == [motif.support.occurrences, "exact", None]
        assert row["graphs"] == [motif.support.graphs, "exact"]
        assert row["common"] == [list(pair) for pair in motif.support.most_common()]
        assert len(row["picture"]["b"]) == motif.size
        assert len(row["picture"]["a"]) == len(motif.pattern.edge_list)


def test_places_are_occurrences_in_the_graphs_where_a_motif_is_most_common(page: Path, mined: Path) -> None:
    graphs, catalogue = load("zoo-mini"), Catalogue.load(mined / "catalogue.sqlite")
    number = {name: i for i, name in enumerate(graphs.graph_names)}
    data = read(page).data
    for motif, pattern, row in zip(catalogue.motifs, catalogue.patterns, data["motifs"], strict=True):
        assert [place["graph"] for place in row["places"]] == [
            name for name, _ in catalogue.most_common(motif, 3)
        ]
        for place in row["places"]:
            nodes = [int(name.removeprefix("node ")) for name in place["names"]]
            edges = [
                (nodes.index(i), nodes.index(j))
                for i, j in graphs.edge_list(number[place["graph"]]).tolist()
                if i in nodes and j in nodes
            ]
            offset = graphs.node_offsets[number[place["graph"]]]
            types = graphs.node_types[[offset + node for node in nodes]].tolist()
            matrix = [[int((i, j) in edges) for j in range(len(nodes))] for i in range(len(nodes))]
            assert Pattern.of(types, matrix) == pattern
            drawn = {box[6]: data["palette"][box[0]][0] for box in place["picture"]["b"] if box[5]}
            assert set(drawn) == {f"node {node}" for node in nodes}
            assert sorted(drawn.values()) == sorted(pattern.type_names)
        listed = {
            (graph, frozenset(data["names"][node] for node in nodes)) for graph, nodes, *_ in row["listed"]
        }
        assert len(listed) == len(row["listed"]) == min(motif.support.occurrences, 10_000 // 30)
        assert all(tensors == [None, None] for _, _, *tensors in row["listed"])  # the set has no files


def test_nothing_is_asked_of_the_network(page: Path) -> None:
    text = page.read_text()
    addresses = set(re.findall(r"""(?:https?:)?//[\w.-]+\.\w+[^\s"'<>)\\]*""", text))
    assert addresses == {"http://www.w3.org/2000/svg"}
    elements = read(page).tags
    assert not [tag for tag, _ in elements if tag in ("link", "img", "iframe", "object", "embed", "base")]
    assert not [tag for tag, given in elements if "src" in given or "href" in given]
    policy = next(
        given["content"] for tag, given in elements if given.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def hostile_set(names: bool = True) -> GraphSet:
    return GraphSet.from_edges(
        node_counts=[4],
        node_types=[0, 1, 1, 0],
        edge_counts=[3],
        edges=[[0, 1], [1, 2], [2, 3]],
        node_vocabulary=[HOSTILE, "conv"],
        graph_names=[HOSTILE],
        node_names=[HOSTILE] * 4 if names else None,
    )


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    graphs = hostile_set()
    pattern = Pattern.of(
        [0, 1, 1], [[0, 1, 0], [0, 0, 1], [0, 0, 0]], graphs.node_vocabulary, graphs.edge_vocabulary
    )
    assert count_pattern(graphs, pattern).occurrences == 1
    run = make_run(tmp_path / HOSTILE.replace("/", ""), graphs, [(pattern, 1)], spec=HOSTILE)
    write_page(run, tmp_path / "page.html", graphs)
    reader = read(tmp_path / "page.html")
    assert [tag for tag, _ in reader.tags if tag in ("script", "img")] == ["script", "script"]
    assert HOSTILE in reader.text["title"]
    row = reader.data["motifs"][0]
    assert {reader.data["palette"][number][0] for number in row["types"]} == {HOSTILE, "conv"}
    assert row["places"][0]["graph"] == HOSTILE


def test_a_run_whose_set_is_gone_still_gets_a_page(tmp_path: Path) -> None:
    graphs = hostile_set()
    pattern = Pattern.of([1, 1], [[0, 1], [0, 0]], graphs.node_vocabulary, graphs.edge_vocabulary)
    write_page(make_run(tmp_path / "a", graphs, [(pattern, 1)], "no-such-set"), tmp_path / "a.html")
    write_page(make_run(tmp_path / "b", graphs, [(pattern, 1)], "zoo-mini"), tmp_path / "b.html")
    assert "cannot be read here" in (tmp_path / "a.html").read_text()
    assert "has changed since the run" in (tmp_path / "b.html").read_text()
    assert read(tmp_path / "b.html").data["motifs"][0]["places"] == []


def test_a_page_of_gates_has_no_word_of_neural_networks(tmp_path: Path) -> None:
    graphs = GraphSet.from_edges(
        node_counts=[5],
        node_types=[0, 1, 0, 1, 0],
        edge_counts=[4],
        edges=[[0, 1], [1, 2], [2, 3], [3, 4]],
        node_vocabulary=["nand", "flip-flop"],
        origin="gates",
    )
    pattern = Pattern.of([0, 1], [[0, 1], [0, 0]], graphs.node_vocabulary, graphs.edge_vocabulary)
    write_page(make_run(tmp_path / "run", graphs, [(pattern, 2)], "gates"), tmp_path / "page.html", graphs)
    reader = read(tmp_path / "page.html")
    assert reader.data["code"] == {"1": {"code": False}}
    shown = re.sub(r"<(script|style).*?</\1>", "", (tmp_path / "page.html").read_text(), flags=re.S).lower()
    words = ("operator", "tensor", "neural", "layer", "pytorch", "onnx", "model")
    assert [word for word in words if word in shown] == []


def test_motifs_of_different_sizes_say_which_contains_which(tmp_path: Path) -> None:
    graphs = hostile_set(names=False)
    names = graphs.node_vocabulary, graphs.edge_vocabulary
    pair = Pattern.of([1, 1], [[0, 1], [0, 0]], *names)
    three = Pattern.of([0, 1, 1], [[0, 1, 0], [0, 0, 1], [0, 0, 0]], *names)
    other = Pattern.of([1, 1, 0], [[0, 1, 0], [0, 0, 1], [0, 0, 0]], *names)
    write_page(
        make_run(tmp_path / "run", graphs, [(three, 2), (pair, 1), (other, 1)]), tmp_path / "p.html", graphs
    )
    rows = read(tmp_path / "p.html").data["motifs"]
    assert [row["contains"] for row in rows] == [[2], [], [2]]
    assert [row["near"] for row in rows] == [[3], [], [1]]


def test_the_settings_that_were_used_are_told_zeros_included(page: Path) -> None:
    text = page.read_text()
    for name, value in (("seed", "0"), ("beam", "200"), ("top", "30")):
        assert f'<th scope="row">{name}</th><td>{value}</td>' in text
    for name in ("fusible", "estimator", "preset", "sampler", "samples", "min graphs", "time budget"):
        assert f'<th scope="row">{name}</th>' not in text
    used = settings_used({"method": "sampling", "sampler": "nrs", "seed": 0, "min_graphs": 2, "never": []})
    assert used == {"method": "sampling", "sampler": "nrs", "seed": 0, "min_graphs": 2}


def test_the_page_says_what_may_be_missing(page: Path, mined: Path, tmp_path: Path) -> None:
    left_out = Catalogue.load(mined / "catalogue.sqlite").run["left_out"]
    assert left_out
    text = re.sub("</?code>", "`", page.read_text())
    assert f"Perhaps not complete: {'; '.join(left_out)}." in text


def test_a_run_that_was_stopped_early_says_so(tmp_path: Path) -> None:
    graphs = load("zoo-mini")
    pattern = Pattern.of([1, 1], [[0, 1], [0, 0]], graphs.node_vocabulary, graphs.edge_vocabulary)
    run = make_run(tmp_path / "run", graphs, [(pattern, 1)], stopped_before=9)
    write_page(run, tmp_path / "page.html")
    assert "stopped this run at 2 of 9 nodes" in (tmp_path / "page.html").read_text()
    assert read(tmp_path / "page.html").text["title"].strip() == "1 motif of zoo-mini, k = 2"


def test_the_same_run_gives_the_same_page(page: Path, mined: Path, tmp_path: Path) -> None:
    write_page(mined, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_a_catalogue_and_a_census_show_themselves_in_a_notebook(mined: Path) -> None:
    catalogue = Catalogue.load(mined / "catalogue.sqlite")
    shown = catalogue._repr_html_()
    assert shown.count("<svg") == 10
    assert f"<td>{catalogue.motifs[0].support.occurrences:,.0f}</td>" in shown
    census = take_census(dataclasses.replace(load("zoo-mini"), origin="<b>"), 3)
    assert "&lt;b&gt;" in census._repr_html_()
    assert f"<td>{census.top(1)[0][1]:,}</td>" in census._repr_html_()


def test_a_page_of_many_motifs_takes_four_kilobytes_for_each(page: Path, tmp_path: Path) -> None:
    """So 1,000 of them stay a file that browsers open: each shows fewer places than a motif among few."""
    out = tmp_path / "many.html"
    mine("zoo-mini", 5, tmp_path / "run", top=300, beam=300, threads=1, rank_by="occurrences", all=True)
    assert write_page(tmp_path / "run", out) == {"motifs": 300, "variants": 0, "others": 0}
    rows = read(out).data["motifs"]
    assert sum(map(len, map(json.dumps, rows))) < 300 * 4096
    beside = page.stat().st_size - len(read(page).text["data"])
    assert out.stat().st_size < beside + 300 * 4096 + 100_000

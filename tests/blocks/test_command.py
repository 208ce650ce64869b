"""``grade blocks`` from the outside, and `grade.blocks` from Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grade
from grade import GraphSet, InputError
from grade.graphs.storage import save_graph_set


def test_json_says_what_was_found(run: Any) -> None:
    code, out, err = run("blocks", "zoo-mini", "--min-count", "5", "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["nodes"] == 4187
    assert data["units"] == sum(model["units"] for model in data["models"])
    assert data["nodes"] == sum(model["nodes"] for model in data["models"])
    assert data["rules"] == len(data["blocks"])
    assert all(block["count"] >= 5 for block in data["blocks"])
    assert all(block["coverage"] == block["count"] * block["nodes"] for block in data["blocks"])
    assert len({block["name"] for block in data["blocks"]}) == len(data["blocks"])
    covered = [entry["coverage"] for entry in data["library"]]
    assert covered == sorted(covered)
    assert covered[-1] <= data["nodes"]


def test_limits_hold(run: Any) -> None:
    data = json.loads(run("blocks", "zoo-mini", "--min-graphs", "2", "--max-size", "12", "--json")[1])
    assert data["blocks"]
    assert all(block["nodes"] <= 12 and block["graphs"] >= 2 for block in data["blocks"])


def test_the_text_has_an_outline(run: Any) -> None:
    code, out, _ = run("blocks", "zoo-mini", "--top", "3", "--model", "tv/resnet34")
    assert code == 0
    assert "tv/resnet34: " in out
    assert "x residual-" in out.split("tv/resnet34: ")[1]


def test_equal_units_that_are_no_repetition_are_one_entry(run: Any, tmp_path: Path) -> None:
    """Two Relu of one Conv, then three Tanh in a row, each of which the end reads, too."""
    graphs = GraphSet.from_edges(
        node_counts=[7],
        node_types=[0, 1, 1, 2, 3, 3, 3],
        edge_counts=[8],
        edges=[[0, 1], [0, 2], [1, 3], [2, 3], [3, 4], [4, 5], [5, 6], [3, 6]],
        outputs=[False, False, False, False, True, True, True],
        node_vocabulary=["Conv", "Relu", "Add", "Tanh"],
    )
    save_graph_set(graphs, tmp_path / "set")
    out = run("blocks", "set")[1]
    assert "Conv; 2 Relu side by side; Add; 3 Tanh in a row" in out


def test_names_say_the_operators_in_the_order_of_computing(run: Any) -> None:
    names = [block["name"] for block in json.loads(run("blocks", "zoo-mini", "--json")[1])["blocks"]]
    assert {"conv-norm", "conv-norm-relu", "shape-gather", "sigmoid-mul", "residual-se-a"} <= set(names)


def test_a_result_is_kept_and_names_can_be_given(run: Any, tmp_path: Path) -> None:
    assert run("blocks", "zoo-mini", "--out", "kept")[0] == 0
    names = json.loads((tmp_path / "kept/names.json").read_text())
    first = json.loads((tmp_path / "kept/blocks.json").read_text())["blocks"][0]["name"]
    names[first] = "my-layer"
    (tmp_path / "kept/names.json").write_text(json.dumps(names))
    assert run("blocks", "zoo-mini", "--out", "kept")[0] == 0
    assert json.loads((tmp_path / "kept/blocks.json").read_text())["blocks"][0]["name"] == "my-layer"
    names["no-such-block"] = "x"
    (tmp_path / "kept/names.json").write_text(json.dumps(names))
    code, _, err = run("blocks", "zoo-mini", "--out", "kept")
    assert code == 2
    assert "no-such-block" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["zoo-mini", "--min-count", "1"], "--min-count"),
        (["zoo-mini", "--model", "none"], "The graph 'none' is not in the set"),
        (["zoo-mini", "--out", "full"], "full exists and holds no blocks"),
        (["no-such-set"], "no-such-set"),
    ],
)
def test_bad_input_gives_one_sentence(run: Any, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    code, out, err = run("blocks", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_result_without_blocks_says_why(run: Any) -> None:
    code, out, _ = run("blocks", "zoo-mini", "--min-count", "5", "--min-graphs", "13", "--max-size", "4")
    assert code == 0
    assert (
        "No region of two or more nodes occurs at least 5 times and in at least 13 graphs and with at most 4 nodes"
        in out
    )


def test_a_graph_that_is_not_there_is_refused_before_anything_is_written(run: Any, tmp_path: Path) -> None:
    assert run("blocks", "zoo-mini", "--model", "none", "--out", "kept", "--json")[:2] == (2, "")
    assert not (tmp_path / "kept").exists()


def test_an_empty_set_has_no_blocks(run: Any, tmp_path: Path) -> None:
    empty = GraphSet.from_edges(
        node_counts=[0], node_types=[], edge_counts=[0], edges=[], node_vocabulary=["a"]
    )
    save_graph_set(empty, tmp_path / "empty")
    code, out, _ = run("blocks", "empty", "--json")
    assert code == 0
    assert json.loads(out)["units"] == 0


def test_occurrences_are_disjoint_and_of_one_structure() -> None:
    found = grade.blocks("zoo-mini", min_count=5)
    types = found.graphs.node_types
    for block in found:
        nodes = found.occurrences(block)
        assert nodes.shape == (block.count, block.nodes)
        assert len(np.unique(nodes)) == block.coverage
        assert (types[nodes] == types[nodes[0]]).all()


def test_settings_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InputError, match="no setting colour"):
        grade.blocks("zoo-mini", colour="red")


def test_a_result_shows_itself(tmp_path: Path) -> None:
    found = grade.blocks("zoo-mini", min_count=5)
    table = found._repr_html_()
    assert table.count("<tr>") == 11
    assert f"<td>{found.blocks[0].name}</td><td>{found.blocks[0].nodes}</td>" in table
    page = found.report(tmp_path / "page.html").read_text()
    assert f"{found.units:,} units" in page
    assert repr(found) == (
        f"Blocks('zoo-mini': 4,187 nodes in 12 graphs as {found.units:,} units, {len(found):,} blocks)"
    )


def test_numbers_past_32_bits_are_limits_like_others(run: Any) -> None:
    plain = json.loads(run("blocks", "zoo-mini", "--json")[1])
    wide = json.loads(run("blocks", "zoo-mini", "--max-size", "9223372036854775808", "--json")[1])
    assert wide["blocks"] == plain["blocks"]
    assert json.loads(run("blocks", "zoo-mini", "--min-graphs", str(2**70), "--json")[1])["blocks"] == []


def rings(names: list[str], cyclic: list[bool]) -> GraphSet:
    """Chains of four, of which the cyclic ones are closed to a ring."""
    chain = [[0, 1], [1, 2], [2, 3]]
    return GraphSet.from_edges(
        node_counts=[4] * len(names),
        node_types=[0, 1, 0, 1] * len(names),
        edge_counts=[3 + closed for closed in cyclic],
        edges=[edge for closed in cyclic for edge in [*chain, *([[3, 0]] if closed else [])]],
        node_vocabulary=["conv", "relu"],
        graph_names=names,
    )


def test_graphs_with_cycles_are_left_out_and_named(run: Any, tmp_path: Path) -> None:
    save_graph_set(rings(["a", "round", "b"], [False, True, False]), tmp_path / "set")
    code, out, _ = run("blocks", "set", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["left_out"] == ["round"]
    assert [model["name"] for model in data["models"]] == ["a", "b"]
    assert data["nodes"] == 8
    code, out, _ = run("blocks", "set", "--out", "kept")
    assert code == 0
    assert "1 graph has a directed cycle and was left out: round" in out
    page = (tmp_path / "kept/blocks.html").read_text()
    assert "1 graph has a directed cycle and is left out: round." in page
    code, _, err = run("blocks", "set", "--model", "round")
    assert code == 2
    assert "'round' has a directed cycle" in err


def test_a_set_of_cycles_only_is_refused(run: Any, tmp_path: Path) -> None:
    save_graph_set(rings(["one", "two"], [True, True]), tmp_path / "set")
    code, out, err = run("blocks", "set")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "all 2 graphs have a directed cycle" in err


def test_a_repetition_of_repetitions_has_a_name(run: Any, tmp_path: Path) -> None:
    """Two chains of two, of which the second continues the first, linked at other places than their own two."""
    types = [2, 0, 1, 0, 2, 0, 1, 1, 0, 1, 1, 2, 0, 2, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1]
    edges = (
        "0>1 1>2 1>3 3>4 3>5 5>6 5>7 6>7 7>8 8>9 6>9 8>10 7>10 8>11 9>12 10>13 11>13 11>14 13>14 12>15 14>15"
    )
    edges += " 14>16 16>17 14>17 17>18 15>18 16>19 18>20 19>20 20>21 20>22 20>23 22>23"
    graphs = GraphSet.from_edges(
        node_counts=[len(types)],
        node_types=types,
        edge_counts=[len(edges.split())],
        edges=[[int(end) for end in edge.split(">")] for edge in edges.split()],
        node_vocabulary=["a", "b", "c"],
    )
    save_graph_set(graphs, tmp_path / "set")
    found = grade.blocks(graphs, min_count=2)
    nested = [unit for unit in found.outline(0) if found.grammar.copies[unit.base]]
    assert [found.text(unit) for unit in nested] == ["2 x (2 x b)"]
    run("blocks", str(tmp_path / "set"), "--min-count", "2", "--out", str(tmp_path / "found"))
    assert "2 x (2 x b)" in (tmp_path / "found" / "blocks.html").read_text()

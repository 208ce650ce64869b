"""The command 'grade verify' end to end."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade.graphs import Pattern
from grade.sampling.census import take_census
from grade.sources import load
from grade.verify import count_pattern


@pytest.mark.parametrize("name", ["census.npz", "census.parquet"])
def test_a_census_is_verified(run: Any, name: str) -> None:
    mini = load("zoo-mini")
    census = take_census(mini, 4)
    census.save(name)
    result = run("verify", name, "zoo-mini", "--top", "12", "--threads", "1", "--json")
    assert (result.code, result.err) == (0, "")
    data = json.loads(result.out)
    assert (data["set"], data["patterns"], data["exact"], data["threads"]) == ("zoo-mini", 12, 12, 1)
    assert data["nodes"] == mini.nodes
    top = census.top(12)
    assert [(row["key"], row["occurrences"]) for row in data["supports"]] == [(p.key, c) for p, c in top]
    for row, (pattern, _) in zip(data["supports"], top, strict=True):
        support = count_pattern(mini, pattern)
        for field in (
            "graphs",
            "disjoint",
            "coverage",
            "occurrences_quality",
            "graphs_quality",
            "disjoint_quality",
        ):
            assert row[field] == getattr(support, field), field
        assert row["most_common"] == [[mini.graph_names[g], n] for g, n in support.most_common(10)]


def test_keys_from_a_file_of_several_sizes(run: Any, tmp_path: Path) -> None:
    mini = load("zoo-mini")
    keys = [take_census(mini, k).top(1)[0][0].key for k in (5, 2, 3)]
    (tmp_path / "keys.txt").write_text("\n".join(keys) + "\n\n")
    assert run("verify", "keys.txt", "zoo-mini", "--out", "supports.csv").code == 0
    with (tmp_path / "supports.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["key"] for row in rows] == keys
    assert [int(row["occurrences"]) for row in rows] == [take_census(mini, k).top(1)[0][1] for k in (5, 2, 3)]

    assert run("verify", "keys.txt", "zoo-mini", "--top", "2", "--out", "supports.json").code == 0
    stored = json.loads((tmp_path / "supports.json").read_text())
    assert [row["key"] for row in stored] == keys[:2]
    for row in stored:
        assert sum(count for _, count in row["most_common"]) == row["occurrences"]
        assert len(row["most_common"]) == row["graphs"]


def test_one_key_with_and_without_fusible(run: Any) -> None:
    mini = load("zoo-mini")
    names = mini.node_vocabulary
    pattern = Pattern.of([names.index("Conv"), names.index("Relu")], [[0, 1], [0, 0]])
    every = json.loads(run("verify", pattern.code, "zoo-mini", "--json").out)["supports"][0]
    fusible = json.loads(run("verify", pattern.code, "zoo-mini", "--fusible", "--json").out)["supports"][0]
    assert every["key"] == "Conv -> Relu"
    assert every["occurrences"] == count_pattern(mini, pattern).occurrences
    assert fusible["occurrences"] == count_pattern(mini, pattern, fusible=True).occurrences
    assert 0 < fusible["occurrences"] <= every["occurrences"]


def test_the_table_is_ordered_and_marks_lower_bounds(run: Any, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("0.1/0>1\n1.1/0>1\n")
    np.savez(
        tmp_path / "set.npz",
        node_offsets=[0, 4],
        node_types=[0, 1, 1, 1],
        edge_offsets=[0, 4],
        edges=[[0, 1], [0, 2], [0, 3], [1, 2]],
        op_names=["in", "conv"],
        names=["net"],
    )
    full = run("verify", "keys.txt", "set.npz").out.splitlines()
    assert full[0].startswith("set.npz: 2 patterns, 2 counted exactly")
    assert full[1].split() == ["occurrences", "graphs", "disjoint", "coverage", "pattern"]
    assert full[2].split() == ["3", "1", "1", "100.00", "%", "in", "->", "conv"]
    assert full[3].split() == ["1", "1", "1", "50.00", "%", "conv#1", "->", "conv#2"]
    cut = run("verify", "keys.txt", "set.npz", "--seconds-per-pattern", "0").out.splitlines()
    assert "0 counted exactly" in cut[0]
    assert cut[2].split()[:6] == [">=", "0", ">=", "0", ">=", "0"]


def test_a_count_that_is_cut_off_is_estimated(run: Any) -> None:
    """Without any time to count, the estimate is all there is; it is near the truth, with its error."""
    mini = load("zoo-mini")
    take_census(mini, 5).save("census.npz")
    arguments = ["verify", "census.npz", "zoo-mini", "--top", "20", "--seconds-per-pattern", "0"]
    data = json.loads(run(*arguments, "--json").out)
    assert data["exact"] == 0
    for row, (pattern, count) in zip(data["supports"], take_census(mini, 5).top(20), strict=True):
        assert (row["key"], row["occurrences_quality"]) == (pattern.key, "estimate")
        assert abs(row["occurrences"] - count) <= 6 * row["standard_error"] + 0.05 * count
        assert row["graphs_quality"] == "lower bound"
    assert all(line.split()[0] == "~" for line in run(*arguments).out.splitlines()[2:])
    spent = json.loads(run(*arguments, "--time-budget", "0.001s", "--json").out)
    assert {row["occurrences_quality"] for row in spent["supports"]} == {"lower bound"}
    fusible = json.loads(run(*arguments, "--fusible", "--json").out)
    for row, (pattern, _) in zip(fusible["supports"], take_census(mini, 5).top(20), strict=True):
        count = count_pattern(mini, pattern, fusible=True).occurrences
        assert row["occurrences_quality"] == ("estimate" if count else "lower bound")
        assert abs(row["occurrences"] - count) <= 6 * (row["standard_error"] or 0) + 0.05 * count


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.txt", "zoo-mini"], "nowhere.txt cannot be read"),
        (["nowhere.npz", "zoo-mini"], "no census nowhere.npz"),
        (["0.1/", "zoo-mini"], "connected"),
        (["0.1/0>7", "zoo-mini"], "out of range"),
        (["0.1/0>1", "zoo-mini", "--top", "0"], "number of patterns to take is 0"),
        (["0.1/0>1", "zoo-mini", "--threads", "0"], "--threads is 0"),
        (["0.1/0>1", "zoo-mini", "--seconds-per-pattern", "-1"], "time limit is -1"),
        (["0.1/0>1", "zoo-mini", "--time-budget", "soon"], "'soon' is not a length of time"),
        (["0.1/0>1", "zoo-mini", "--out", "supports.txt"], "must end in .csv or .json"),
        (["0.1/0>1", "zoo-mini", "--out", "nowhere/supports.csv"], "does not exist"),
    ],
)
def test_bad_input_is_one_sentence(run: Any, tmp_path: Path, arguments: list[str], message: str) -> None:
    result = run("verify", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_keys_is_refused(run: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    result = run("verify", "empty.txt", "zoo-mini")
    assert result.code == 2
    assert "holds no patterns" in result.err


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("8.0/0>1", "has node type 8"),
        ("0.0.0/0>1", "is not connected"),
        ("Conv* -> Add; Relu", "is not connected"),
        ("Conv ->", "cannot be read"),
    ],
)
def test_a_line_that_is_no_pattern_is_named(run: Any, tmp_path: Path, line: str, sentence: str) -> None:
    (tmp_path / "set.jsonl").write_text('{"nodes": ["Conv", "Relu"], "edges": [[0, 1]]}\n')
    (tmp_path / "patterns.txt").write_text(f"Conv -> Relu\n\n{line}\n")
    result = run("verify", "patterns.txt", "set.jsonl")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("grade: patterns.txt, line 3: ")
    assert sentence in result.err


def test_the_maximum_of_occurrences_that_share_no_node(run: Any) -> None:
    """Beside the greedy packing, never below it; a query, which stands for many patterns, is refused."""
    result = run("verify", "Relu#1 -> Concat -> Conv; Relu#2 -> Concat", "zoo-mini", "--maximum", "--json")
    assert (result.code, result.err) == (0, "")
    [row] = json.loads(result.out)["supports"]
    assert row["maximum_disjoint"] >= row["disjoint"] > 0
    assert row["maximum_disjoint_quality"] in ("exact", "lower bound")
    assert "most that share no node: " in run("verify", "Conv -> Relu", "zoo-mini", "--maximum").out
    refused = run("verify", "* -> Conv", "zoo-mini", "--maximum")
    assert (refused.code, refused.out) == (2, "")
    assert "--maximum needs an induced pattern without wildcards" in refused.err

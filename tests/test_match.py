"""A library against a set: shares, unions and the remainder, compared with lists of occurrences."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grade
from grade import GraphSet, InputError
from grade.match import read_library, without
from grade.sources import load
from grade.verify import QueryVerifier, Verifier, count_pattern
from tests.graph_sets import graph_sets
from tests.reference import dense

GRADE = [sys.executable, "-m", "grade.cli"]


def test_shares_are_those_of_the_occurrences() -> None:
    graphs = load("zoo-mini")
    found = grade.match("fusions", graphs, remaining=0, threads=1)
    by_name = {one.name: one.pattern for one in read_library("fusions", graphs)}
    assert len(by_name) == len(found.entries) + len(found.absent) >= 50
    verifier, union, occurring = Verifier(graphs, 1), set[int](), {}
    for entry in found.entries:
        pattern = by_name[entry.name]
        if isinstance(pattern, grade.Pattern):
            rows = verifier.occurrences(pattern, 10**6, 60.0)
            assert entry.support.occurrences == len(rows) == count_pattern(graphs, pattern).occurrences
        else:
            rows = QueryVerifier(graphs).occurrences(pattern, 10**6)
        assert entry.support.coverage == len(np.unique(rows))
        union |= set(rows.ravel().tolist())
        occurring[entry.name] = rows
    assert found.covered == len(union) == sum(entry.adds for entry in found.entries)
    assert not found.remaining
    # Each line adds the most that any of those from it on could, beside the lines above.
    masks = [set(np.unique(occurring[entry.name]).tolist()) for entry in found.entries]
    above = set[int]()
    for number, entry in enumerate(found.entries):
        assert entry.adds == len(masks[number] - above) == max(len(mask - above) for mask in masks[number:])
        above |= masks[number]


def test_a_library_of_other_names_says_so() -> None:
    graphs = GraphSet.from_edges(
        node_counts=[2],
        node_types=[0, 1],
        edge_counts=[1],
        edges=[[0, 1]],
        node_vocabulary=["aten.conv2d", "aten.relu"],
    )
    found = grade.match("fusions", graphs)
    assert found.covered == 0
    assert found.notes == [
        "Every pattern of the library names a type that the set lacks; it has aten.conv2d, aten.relu. Build it with"
        " `names` onnx, and operators of PyTorch have the names of ONNX."
    ]
    assert grade.match("aten.conv2d -> aten.relu", graphs).notes == []


def test_what_remains_is_outside_of_the_library() -> None:
    graphs = load("zoo-mini")
    found = grade.match("Conv -> BatchNormalization -> Relu", graphs, remaining=5, threads=1)
    assert found.covered == 603
    taken = np.zeros(graphs.nodes, bool)
    pattern = read_library("Conv -> BatchNormalization -> Relu", graphs)[0].pattern
    taken[np.unique(Verifier(graphs, 1).occurrences(pattern, 10**6, 60.0))] = True  # type: ignore[arg-type]  # a pattern or a query
    rest = without(graphs, taken)
    assert rest.nodes == graphs.nodes - 603
    for motif in found.remaining:
        outside = read_library(motif.pattern, rest)[0].pattern
        assert count_pattern(rest, outside).disjoint >= motif.occurrences  # type: ignore[arg-type, operator]  # the same; counted exactly
        assert motif.covers == motif.occurrences * outside.size
    assert found.covered + sum(motif.covers for motif in found.remaining) <= graphs.nodes


@given(graph_sets(), st.randoms())
def test_without_keeps_what_is_not_covered(graphs: GraphSet, random: object) -> None:
    covered = np.array([random.random() < 0.4 for _ in range(graphs.nodes)], bool)  # type: ignore[attr-defined]  # a fixture without a type
    rest = without(graphs, covered)
    assert list(rest.graph_names) == list(graphs.graph_names)
    for graph in range(len(graphs)):
        begin, end = graphs.node_offsets[graph : graph + 2]
        kept = ~covered[begin:end]
        types, edges = dense(graphs, graph)
        left_types, left_edges = dense(rest, graph)
        assert left_types.tolist() == types[kept].tolist()
        assert left_edges.tolist() == edges[np.ix_(kept, kept)].tolist()


def test_the_command_reads_a_library(tmp_path: Path) -> None:
    (tmp_path / "library.txt").write_text(
        "block: Conv -> BatchNormalization\nany: Conv* -> *\nnone: Relu -> LSTM\nslip: Conv -> Rellu\n"
    )
    arguments = ["match", str(tmp_path / "library.txt"), "zoo-mini", "--remaining", "2"]
    done = subprocess.run([*GRADE, *arguments, "--json"], capture_output=True, text=True, check=True)
    data = json.loads(done.stdout)
    assert [row["name"] for row in data["patterns"]] == ["any", "block"]
    assert data["absent"] == ["none", "slip"]
    assert data["notes"] == ["The set has no type 'Rellu'; did you mean 'Relu'?"]
    assert data["share"] == data["covered"] / data["nodes"]
    assert len(data["remaining"]) == 2
    lines = subprocess.run([*GRADE, *arguments], capture_output=True, text=True, check=True).stdout
    assert "2 of 4 patterns" in lines
    assert "without an occurrence: none, slip\nThe set has no type 'Rellu'; did you mean 'Relu'?\n" in lines
    assert "outside the library, the best that a search found:" in lines


def test_fusible_occurrences_only() -> None:
    whole, fusible = (
        grade.match("Add -> LayerNormalization", "zoo-mini", fusible=f, remaining=0) for f in (False, True)
    )
    pattern = read_library("Add -> LayerNormalization", load("zoo-mini"))[0].pattern
    expected = count_pattern(load("zoo-mini"), pattern, fusible=True)  # type: ignore[arg-type]  # a pattern or a query
    assert (
        fusible.entries[0].support.occurrences == expected.occurrences < whole.entries[0].support.occurrences
    )


def test_bad_libraries_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read as patterns"):
        grade.match("no-such-library", "zoo-mini")
    (tmp_path / "bad.txt").write_text("name: Conv -> Relu -> Conv\n")
    with pytest.raises(InputError, match="Conv twice in one chain"):
        grade.match(tmp_path / "bad.txt", "zoo-mini")
    with pytest.raises(InputError, match="`remaining` is -1"):
        grade.match("fusions", "zoo-mini", remaining=-1)

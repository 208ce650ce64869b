import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from grade import GraphSet, InputError
from grade.graphs.concatenation import join
from grade.settings import ReadSettings
from grade.sources import json_lines, load
from tests.graph_sets import raw_graph_sets
from tests.sources.mutations import mutated, outcome

LINES = [
    {"nodes": ["conv", "relu", "conv"], "edges": [[0, 1], [1, 2]], "name": "block"},
    {"nodes": [{"type": "conv", "name": "stem"}, {"type": 7}], "edges": [[0, 1, "skip"], [1, 1]]},
    {"nodes": [], "edges": []},
]


def write(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def described(graphs: GraphSet) -> list[Any]:
    """What a set says, in words: it does not depend on how types are numbered."""
    return [
        (
            graphs.graph_names[graph],
            [
                graphs.node_vocabulary[t]
                for t in graphs.node_types[graphs.node_offsets[graph] : graphs.node_offsets[graph + 1]]
            ],
            graphs.edge_list(graph).tolist(),
            [graphs.edge_vocabulary[t] for t in graphs.edge_types_of(graph)],
        )
        for graph in range(len(graphs))
    ]


def test_both_forms_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "graphs.jsonl", LINES)
    graphs = load(path)
    assert described(graphs) == [
        ("block", ["conv", "relu", "conv"], [[0, 1], [1, 2]], ["edge", "edge"]),
        (f"{path}:2", ["conv", "7"], [[0, 1], [1, 1]], ["skip", "edge"]),
        (f"{path}:3", [], [], []),
    ]
    assert graphs.node_names is not None
    assert list(graphs.node_names) == ["", "", "", "stem", ""]


@given(raw=raw_graph_sets())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_any_set_is_read_back(raw: dict[str, Any], tmp_path: Path) -> None:
    graphs, lines = GraphSet.from_edges(**raw), []
    for name, types, edges, kinds in described(graphs):
        lines.append(
            {"name": name, "nodes": types, "edges": [[*e, k] for e, k in zip(edges, kinds, strict=True)]}
        )
    assert described(load(write(tmp_path / "graphs.jsonl", lines))) == described(graphs)


def test_large_files_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "BATCH", 4)
    path = write(tmp_path / "graphs.ndjson", LINES * 5)
    pieces = list(json_lines.read_json_lines(str(path)))
    assert [len(piece) for piece in pieces] == [2, 3, 3, 3, 3, 1]
    assert [row[1:] for row in described(join(pieces, "all"))] == [row[1:] for row in described(load(path))]


def test_another_key_can_hold_the_type(tmp_path: Path) -> None:
    path = write(tmp_path / "graphs.jsonl", [{"nodes": [{"op": "conv", "type": "x"}], "edges": []}])
    assert load(path, ReadSettings(type_key="op")).node_vocabulary == ("conv",)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "it is not JSON"),
        ("[1]", "it is no object like"),
        ('{"nodes": ["a"]}', 'it lacks a list "nodes" or a list "edges"'),
        (
            '{"nodes": [{"op": "a"}], "edges": []}',
            "a node has no 'type' (another key can be named with `type_key`)",
        ),
        ('{"nodes": [[1]], "edges": []}', "a type or name is neither text nor a whole number"),
        ('{"nodes": ["a"], "edges": [[0, 1]]}', "an edge names a node outside 0 to 0"),
        ('{"nodes": ["a"], "edges": [[0, true]]}', "an edge names a node outside 0 to 0"),
        ('{"nodes": ["a"], "edges": [[0, 1e999]]}', "an edge names a node outside 0 to 0"),
        ('{"nodes": ["a"], "edges": [[0]]}', "an edge is not [source, target]"),
        ('{"nodes": ["a"], "edges": [[0, 0], [0, 0]]}', "the edge [0, 0] is there twice"),
        ('{"nodes": ["a"], "edges": [[0, 0, "none"]]}', "which is the word for no edge"),
        ("[" * 100_000, "it is nested too deep"),
        ("9" * 10_000, "it is not JSON"),
        ('{"nodes": ["a\udcff"], "edges": []}', "it is not JSON"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "graphs.jsonl"
    path.write_text(json.dumps(LINES[0]) + "\n" + line + "\n", errors="surrogateescape")
    with pytest.raises(InputError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}, line 2: ")
    assert reason in str(error.value)


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "MAX_LINE", 20)
    with pytest.raises(InputError, match="it is longer than 20 bytes"):
        load(write(tmp_path / "graphs.jsonl", LINES))


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "graphs.jsonl"
    path.write_text('{"nodes": ["\\ud800", "\\udfff"], "edges": []}')
    assert load(path).node_vocabulary == ("?",)


def fuzz(folder: Path, rounds: int) -> None:
    whole = write(folder / "whole.jsonl", LINES).read_bytes()
    rng = random.Random(6)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(rounds):
        path = folder / "mutated.jsonl"
        path.write_bytes(mutated(whole, rng))
        outcomes[outcome(path, ReadSettings())] += 1
    assert min(outcomes.values()) > rounds // 20


def test_mutated_files(tmp_path: Path) -> None:
    fuzz(tmp_path, 300)


@pytest.mark.slow
def test_many_mutated_files(tmp_path: Path) -> None:
    fuzz(tmp_path, 10_000)

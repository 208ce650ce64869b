"""A set that is checked and described piece by piece: the same as in one piece, and no damage is missed."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grade import GraphSet
from grade.errors import InputError
from grade.graphs import in_pieces as pieces
from grade.graphs.digests import structure_digests
from grade.graphs.storage import load_graph_set, save_graph_set
from grade.graphs.stored_arrays import STRUCTURE
from grade.graphs.summary import summarize
from grade.sources import load
from tests.graph_sets import graph_sets
from tests.native.test_census import random_set


@given(graph_sets(max_graphs=6, max_nodes=5), st.integers(1, 12))
def test_pieces_add_up_to_the_whole(graphs: GraphSet, size: int) -> None:
    whole = asdict(summarize(graphs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE", size)
        assert asdict(summarize(graphs)) == whole
    digests = structure_digests(graphs)
    assert whole["duplicate_graphs"] == len(digests) - len(set(digests))


def test_equal_graphs_have_equal_fingerprints() -> None:
    mini = load("zoo-mini")
    twice = mini.subset([*range(len(mini)), *range(len(mini))])
    (piece,) = pieces.pieces(twice, 3)
    half = len(mini)
    assert np.array_equal(piece.fingerprints[:half], piece.fingerprints[half:])
    assert len(set(piece.fingerprints.tolist())) == half
    assert summarize(twice).duplicate_graphs == half


def put(place: int | slice, value: int) -> Callable[[NDArray[np.int64]], None]:
    return lambda array: array.__setitem__(place, value)


DAMAGE: dict[str, tuple[str, Callable[[NDArray[np.int64]], None], str]] = {
    "an edge to another graph": ("out_targets", lambda a: a.__setitem__(3, a.max()), "leaves|disagree|order"),
    "an edge to no node": ("out_targets", put(0, 2**32 - 1), "leaves its graph"),
    "a source of no node": ("in_sources", put(0, 2**32 - 1), "disagree"),
    "another source": ("in_sources", lambda a: a.__setitem__(5, a[5] + 1), "disagree"),
    "another type one way": ("in_types", lambda a: a.__setitem__(7, 3 - a[7]), "disagree"),
    "type 0": ("out_types", put(7, 0), "type 0"),
    "an unknown type of edge": ("out_types", put(slice(None), 9), "vocabulary|disagree"),
    "an unknown type of node": ("node_types", put(2, 500), "vocabulary"),
    "offsets that go back": ("out_offsets", lambda a: a.__setitem__(3, a[4] + 5), "offsets|disagree|order"),
    "in-coming offsets that go back": ("in_offsets", put(3, -7), "offsets"),
    "offsets beyond the end": ("in_offsets", put(slice(9, None), 10**9), "offsets"),
}


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("size", [1, 10**6])
def test_damage_is_found_as_the_core_finds_it(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = random_set(np.random.default_rng(1), 4, 12, 3, 2, 2.0)
    monkeypatch.setattr(pieces, "PIECE", size)
    graphs.check()
    field, damage, message = DAMAGE[name]
    array = getattr(graphs, field).copy()
    damage(array)
    damaged = replace(graphs, **{field: array})
    with pytest.raises(InputError, match=message):
        damaged.check()
    with pytest.raises(InputError, match=message):
        summarize(damaged)
    with pytest.raises(InputError):
        _ = damaged.core


def test_pages_of_files_are_given_back_and_read_again(tmp_path: Path) -> None:
    save_graph_set(load("zoo-mini"), tmp_path / "set")
    opened = load_graph_set(tmp_path / "set")
    before = {name: getattr(opened, name).copy() for name in STRUCTURE}
    for array in [getattr(opened, name) for name in STRUCTURE]:
        pieces.give_back(array)
        pieces.give_back(array[3:7])
    own = np.arange(5)
    pieces.give_back(own)
    assert own.tolist() == [0, 1, 2, 3, 4]
    assert all(np.array_equal(getattr(opened, name), before[name]) for name in STRUCTURE)

"""Parts: exact counts of small subgraphs, and the two estimates that follow from them."""

from pathlib import Path

import numpy as np
import pytest

from grade import GraphSet
from grade.errors import InputError
from grade.graphs.sample import load_sample, save_sample
from grade.sampling import sample
from grade.sampling.part_census import count_parts


def chains(number: int, tail: int) -> GraphSet:
    """So many chains a -> b -> c -> d, and some b -> c alone, as graphs of their own."""
    return GraphSet.from_edges(
        node_counts=[4] * number + [2] * tail,
        node_types=[0, 1, 2, 3] * number + [1, 2] * tail,
        edge_counts=[3] * number + [1] * tail,
        edges=[[0, 1], [1, 2], [2, 3]] * number + [[0, 1]] * tail,
        node_vocabulary=["a", "b", "c", "d"],
    )


@pytest.mark.parametrize("piece", [1, 2, 1 << 18])
def test_loops_are_part_of_a_nodes_kind(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grade.sampling.part_census.PIECE", piece)
    graphs = GraphSet.from_edges(
        node_counts=[3],
        node_types=[0, 0, 0],
        edge_counts=[2],
        edges=[[0, 0], [0, 1]],
        edge_types=[2, 1],
        node_vocabulary=["a"],
        edge_vocabulary=["none", "edge", "loop"],
    )
    counts = count_parts(graphs, 2).counts
    assert {p.code: w for p, w in zip(counts.tables[1], counts.weights[1], strict=True)} == {
        "0/": 2.0,
        "0/0>0:2": 1.0,
    }


def test_sizes_with_more_patterns_than_are_held_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = chains(2, 0)
    # 3 patterns of 2 nodes and 2 of 3 nodes: by their growth, 4/3 of 4 nodes
    monkeypatch.setattr("grade.sampling.part_census.MOST_HELD", 1)
    assert count_parts(graphs, 4, thrifty=True).size == 3
    assert count_parts(graphs, 4).size == 4
    monkeypatch.setattr("grade.sampling.part_census.MOST_HELD", 2)
    assert count_parts(graphs, 4, thrifty=True).size == 4


def test_a_sample_brings_its_parts_along(tmp_path: Path) -> None:
    drawn = sample(chains(6, 3), 4, "rand-esu", count=20, seed=1)
    save_sample(drawn, tmp_path / "s")
    again = load_sample(tmp_path / "s")
    assert drawn.parts is not None
    assert again.parts is not None
    assert again.parts.size == 3
    for size, weights in drawn.parts.counts.weights.items():
        np.testing.assert_array_equal(again.parts.counts.weights[size], weights)
        np.testing.assert_array_equal(
            again.parts.counts.tables[size].keys, drawn.parts.counts.tables[size].keys
        )

    save_sample(sample(chains(6, 3), 4, "rand-esu", count=20, seed=1, parts=0), tmp_path / "none")
    assert load_sample(tmp_path / "none").parts is None
    with pytest.raises(InputError, match="size of the parts is 4"):
        sample(chains(6, 3), 4, "rand-esu", count=20, parts=4)


@pytest.mark.parametrize("damage", ["garbage", "not canonical", "negative", "gap"])
def test_damaged_parts_are_refused(tmp_path: Path, damage: str) -> None:
    save_sample(sample(chains(6, 3), 4, "rand-esu", count=20, seed=1), tmp_path / "s")
    path = tmp_path / "s" / "parts.npz"
    if damage == "garbage":
        path.write_bytes(b"PK nothing")
    else:
        with np.load(path) as archive:
            arrays = dict(archive)
        if damage == "not canonical":
            arrays["parts.2.node_types"] = arrays["parts.2.node_types"][:, ::-1]
        elif damage == "negative":
            arrays["parts.3.weights"] = -arrays["parts.3.weights"]
        else:
            arrays = {name: array for name, array in arrays.items() if ".2." not in name}
        np.savez(path, **arrays)
    with pytest.raises(InputError, match=r"damaged \(parts.npz"):
        load_sample(tmp_path / "s")

"""Parts: exact counts of small subgraphs, and the two estimates that follow from them."""

import math
from collections import Counter
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grade import GraphSet
from grade.errors import InputError
from grade.graphs import Pattern, PatternTable
from grade.graphs.part_counts import UNSEEN, PartCounts
from grade.graphs.sample import load_sample, save_sample
from grade.sampling import sample
from grade.sampling.part_census import count_parts
from tests.graph_sets import graph_sets


def chains(number: int, tail: int) -> GraphSet:
    """So many chains a -> b -> c -> d, and some b -> c alone, as graphs of their own."""
    return GraphSet.from_edges(
        node_counts=[4] * number + [2] * tail,
        node_types=[0, 1, 2, 3] * number + [1, 2] * tail,
        edge_counts=[3] * number + [1] * tail,
        edges=[[0, 1], [1, 2], [2, 3]] * number + [[0, 1]] * tail,
        node_vocabulary=["a", "b", "c", "d"],
    )


CHAIN = PatternTable.canonical(
    [[0, 1, 2, 3]], [[[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]], ["a", "b", "c", "d"]
)


def test_a_chain_is_its_overlapping_parts_joined() -> None:
    """N(abc) N(bcd) / N(bc), and the rarest part."""
    joined, rarest = count_parts(chains(6, 3), 3).evidence(CHAIN)[0]
    assert joined == pytest.approx(math.log(6 * 6 / 9))
    assert rarest == pytest.approx(math.log(6))


def test_a_part_that_never_occurs_gives_a_low_finite_score() -> None:
    parts = count_parts(chains(6, 3), 3)
    backwards = PatternTable.canonical(CHAIN.node_types, CHAIN.edges.transpose(0, 2, 1))
    values = parts.evidence(backwards)
    assert np.isfinite(values).all()
    assert values[0, 1] == pytest.approx(math.log(UNSEEN))


@settings(max_examples=40, deadline=None)
@given(graph_sets(max_nodes=5), st.randoms(use_true_random=False))
def test_both_estimates_against_their_definition(graphs: GraphSet, random: object) -> None:
    """Loops over all node sets, in plain Python; also: relabelling a pattern changes nothing."""
    parts = count_parts(graphs, min(3, graphs.largest)) if graphs.largest >= 2 else None
    if parts is None or parts.size < 3 or graphs.largest < 4:
        return
    drawn = sample(graphs, 4, "nrs", count=5, parts=0).patterns if connected_four(graphs) else None
    if drawn is None:
        return
    got = parts.evidence(drawn)
    for i, pattern in enumerate(drawn):
        assert got[i] == pytest.approx(by_definition(pattern, parts), abs=1e-9)
    order = list(range(4))
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis types its generator as object here
    shuffled = PatternTable.canonical(drawn.node_types[:, order], drawn.edges[:, order][:, :, order])
    np.testing.assert_allclose(parts.evidence(shuffled), got)


def connected_four(graphs: GraphSet) -> bool:
    whole = nx.Graph()
    for graph in range(len(graphs)):
        begin = int(graphs.node_offsets[graph])
        whole.add_edges_from((begin + u, begin + v) for u, v, *_ in graphs.edge_list(graph).tolist())
    return any(len(part) >= 4 for part in nx.connected_components(whole))


def by_definition(pattern: Pattern, parts: PartCounts) -> tuple[float, float]:
    count = Counter(
        {
            (size, p.key): float(parts.counts.weights[size][i])
            for size, table in parts.counts.tables.items()
            for i, p in enumerate(table)
        }
    )
    edges = np.array(pattern.edges)
    numbers: dict[frozenset[int], int] = {}
    joined, rarest = -math.log(pattern.automorphisms), math.inf
    for size in (3, 2, 1):
        for nodes in combinations(range(pattern.size), size):
            graph = nx.from_numpy_array((edges + edges.T)[np.ix_(nodes, nodes)])
            if not nx.is_connected(graph):
                continue
            key = frozenset(nodes)
            numbers[key] = 1 - sum(number for other, number in numbers.items() if key < other)
            part = Pattern.of([pattern.node_types[n] for n in nodes], edges[np.ix_(nodes, nodes)])
            found = max(count[size, part.key], UNSEEN)
            joined += numbers[key] * math.log(found * part.automorphisms)
            rarest = min(rarest, math.log(found)) if size == 3 else rarest
    return joined, rarest


def test_loops_are_part_of_a_nodes_kind() -> None:
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
    assert {p.key: w for p, w in zip(counts.tables[1], counts.weights[1], strict=True)} == {
        "0/": 2.0,
        "0/0>0:2": 1.0,
    }


def test_a_sample_brings_its_parts_along(tmp_path: Path) -> None:
    drawn = sample(chains(6, 3), 4, "rand-esu", count=20, seed=1)
    save_sample(drawn, tmp_path / "s")
    again = load_sample(tmp_path / "s")
    assert drawn.parts is not None
    assert again.parts is not None
    assert again.parts.size == 3
    np.testing.assert_array_equal(again.parts.evidence(CHAIN), drawn.parts.evidence(CHAIN))

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

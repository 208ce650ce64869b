"""The census around hubs, where nodes are chosen by number: against closed forms and the list of all occurrences."""

from math import comb

import numpy as np
import pytest

from grade import _core
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.sampling.census import take_census


def star(leaves: int) -> GraphSet:
    return GraphSet.from_edges(
        node_counts=[leaves + 1],
        node_types=[0] + [1] * leaves,
        edge_counts=[leaves],
        edges=[[0, i + 1] for i in range(leaves)],
        node_vocabulary=["hub", "leaf"],
    )


def hub_rich(seed: int, hubs: int, leaves: int, edge_types: int, clutter: float, chords: int) -> GraphSet:
    """Hubs that share most of their leaves; some leaves have a tail, and some are tied to each other."""
    rng = np.random.default_rng(seed)
    tails = int(clutter * leaves)
    n = hubs + leaves + tails
    arcs = {(h, hubs + i) for h in range(hubs) for i in range(leaves) if rng.random() < 0.9}
    arcs |= {(hubs + int(rng.integers(leaves)), hubs + leaves + i) for i in range(tails)}
    arcs |= {tuple(hubs + rng.integers(0, leaves, 2)) for _ in range(chords)}
    arcs |= {(0, h) for h in range(1, hubs) if rng.random() < 0.5}
    turned = [(b, a) if rng.random() < 0.2 else (a, b) for a, b in sorted(arcs)]
    edges = np.array(sorted(set(turned)))
    order = rng.permutation(n)
    edges = order[edges]
    edges = edges[np.lexsort(edges.T[::-1])]
    return GraphSet.from_edges(
        node_counts=[n],
        node_types=rng.integers(0, 2, n),
        edge_counts=[len(edges)],
        edges=edges,
        edge_types=rng.integers(1, edge_types + 1, len(edges)),
        node_vocabulary=["a", "b"],
        edge_vocabulary=[f"edge-{i}" for i in range(edge_types + 1)],
    )


@pytest.mark.parametrize("k", [4, 5, 6])
def test_a_star_of_thousands_is_counted_in_closed_form(k: int) -> None:
    assert take_census(star(5000), k).counts.tolist() == [comb(5000, k - 1)]


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("k", [4, 5, 6])
def test_two_hubs_with_the_same_leaves(k: int, linked: bool) -> None:
    n = 1500
    arcs = [[h, 2 + i] for h in (0, 1) for i in range(n)] + ([[0, 1]] if linked else [])
    graphs = GraphSet.from_edges(
        node_counts=[n + 2],
        node_types=[0, 0] + [1] * n,
        edge_counts=[len(arcs)],
        edges=arcs,
        node_vocabulary=["hub", "leaf"],
    )
    # With one hub: it and k - 1 leaves. With both: they and k - 2 leaves.
    assert sorted(take_census(graphs, k).counts.tolist()) == sorted([2 * comb(n, k - 1), comb(n, k - 2)])


@pytest.mark.parametrize("k", [8, 16])
def test_a_count_past_64_bits_is_an_error(k: int) -> None:
    assert comb(5000, k - 1) > 2**64
    with pytest.raises(InputError, match=r"more than 2\^64 subgraphs of \d+ nodes of one pattern"):
        take_census(star(5000), k)


@pytest.mark.parametrize(
    ("k", "hubs", "leaves", "clutter", "chords", "edge_types"),
    [
        *((4, 1, 90, 0.1, 3, 1), (4, 2, 80, 0.0, 0, 2), (4, 3, 75, 0.3, 20, 1)),
        *((4, 1, 90, 0.1, 3, 90), (4, 2, 80, 0.05, 3, 90), (5, 1, 70, 0.05, 2, 1), (5, 2, 66, 0.0, 1, 2)),
    ],
)
def test_hub_rich_sets_equal_the_list_of_all_occurrences(
    k: int, hubs: int, leaves: int, clutter: float, chords: int, edge_types: int
) -> None:
    """The list comes from another kernel, which brute force checks on small sets (test_census.py)."""
    for seed in range(2):
        graphs = hub_rich(seed, hubs, leaves, edge_types, clutter, chords)
        types, edges, automorphisms, counts = _core.census(graphs.core, k, 2, None)
        rows = _core.enumerate(graphs.core, k, _core.count_instances(graphs.core, k, 2, None), 2, None)
        ids, *listed = _core.classify(graphs.core, rows, 2)
        for a, b in zip((types, edges, automorphisms), listed, strict=True):
            assert np.array_equal(a, b)
        assert np.array_equal(np.bincount(ids), counts)

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


def spider(legs: int, length: int) -> GraphSet:
    """A hub with paths of so many nodes."""
    arcs = [[0 if step == 0 else 1 + leg * length + step - 1, 1 + leg * length + step]
            for leg in range(legs) for step in range(length)]  # fmt: skip
    return GraphSet.from_edges(
        node_counts=[1 + legs * length],
        node_types=[0] * (1 + legs * length),
        edge_counts=[len(arcs)],
        edges=sorted(arcs),
        node_vocabulary=["node"],
    )


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_a_hub_of_thousands_with_tails_is_counted_in_closed_form(k: int, length: int) -> None:
    """With the hub, every leg gives its first nodes, none to all: a coefficient of (1 + x + ... + x^length)^legs."""
    legs = 5000
    coefficients = [1] + [0] * (k - 1)
    for _ in range(legs):
        coefficients = [sum(coefficients[max(0, n - length) : n + 1]) for n in range(k)]
    paths = max(0, length - k + 1) * legs
    assert take_census(spider(legs, length), k, threads=1).instances == coefficients[k - 1] + paths


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


def branching(seed: int, neighbours: int, kinds: int, edge_types: int, chords: int, ends: int) -> GraphSet:
    """A hub whose neighbours carry one of a few trees, some with rings; chords tie some branches to each other, and
    some branches end at a second hub."""
    rng = np.random.default_rng(seed)
    trees = []
    for _ in range(kinds):
        size = int(rng.integers(1, 6))
        tree = [
            (int(rng.integers(0, node)), node, int(rng.integers(1, edge_types + 1)))
            for node in range(1, size)
        ]
        if size > 3 and rng.random() < 0.5:
            tree.append((2, size - 1, 1) if (2, size - 1) not in {arc[:2] for arc in tree} else (0, 3, 1))
        types = rng.integers(0, 2, size)
        trees.append((size, sorted({arc[:2]: arc for arc in tree if arc[0] != arc[1]}.values()), types))
    node_types, arcs, roots = [0, 1], [], []
    for number in range(neighbours):
        size, tree, types = trees[number % kinds]
        start = len(node_types)
        roots.append(start)
        arcs.append((0, start, 1))
        arcs += [(start + a, start + b, kind) for a, b, kind in tree]
        node_types += types.tolist()
        if number < ends:
            arcs.append((start + size - 1, 1, 1))
    for a, b in rng.integers(2, len(node_types), (chords, 2)):
        if a != b:
            arcs.append((int(a), int(b), 1))
    order = rng.permutation(len(node_types))
    unique = {(int(order[a]), int(order[b])): kind for a, b, kind in arcs}
    edges = np.array(sorted(unique))
    placed = np.empty(len(node_types), int)
    placed[order] = node_types
    return GraphSet.from_edges(
        node_counts=[len(node_types)],
        node_types=placed,
        edge_counts=[len(edges)],
        edges=edges,
        edge_types=[unique[a, b] for a, b in edges.tolist()],
        node_vocabulary=["a", "b"],
        edge_vocabulary=[f"edge-{i}" for i in range(edge_types + 1)],
    )


@pytest.mark.parametrize(
    ("k", "neighbours", "kinds", "edge_types", "chords", "ends"),
    [
        *((4, 90, 1, 1, 0, 0), (4, 90, 3, 2, 4, 0), (4, 80, 2, 1, 0, 80), (4, 80, 2, 90, 2, 40)),
        *((5, 66, 1, 1, 0, 0), (5, 66, 2, 2, 1, 0), (5, 66, 3, 1, 0, 66), (5, 66, 1, 90, 1, 30)),
    ],
)
def test_branches_that_are_alike_equal_the_list_of_all_occurrences(
    k: int, neighbours: int, kinds: int, edge_types: int, chords: int, ends: int
) -> None:
    for seed in range(2):
        equals_the_list(branching(seed, neighbours, kinds, edge_types, chords, ends), k)


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
        equals_the_list(graphs, k)


def equals_the_list(graphs: GraphSet, k: int) -> None:
    types, edges, automorphisms, counts = _core.census(graphs.core, k, 2, None)
    rows = _core.enumerate(graphs.core, k, _core.count_instances(graphs.core, k, 2, None), 2, None)
    ids, *listed = _core.classify(graphs.core, rows, 2)
    for a, b in zip((types, edges, automorphisms), listed, strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(np.bincount(ids), counts)

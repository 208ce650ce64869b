"""Small graph sets for tests, and how to compare them."""

import os
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from grade import GraphSet
from grade.graphs.concatenation import origins_of, places_of
from grade.sampling.census import Census
from tests.reference import nauty_key

ARRAYS = (
    "node_offsets",
    "node_types",
    "out_offsets",
    "out_targets",
    "out_types",
    "in_offsets",
    "in_sources",
    "in_types",
)


@st.composite
def raw_graph_sets(draw: st.DrawFn, max_graphs: int = 4, max_nodes: int = 7) -> dict[str, Any]:
    """Arguments of GraphSet.from_edges: cycles, loops, several edge types, isolated nodes, empty graphs."""
    node_counts = draw(st.lists(st.integers(0, max_nodes), min_size=1, max_size=max_graphs))
    edges, edge_types, edge_counts = [], [], []
    for count in node_counts:
        pairs = [(i, j) for i in range(count) for j in range(count)]
        chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * count)) if pairs else []
        edges += chosen
        edge_counts.append(len(chosen))
        edge_types += draw(st.lists(st.integers(1, 2), min_size=len(chosen), max_size=len(chosen)))
    nodes = sum(node_counts)
    return {
        "node_counts": node_counts,
        "node_types": draw(st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes)),
        "edge_counts": edge_counts,
        "edges": edges,
        "edge_types": edge_types,
        "node_vocabulary": ["input", "conv", "pool"],
        "edge_vocabulary": ["none", "edge", "skip"],
        "graph_names": [f"net-{i}" for i in range(len(node_counts))],
        "node_names": [f"node {i} ü" for i in range(nodes)] if draw(st.booleans()) else None,
        **(draw(annotations(nodes, len(edges))) if draw(st.booleans()) else {}),
    }


def annotations(nodes: int, edges: int) -> st.SearchStrategy[dict[str, Any]]:
    """Operands, outputs and places in a file: what a set may know beside its structure."""
    return st.fixed_dictionaries(
        {
            "operands": st.lists(st.integers(0, 3), min_size=edges, max_size=edges),
            "operand_vocabulary": st.just(["", "0", "1", "0+1:2"]),
            "outputs": st.lists(st.booleans(), min_size=nodes, max_size=nodes),
            "node_places": st.lists(st.integers(0, 99), min_size=nodes, max_size=nodes),
        }
    )


def graph_sets(**limits: int) -> st.SearchStrategy[GraphSet]:
    return raw_graph_sets(**limits).map(lambda raw: GraphSet.from_edges(**raw))


def forks_without_doubles(operations: tuple[int, ...]) -> GraphSet:
    """All graphs of two shapes, no two of them isomorphic: a node with two others after it, which the last one joins
    directly, so that the two are symmetric; or one of them through a fourth.
    """
    even = [(0, a, b, c, 7) for a, b, c in product(operations, repeat=3) if b <= c]
    uneven = [(0, *row, 7) for row in product(operations, repeat=4)]
    even_edges = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)]
    uneven_edges = [(0, 1), (1, 2), (1, 3), (2, 5), (3, 4), (4, 5)]
    return GraphSet.from_edges(
        node_counts=[5] * len(even) + [6] * len(uneven),
        node_types=[kind for row in (*even, *uneven) for kind in row],
        edge_counts=[5] * len(even) + [6] * len(uneven),
        edges=even_edges * len(even) + uneven_edges * len(uneven),
        node_vocabulary=list("abcdefgh"),
    )


def chains(
    rows: Iterable[tuple[int, ...]],
    edge_types: dict[int, int] | None = None,
    loop_types: dict[int, int] | None = None,
) -> GraphSet:
    """A chain of nodes of these types (0 to 7) for each row, all of one length.

    Edges are of type 1, those that leave a node of one of the types given of another; nodes of the types given have
    a self-loop.
    """
    types = list(rows)
    length = len(types[0])
    edges, kinds, counts = [], [], []
    for row in types:
        chain = [(i, i + 1, (edge_types or {}).get(row[i], 1)) for i in range(length - 1)]
        loops = [(i, i, (loop_types or {})[kind]) for i, kind in enumerate(row) if kind in (loop_types or {})]
        edges += [edge[:2] for edge in chain + loops]
        kinds += [edge[2] for edge in chain + loops]
        counts.append(len(chain) + len(loops))
    return GraphSet.from_edges(
        node_counts=[length] * len(types),
        node_types=[kind for row in types for kind in row],
        edge_counts=counts,
        edges=edges,
        edge_types=kinds,
        node_vocabulary=list("abcdefgh"),
        edge_vocabulary=["none", "edge", "skip"],
    )


def assert_equal(one: GraphSet, other: GraphSet) -> None:
    """Same graphs, types, vocabularies and names."""
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert getattr(one, name).dtype == getattr(other, name).dtype, name
    assert one.node_vocabulary == other.node_vocabulary
    assert one.edge_vocabulary == other.edge_vocabulary
    assert list(one.graph_names) == list(other.graph_names)
    assert (one.node_names is None) == (other.node_names is None)
    if one.node_names is not None and other.node_names is not None:
        assert list(one.node_names) == list(other.node_names)
    np.testing.assert_array_equal(one.outputs, other.outputs)
    np.testing.assert_array_equal(places_of(one), places_of(other))
    for graph in range(len(one)):
        assert one.operand_words(graph) == other.operand_words(graph)
        files = [origins_of(graphs).file(graph) for graphs in (one, other)]
        assert len({file and (os.path.abspath(file[0]), file[1]) for file in files}) == 1  # noqa: PTH100 (pathlib has no such function)


def counted(census: Census) -> dict[Any, int]:
    """Counts by pynauty key, to compare with `tests.reference.brute_force_census`."""
    counts = {
        nauty_key(np.array(pattern.node_types), np.array(pattern.edges)): count
        for pattern, count in zip(census.patterns, census.counts.tolist(), strict=True)
    }
    assert len(counts) == len(census.patterns), "two patterns of the census are isomorphic"
    return counts

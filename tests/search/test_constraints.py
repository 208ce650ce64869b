"""Constraints: every result satisfies them, and none that satisfies them is lost."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grade.errors import InputError
from grade.graphs import GraphSet, Pattern
from grade.sampling.census import take_census
from grade.search import Constraints
from grade.search.constraints import distances_to, of_nodes
from tests.native.test_census import random_set
from tests.search.test_beam import search


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    return random_set(np.random.default_rng(8), 5, 22, 4, 1, 1.6)


def degrees(pattern: Pattern) -> tuple[list[int], list[int]]:
    arcs = [(i, j) for i, j, _ in pattern.edge_list if i != j]
    return (
        [sum(1 for _, j in arcs if j == node) for node in range(pattern.size)],
        [sum(1 for i, _ in arcs if i == node) for node in range(pattern.size)],
    )


def is_acyclic(pattern: Pattern) -> bool:
    left = set(range(pattern.size))
    while left:
        free = [n for n in left if not any(j == n and i in left for i, j, _ in pattern.edge_list)]
        if not free:
            return False
        left -= set(free)
    return True


def inner_edges(pattern: Pattern) -> int:
    return sum(1 for i, j, _ in pattern.edge_list if i != j)


CASES: list[tuple[dict[str, Any], Callable[[Pattern], bool]]] = [
    ({"contains": ["type-3"]}, lambda p: 3 in p.node_types),
    ({"contains": ["type-3", "type-0"]}, lambda p: {0, 3} <= set(p.node_types)),
    ({"only": ["type-[01]"]}, lambda p: set(p.node_types) <= {0, 1}),
    ({"never": ["type-2"]}, lambda p: 2 not in p.node_types),
    ({"max_in_degree": 1}, lambda p: max(degrees(p)[0]) <= 1),
    ({"max_out_degree": 2}, lambda p: max(degrees(p)[1]) <= 2),
    ({"max_edges": 5}, lambda p: inner_edges(p) <= 5),
    ({"min_edges": 6}, lambda p: inner_edges(p) >= 6),
    ({"acyclic": True}, is_acyclic),
    ({"single_source": True}, lambda p: degrees(p)[0].count(0) == 1),
    ({"single_sink": True}, lambda p: degrees(p)[1].count(0) == 1),
    (
        {"contains": ["type-1"], "max_in_degree": 2, "max_out_degree": 2, "acyclic": True},
        lambda p: 1 in p.node_types and max(map(max, degrees(p))) <= 2 and is_acyclic(p),
    ),
]


@pytest.mark.parametrize(("wishes", "holds"), CASES, ids=[", ".join(wishes) for wishes, _ in CASES])
def test_exactly_the_patterns_that_satisfy_it_are_found(
    graphs: GraphSet, wishes: dict[str, Any], holds: Callable[[Pattern], bool]
) -> None:
    """With everything kept: the census, filtered. Counts too: no occurrence is lost to early pruning."""
    found = search(graphs, 5, constraints=Constraints(**wishes))[-1].lists
    census = take_census(graphs, 5)
    expected = {p.key: int(c) for p, c in zip(census.patterns, census.counts, strict=True) if holds(p)}
    assert 0 < len(expected) < len(census.patterns)
    assert {p.key: c for p, c in zip(found.patterns, found.counts, strict=True)} == expected


@pytest.mark.parametrize("piece", [7, 1 << 18])
def test_distances_are_those_of_a_breadth_first_search(
    graphs: GraphSet, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import networkx

    from grade.sources.networkx_graphs import to_networkx

    monkeypatch.setattr("grade.search.constraints.PIECE", piece)
    wanted = of_nodes(graphs, np.arange(len(graphs.node_vocabulary)) == 3)
    assert np.array_equal(wanted, graphs.node_types == 3)
    distance = distances_to(graphs, wanted, 3)
    for index in range(len(graphs)):
        graph = to_networkx(graphs, index)
        begin = int(graphs.node_offsets[index])
        undirected = graph.to_undirected()
        for node in range(graph.number_of_nodes()):
            reached = networkx.single_source_shortest_path_length(undirected, node)
            steps = [d for other, d in reached.items() if wanted[begin + other]]
            nearest = min(steps, default=99)
            assert distance[begin + node] == (nearest if nearest <= 3 else 255)


@pytest.mark.parametrize(
    ("wishes", "sentence"),
    [
        ({"contains": ["Conv*"]}, "No node type of the set matches 'Conv\\*'"),
        ({"only": ["type-0"], "never": ["type-*"]}, "leave no node type"),
        ({"contains": ["type-1"], "only": ["type-0"]}, "`only` or `never` forbid"),
        ({"max_edges": 3}, "raise `max_edges`"),
        ({"min_edges": 21}, "lower `min_edges`"),
    ],
)
def test_wishes_that_cannot_come_true_are_refused(
    graphs: GraphSet, wishes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        Constraints(**wishes).check(graphs, 5)


@pytest.mark.parametrize(
    "wishes", [{"max_in_degree": 0}, {"max_edges": 0}, {"min_graphs": 0}, {"min_edges": 5, "max_edges": 4}]
)
def test_senseless_limits_are_refused(wishes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="`"):
        Constraints(**wishes)


def test_constraints_that_no_small_subgraph_satisfies_are_refused() -> None:
    complete = GraphSet.from_edges(
        node_counts=[4],
        node_types=[0, 0, 0, 1],
        edge_counts=[12],
        edges=[[i, j] for i in range(4) for j in range(4) if i != j],
        node_vocabulary=["a", "b"],
    )
    with pytest.raises(InputError, match="relax one of them"):
        search(complete, 4, constraints=Constraints(acyclic=True))

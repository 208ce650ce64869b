from itertools import combinations

import networkx
import pytest
from networkx.algorithms.isomorphism import DiGraphMatcher

from grade.graphs import Pattern
from grade.report.overlap import contained_in, one_node_apart
from tests.report.gallery import GALLERY

SMALL = [pattern for pattern in GALLERY.values() if 2 <= pattern.size <= 4]
LARGE = [pattern for pattern in GALLERY.values() if pattern.size <= 9]


def as_networkx(pattern: Pattern) -> "networkx.DiGraph":
    graph = networkx.DiGraph()
    graph.add_nodes_from((i, {"type": t}) for i, t in enumerate(pattern.node_types))
    graph.add_edges_from((i, j) for i, j, _ in pattern.edge_list)
    return graph


@pytest.mark.parametrize("row", range(len(LARGE)))
def test_sub_patterns_agree_with_networkx(row: int) -> None:
    expected = []
    for number, small in enumerate(SMALL):
        if small.size >= LARGE[row].size:
            continue
        matcher = DiGraphMatcher(
            as_networkx(LARGE[row]), as_networkx(small), node_match=lambda a, b: a["type"] == b["type"]
        )
        found = {frozenset(mapping) for mapping in matcher.subgraph_isomorphisms_iter()}
        if found:
            expected.append((number, len(found)))
    assert contained_in(SMALL, LARGE)[row] == expected


def test_patterns_one_node_apart_by_trying_all_pairs() -> None:
    def without_one(pattern: Pattern) -> set[str]:
        nodes = range(pattern.size)
        return {
            Pattern.of(
                [pattern.node_types[i] for i in kept], [[pattern.edges[i][j] for j in kept] for i in kept]
            ).key
            for kept in combinations(nodes, pattern.size - 1)
        }

    patterns = [pattern for pattern in GALLERY.values() if pattern.size > 2]
    near = one_node_apart(patterns)
    assert any(near)
    for i, j in combinations(range(len(patterns)), 2):
        same = patterns[i].size == patterns[j].size and without_one(patterns[i]) & without_one(patterns[j])
        assert (j in near[i]) == (i in near[j]) == bool(same)

"""Supports that are found by asking whether an occurrence exists, against plain Python."""

import numpy as np
import pytest

from grade.graphs import GraphSet, PatternTable
from grade.search.supports import Supports
from grade.verify import Verifier
from tests.native.test_census import random_set
from tests.search.brute_force import Found, Plain, most_disjoint, network_like, packed


def table_of(patterns: list[Found], graphs: GraphSet) -> PatternTable:
    return PatternTable.canonical(
        np.array([pattern.code[0] for pattern in patterns], np.uint16),
        np.stack([pattern.edges for pattern in patterns]),
        graphs.node_vocabulary,
        graphs.edge_vocabulary,
    )


@pytest.mark.parametrize("fusible", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_supports_are_those_of_plain_python(seed: int, fusible: bool) -> None:
    rng = np.random.default_rng(seed)
    kinds = int(rng.choice([1, 2, 9]))
    graphs = network_like(rng, 5, 12, 2, kinds) if seed % 2 else random_set(rng, 4, 10, 2, kinds, 1.4)
    plain, supports = Plain(graphs), Supports(graphs, fusible=fusible, threads=2)
    verifier = Verifier(graphs, 1, fusible)
    for k in (2, 3, 4, 5):
        patterns = plain.patterns(k, fusible)
        if not patterns:
            continue
        table = table_of(patterns, graphs)
        assert supports.graph_counts(table).tolist() == [len(p.graphs) for p in patterns]
        assert supports.mni(table).tolist() == [p.mni for p in patterns]
        assert supports.coverage(table).tolist() == [p.coverage for p in patterns]
        for pattern, disjoint, row in zip(patterns, supports.disjoint(table).tolist(), table, strict=True):
            listed = verifier.occurrences(row, 10**6, np.inf).tolist()
            assert sorted(map(tuple, listed)) == pattern.occurrences
            assert disjoint == packed(listed) == verifier.support(row).disjoint
            if len(listed) <= 12:
                assert -(-most_disjoint(listed) // k) <= disjoint <= most_disjoint(listed)


@pytest.mark.parametrize("least", [1, 2, 3, 5])
def test_a_least_support_is_told_rightly(least: int) -> None:
    graphs = network_like(np.random.default_rng(3), 8, 14, 2)
    patterns = Plain(graphs).patterns(3)
    table, supports = table_of(patterns, graphs), Supports(graphs)
    graph_counts = supports.graph_counts(table, least)
    assert [count >= least for count in graph_counts.tolist()] == [len(p.graphs) >= least for p in patterns]
    expected = [p.mni if p.mni >= least else 0 for p in patterns]
    assert supports.mni(table, least).tolist() == expected
    assert sum(count > 0 for count in expected) > 0


def test_supports_do_not_depend_on_threads_or_on_what_was_asked_before() -> None:
    graphs = random_set(np.random.default_rng(9), 8, 16, 2, 1, 1.6)
    table = table_of(Plain(graphs).patterns(4), graphs)
    one, three = Supports(graphs, threads=1), Supports(graphs, threads=3)
    for name in ("disjoint", "mni", "coverage", "graph_counts"):
        whole = getattr(three, name)(table).tolist()
        assert getattr(one, name)(table).tolist() == whole
        alone = [int(getattr(one, name)(table.take([row]))[0]) for row in range(len(table))]
        assert alone == whole


def test_a_hub_has_too_many_occurrences_to_count_but_not_to_ask_about() -> None:
    leaves = 3000
    star = GraphSet.from_edges(
        node_counts=[leaves + 1],
        node_types=[0] + [1] * leaves,
        edge_counts=[leaves],
        edges=[[0, i + 1] for i in range(leaves)],
        node_vocabulary=["hub", "leaf"],
    )
    edges = np.zeros((1, 10, 10), np.uint8)
    edges[0, 0, 1:] = 1
    pattern = PatternTable.canonical(np.array([[0] + [1] * 9], np.uint16), edges, ("hub", "leaf"))
    supports = Supports(star)
    assert supports.coverage(pattern).tolist() == [leaves + 1]
    assert supports.mni(pattern).tolist() == [1]
    assert supports.disjoint(pattern).tolist() == [1]

"""Sources: what the counts of a pattern's parts say of it, against their definitions."""

import math
from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grade import GraphSet
from grade.estimators.evidence.part_sources import MOST_SETS, UNSEEN, affordable_size, part_sources
from grade.graphs import Pattern, PatternTable
from grade.graphs.part_counts import PartCounts
from grade.sampling import sample
from grade.sampling.part_census import count_parts
from tests.graph_sets import graph_sets
from tests.graphs.test_part_counts import chains

CHAIN = PatternTable.canonical(
    [[0, 1, 2, 3]], [[[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]], ["a", "b", "c", "d"]
)


def test_a_chain_is_its_overlapping_parts_joined() -> None:
    """N(abc) N(bcd) / N(bc), the rarest part, and the mean of both."""
    joined, rarest, mean = part_sources(CHAIN, count_parts(chains(6, 3), 3).counts, 3)[0]
    assert mean == pytest.approx(math.log(6))
    assert joined == pytest.approx(math.log(6 * 6 / 9))
    assert rarest == pytest.approx(math.log(6))


def test_a_part_that_never_occurs_gives_a_low_finite_score() -> None:
    parts = count_parts(chains(6, 3), 3)
    backwards = PatternTable.canonical(CHAIN.node_types, CHAIN.edges.transpose(0, 2, 1))
    values = part_sources(backwards, parts.counts, 3)
    assert np.isfinite(values).all()
    assert values[0, 1] == pytest.approx(math.log(UNSEEN))


@settings(max_examples=40, deadline=None)
@given(graph_sets(max_nodes=5), st.randoms(use_true_random=False))
def test_all_sources_against_their_definition(graphs: GraphSet, random: object) -> None:
    """Loops over all node sets, in plain Python; also: relabelling a pattern changes nothing."""
    parts = count_parts(graphs, min(3, graphs.largest)) if graphs.largest >= 2 else None
    if parts is None or parts.size < 3 or graphs.largest < 4:
        return
    drawn = sample(graphs, 4, "nrs", count=5, parts=0).patterns if connected_four(graphs) else None
    if drawn is None:
        return
    got = part_sources(drawn, parts.counts, 3)
    for i, pattern in enumerate(drawn):
        assert got[i] == pytest.approx(by_definition(pattern, parts), abs=1e-9)
    order = list(range(4))
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis types its generator as object here
    shuffled = PatternTable.canonical(drawn.node_types[:, order], drawn.edges[:, order][:, :, order])
    np.testing.assert_allclose(part_sources(shuffled, parts.counts, 3), got)


def connected_four(graphs: GraphSet) -> bool:
    whole = nx.Graph()
    for graph in range(len(graphs)):
        begin = int(graphs.node_offsets[graph])
        whole.add_edges_from((begin + u, begin + v) for u, v, *_ in graphs.edge_list(graph).tolist())
    return any(len(part) >= 4 for part in nx.connected_components(whole))


def by_definition(pattern: Pattern, parts: PartCounts) -> tuple[float, float, float]:
    count = Counter(
        {
            (size, p.code): float(parts.counts.weights[size][i])
            for size, table in parts.counts.tables.items()
            for i, p in enumerate(table)
        }
    )
    edges = np.array(pattern.edges)
    numbers: dict[frozenset[int], int] = {}
    joined, largest = -math.log(pattern.automorphisms), []
    for size in (3, 2, 1):
        for nodes in combinations(range(pattern.size), size):
            graph = nx.from_numpy_array((edges + edges.T)[np.ix_(nodes, nodes)])
            if not nx.is_connected(graph):
                continue
            key = frozenset(nodes)
            numbers[key] = 1 - sum(number for other, number in numbers.items() if key < other)
            part = Pattern.of([pattern.node_types[n] for n in nodes], edges[np.ix_(nodes, nodes)])
            found = max(count[size, part.code], UNSEEN)
            joined += numbers[key] * math.log(found * part.automorphisms)
            largest += [math.log(found)] if size == 3 else []
    return joined, min(largest), sum(largest) / len(largest)


def test_patterns_of_many_nodes_are_looked_at_in_few_sets() -> None:
    for k in range(2, 17):
        sets = sum(math.comb(k, size) for size in range(1, affordable_size(k, 5) + 1))
        assert sets <= MOST_SETS

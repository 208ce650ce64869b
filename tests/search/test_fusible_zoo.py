"""The true best fusible patterns of zoo, found by growing upward in plain Python."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from grade import mine
from grade.graphs import GraphSet
from grade.sources import load
from tests.reference import nauty_key

Nodes = tuple[int, ...]


def fusible_sets(graphs: GraphSet, k: int, most_inputs: int) -> set[Nodes]:
    """Sets of k nodes of acyclic graphs: each grown by a node all of whose consumers are inside."""
    after = [set(graphs.successors(node).tolist()) - {node} for node in range(graphs.nodes)]
    before = [set(graphs.predecessors(node).tolist()) - {node} for node in range(graphs.nodes)]
    ends = graphs.outputs
    found: set[Nodes] = {(node,) for node in range(graphs.nodes)}
    for _ in range(k - 1):
        larger: set[Nodes] = set()
        for nodes in found:
            inside = set(nodes)
            for source in set().union(*(before[node] for node in nodes)) - inside:
                if ends[source] or not after[source] or not after[source] <= inside:
                    continue
                grown = inside | {source}
                if all(len(before[node] & grown) <= most_inputs for node in grown):
                    larger.add(tuple(sorted(grown)))
        found = larger
    return found


def counts(graphs: GraphSet, sets: set[Nodes]) -> Counter[Any]:
    """Occurrences by pynauty key; equal drawings are classified once."""
    edges = {(node, target) for node in range(graphs.nodes) for target in graphs.successors(node).tolist()}
    types = np.asarray(graphs.node_types).tolist()
    drawings: Counter[Any] = Counter()
    for nodes in sets:
        ordered = sorted(nodes, key=lambda node: (types[node], node))
        matrix = bytes((i, j) in edges for i in ordered for j in ordered)
        drawings[tuple(types[node] for node in ordered), matrix] += 1
    result: Counter[Any] = Counter()
    for (kinds, matrix), count in drawings.items():
        k = len(kinds)
        result[nauty_key(np.array(kinds), np.frombuffer(matrix, np.uint8).reshape(k, k))] += count
    return result


@pytest.mark.slow
@pytest.mark.parametrize("k", [6, 8])
def test_the_true_best_fusible_patterns_of_zoo_are_found(k: int) -> None:
    zoo = load("zoo")
    truth = counts(zoo, fusible_sets(zoo, k, most_inputs=2))
    found = mine(zoo, k=k, top=50, all=True, rank_by="occurrences", fusible=True, max_in_degree=2)
    best = [count for _, count in truth.most_common(50)]
    assert [motif.support.occurrences for motif in found.motifs] == best
    for motif in found.motifs:
        pattern = motif.pattern
        assert (
            truth[nauty_key(np.array(pattern.node_types), np.array(pattern.edges))]
            == motif.support.occurrences
        )
    assert found.catalogue.run["complete"]

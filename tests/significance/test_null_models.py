"""Each chain is uniform over all graphs of its null model, and keeps all that it says."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from grade import GraphSet, InputError
from grade.sampling.census import take_census
from grade.significance import NULL_MODELS, NullModel, randomised
from tests.graph_sets import assert_equal, graph_sets
from tests.significance.realisations import (
    Edges,
    acyclic,
    class_counts,
    edges_of,
    levels,
    mutual_degrees,
    same_degrees,
    small_graph,
)

FALSE_ALARM = 1e-4


@dataclass(frozen=True)
class Case:
    """A small graph, its null model, and whether the chain reaches all graphs of the model."""

    name: str
    null: NullModel
    node_types: list[int]
    edges: list[tuple[int, ...]]
    edge_types: int = 1

    def realisations(self) -> set[Edges]:
        own = edges_of(small_graph(self.node_types, self.edges, edge_types=self.edge_types))
        nodes = len(self.node_types)
        found = set(same_degrees(nodes, own))
        if self.null.name == "levels":
            level = levels(nodes, own)
            found = {edges for edges in found if class_counts(edges, level) == class_counts(own, level)}
        elif acyclic(own) and not self.null.allow_cycles:
            found = {edges for edges in found if acyclic(edges)}
        if self.null.name == "types":
            kept = class_counts(own, self.node_types)
            found = {edges for edges in found if class_counts(edges, self.node_types) == kept}
        if self.null.name == "block":
            triples = counts_of_three(self.node_types, own)
            found = {edges for edges in found if counts_of_three(self.node_types, edges) == triples}
        if self.null.keep_mutual:
            mutual = mutual_degrees(nodes, own)
            found = {edges for edges in found if mutual_degrees(nodes, edges) == mutual}
        return found


def counts_of_three(node_types: list[int], edges: Edges) -> dict[str, int]:
    census = take_census(small_graph(node_types, sorted(edges)), 3)
    return {
        pattern.key: count for pattern, count in zip(census.patterns, census.counts.tolist(), strict=True)
    }


BLOCK = NullModel(name="block")
DEGREES, TYPES, LEVELS = (NullModel(name=name) for name in ("degrees", "types", "levels"))
LADDER: list[tuple[int, ...]] = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 5), (1, 4)]
CASES = [
    Case("a chain: its inner nodes in any order", DEGREES, [0] * 6, [(i, i + 1) for i in range(5)]),
    Case("acyclic with skips", DEGREES, [0] * 6, LADDER),
    Case(
        "acyclic, cycles allowed",
        NullModel(allow_cycles=True),
        [0] * 5,
        [(0, 1), (0, 2), (1, 3), (2, 4), (3, 4)],
    ),
    Case("a triangle, which no switch reverses", DEGREES, [0] * 3, [(0, 1), (1, 2), (2, 0)]),
    Case("cyclic", DEGREES, [0] * 5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (1, 0)]),
    Case("a self-loop", DEGREES, [0] * 5, [(0, 0), (0, 1), (1, 2), (2, 3), (3, 0), (3, 4)]),
    Case(
        "two types of edges",
        DEGREES,
        [0] * 5,
        [(0, 1, 1), (1, 2, 2), (2, 3, 1), (3, 4, 2), (4, 0, 1), (0, 2, 2)],
        2,
    ),
    Case("types, acyclic", TYPES, [0, 1, 0, 1, 1, 0], LADDER),
    Case("types, cyclic", TYPES, [0, 1, 0, 1, 0], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 3), (2, 1)]),
    Case("three types", TYPES, [0, 1, 2, 0, 1, 2], [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 2), (1, 5)]),
    Case("levels", LEVELS, [0] * 7, [(0, 2), (1, 3), (0, 3), (2, 4), (3, 5), (2, 5), (4, 6), (5, 6), (1, 4)]),
    Case(
        "levels with a cycle",
        LEVELS,
        [0] * 6,
        [(0, 1), (1, 2), (2, 1), (2, 3), (1, 4), (3, 5), (4, 5), (0, 2)],
    ),
    Case("block, acyclic", BLOCK, [1] * 6, [(0, 1), (0, 3), (1, 2), (1, 5), (2, 4), (2, 5), (3, 4)]),
    Case("block, cyclic", BLOCK, [0] * 6, [(0, 2), (0, 3), (1, 5), (2, 1), (4, 2), (5, 3), (5, 4)]),
    Case(
        "block, two types",
        BLOCK,
        [1, 1, 1, 0, 0, 0],
        [(0, 2), (0, 5), (2, 1), (2, 3), (3, 4), (4, 2), (5, 2)],
    ),
    Case(
        "mutual edges kept",
        NullModel(keep_mutual=True),
        [0] * 6,
        [(0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (1, 4), (4, 3), (4, 5)],
    ),
    Case(
        "undirected",
        NullModel(keep_mutual=True),
        [0] * 6,
        [(u, v) for a, b in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 2)] for u, v in [(a, b), (b, a)]],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_realisation_is_equally_likely(case: Case) -> None:
    """Chi-square against the list of all; a right chain fails less than once in 10,000 times."""
    every = sorted(case.realisations(), key=sorted)
    draws, switches = (600, 300) if case.null.name == "block" else (4000, 60)  # block is slow
    assert 1 < len(every) <= draws / 10
    graphs = small_graph(case.node_types, case.edges, draws, case.edge_types)
    drawn = randomised(graphs, case.null, switches=switches, seed=5)
    counts = Counter(edges_of(drawn, graph) for graph in range(draws))
    assert set(counts) <= set(every), "a draw is not of the null model"
    assert stats.chisquare([counts[edges] for edges in every]).pvalue > FALSE_ALARM


@given(graph_sets(), st.sampled_from(sorted(NULL_MODELS)), st.booleans(), st.integers(0, 3))
def test_a_draw_keeps_what_the_model_says(graphs: GraphSet, name: str, mutual: bool, seed: int) -> None:
    """Loops, several types of edges, empty graphs: all that a set may hold."""
    model = NullModel(name=name, keep_mutual=mutual)
    drawn = randomised(graphs, model, switches=10, seed=seed)
    np.testing.assert_array_equal(drawn.node_types, graphs.node_types)
    for graph, nodes in enumerate(graphs.node_counts.tolist()):
        old, new = edges_of(graphs, graph), edges_of(drawn, graph)
        for end in (0, 1):
            assert Counter((e[end], e[2]) for e in old) == Counter((e[end], e[2]) for e in new)
        assert {e for e in old if e[0] == e[1]} == {e for e in new if e[0] == e[1]}
        if acyclic(old):
            assert acyclic(new)
        if name == "types":
            begin = graphs.node_offsets[graph]
            types = graphs.node_types[begin : begin + nodes].tolist()
            assert class_counts(old, types) == class_counts(new, types)
        if name == "levels":
            level = levels(nodes, old)
            assert class_counts(old, level) == class_counts(new, level)
        if name == "block" and nodes >= 3:
            old_counts, new_counts = (take_census(which.subset([graph]), 3) for which in (graphs, drawn))
            assert old_counts.patterns.keys.tolist() == new_counts.patterns.keys.tolist()
            assert old_counts.counts.tolist() == new_counts.counts.tolist()
        if mutual:
            assert mutual_degrees(nodes, old) == mutual_degrees(nodes, new)


@pytest.mark.parametrize("name", NULL_MODELS)
def test_a_draw_depends_on_its_seed_and_number_and_not_on_threads(name: str) -> None:
    rng = np.random.default_rng(3)
    edges = sorted({(int(min(e)), int(max(e))) for e in rng.integers(0, 30, (70, 2)) if e[0] != e[1]})
    graphs = small_graph(rng.integers(0, 3, 30).tolist(), edges, copies=5)
    one = randomised(graphs, name, seed=1, draw=2, threads=1)
    assert_equal(one, randomised(graphs, name, seed=1, draw=2, threads=3))
    others = [randomised(graphs, name, seed=2, draw=2), randomised(graphs, name, seed=1, draw=3)]
    assert all(not np.array_equal(one.out_targets, other.out_targets) for other in others)


def test_undirected_graphs_stay_undirected() -> None:
    edges = [
        (u, v)
        for a, b in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)]
        for u, v in [(a, b), (b, a)]
    ]
    drawn = edges_of(randomised(small_graph([0] * 6, edges), seed=3))
    assert {(v, u, t) for u, v, t in drawn} == drawn
    assert drawn != frozenset((u, v, 1) for u, v in edges)


def test_bad_numbers_are_refused() -> None:
    graphs = small_graph([0, 0], [(0, 1)])
    with pytest.raises(
        InputError, match=r"There is no null model named 'degree'; give one of degrees, types"
    ):
        randomised(graphs, "degree")
    with pytest.raises(InputError, match="switches for each edge is -1"):
        randomised(graphs, switches=-1)

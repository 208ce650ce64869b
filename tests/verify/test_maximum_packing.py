from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from grade import GraphSet
from grade.sampling.census import take_census
from grade.verify import maximum_packing
from grade.verify.counting import count_pattern, list_occurrences
from grade.verify.maximum_packing import maximum_disjoint


@st.composite
def sets(draw: st.DrawFn) -> GraphSet:
    n = draw(st.integers(3, 7))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    edges = draw(st.lists(st.sampled_from(pairs), min_size=2, max_size=9, unique=True))
    types = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    return GraphSet.from_edges(
        node_counts=[n], node_types=types, edge_counts=[len(edges)], edges=edges, node_vocabulary=["a", "b"]
    )


@settings(max_examples=60, deadline=None)
@given(sets(), st.integers(2, 3))
def test_it_is_the_largest_of_all_choices(graphs: GraphSet, k: int) -> None:
    for pattern, _ in take_census(graphs, k).top(3):
        rows = [frozenset(row) for row in list_occurrences(graphs, pattern).tolist()]
        largest = next(
            size
            for size in range(graphs.nodes // k, -1, -1)
            if any(all(not a & b for a, b in combinations(chosen, 2)) for chosen in combinations(rows, size))
        )
        assert maximum_disjoint(graphs, pattern) == (largest, "exact")
        assert (count_pattern(graphs, pattern).disjoint or 0) <= largest


def test_a_part_that_is_too_large_keeps_a_lower_bound(monkeypatch) -> None:  # type: ignore[no-untyped-def]  # pytest's fixture
    ring = GraphSet.from_edges(
        node_counts=[9],
        node_types=[0] * 9,
        edge_counts=[9],
        edges=[[i, (i + 1) % 9] for i in range(9)],
        node_vocabulary=["a"],
    )
    [(pair, _)] = take_census(ring, 2).top(1)
    assert maximum_disjoint(ring, pair) == (4, "exact")
    monkeypatch.setattr(maximum_packing, "MOST_STEPS", 1)
    size, quality = maximum_disjoint(ring, pair)
    assert quality == "lower bound"
    assert 3 <= size <= 4

"""Occurrences of three nodes, block by block: the same lists as of all of them at once."""

import numpy as np
import pytest

from grade import _core
from grade.graphs import GraphSet, PatternTable
from grade.sampling.census import take_census
from grade.search.beam import Bounds
from grade.search.triples import triples
from grade.sources import load
from tests.native.test_census import random_set
from tests.search.test_beam import search

SEED = 7


@pytest.fixture(scope="module")
def mini() -> GraphSet:
    return load("zoo-mini")


def everything(patterns: PatternTable) -> np.ndarray:
    return np.ones(len(patterns), bool)


@pytest.mark.parametrize("capacity", [100, 1000, 5000])
@pytest.mark.parametrize("list_size", [1, 20, 10**6])
def test_blocks_give_the_lists_of_the_whole(mini: GraphSet, capacity: int, list_size: int) -> None:
    whole = triples(mini, everything, capacity=10**9, list_size=list_size, seed=SEED)
    assert whole.offsets[-1] > capacity
    streamed = triples(mini, everything, capacity=capacity, list_size=list_size, seed=SEED, threads=2)
    assert streamed.lengths.max() <= list_size + 1
    assert np.array_equal(np.sort(streamed.patterns.keys), np.sort(whole.patterns.keys))
    one, other = (lists.aligned(whole.patterns).thinned(list_size, SEED) for lists in (whole, streamed))
    for name in ("offsets", "occurrences", "weights", "counts", "exact", "complete"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.exact.all()


def test_only_wanted_patterns_are_kept(mini: GraphSet) -> None:
    lists = triples(
        mini, lambda patterns: patterns.node_types[:, 0] == 3, capacity=500, list_size=5, seed=SEED
    )
    census = take_census(mini, 3)
    kept = census.patterns.node_types[:, 0] == 3
    assert sorted(lists.patterns.keys.tolist()) == sorted(
        census.patterns.take(np.flatnonzero(kept)).keys.tolist()
    )
    found = lists.aligned(census.patterns.take(np.flatnonzero(kept)))
    assert np.array_equal(found.counts, census.counts[kept])


def test_blocks_are_the_enumeration_in_parts() -> None:
    graphs = random_set(np.random.default_rng(4), 6, 20, 3, 2, 2.0)
    for k in (2, 3, 4):
        count = _core.count_instances(graphs.core, k, 1, None)
        parts, root = [], 0
        while root < graphs.nodes:
            rows, root = _core.enumerate_block(graphs.core, k, root, 15, None)
            parts.append(rows)
        assert len(parts) > 2
        assert np.array_equal(np.concatenate(parts), _core.enumerate(graphs.core, k, count, 2, None))


def test_a_search_starts_from_more_than_it_may_hold(mini: GraphSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of three nodes are those of the census, and larger patterns are found from them."""
    monkeypatch.setattr("grade.search.beam.LEAST_CAPACITY", 100)
    levels = search(mini, 5, bounds=Bounds(capacity=1000, list_size=30), beam=200)
    census = take_census(mini, 3)
    lists = levels[0].lists.aligned(census.patterns)
    assert np.array_equal(lists.counts[lists.counts > 0], census.counts[lists.counts > 0])
    assert levels[-1].size == 5
    assert len(levels[-1].lists) == 200

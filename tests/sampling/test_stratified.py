"""Stratified growth: counts that it calls exact are, and the others are right on average."""

import numpy as np
import pytest
from scipy import stats

from grade import GraphSet, InputError, _core
from grade.graphs import PatternTable
from grade.sampling import sample
from grade.sampling.census import Census, take_census
from grade.sources import load
from tests.sampling.small_sets import SIGNIFICANCE, mixed_set, random_set


def estimated(graphs: GraphSet, k: int, room: int, census: Census, seed: int = 0, threads: int = 1) -> tuple:
    """([patterns of the census] counts, exact) by the native core; 0 for those not found."""
    found = _core.stratified(graphs.core, k, room, seed, 0, threads, None)
    table = PatternTable(found["node_types"], found["edges"], found["automorphisms"])
    place = {key: row for row, key in enumerate(census.patterns.keys.tolist())}
    rows = [place[key] for key in table.keys.tolist()]
    counts, exact = np.zeros(len(place)), np.zeros(len(place), bool)
    counts[rows], exact[rows] = found["counts"], found["exact"]
    return counts, exact


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_with_room_for_all_it_is_a_census(k: int) -> None:
    graphs = random_set()
    census = take_census(graphs, k)
    counts, exact = estimated(graphs, k, 4 * census.instances, census)
    np.testing.assert_array_equal(counts, census.counts)
    assert exact.all()


@pytest.mark.parametrize(("k", "room"), [(4, 3000), (5, 20_000)])
def test_counts_called_exact_are_exact_in_a_real_set(k: int, room: int) -> None:
    graphs = load("zoo-mini")
    census = take_census(graphs, k)
    counts, exact = estimated(graphs, k, room, census)
    assert 0.1 < exact.mean() < 0.98
    np.testing.assert_array_equal(counts[exact], census.counts[exact])
    # Rare patterns, too, are close: that is what it is for.
    assert (np.abs(counts / census.counts - 1) <= 0.2).mean() > 0.85


def test_estimates_are_unbiased_given_the_pilot() -> None:
    """The mean over many seeds of each pattern's estimate, where lists are far shorter than the counts."""
    graphs = random_set()
    census = take_census(graphs, 5)
    runs = np.array([estimated(graphs, 5, 150, census, seed=seed)[0] for seed in range(400)])
    frequent = np.argsort(-census.counts.astype(int), kind="stable")[:20]
    assert runs[:, frequent].std(axis=0).min() > 0
    t = (runs.mean(axis=0) - census.counts)[frequent] / (runs.std(axis=0, ddof=1) / np.sqrt(len(runs)))[
        frequent
    ]
    assert 2 * stats.norm.sf(np.abs(t).max()) * len(frequent) > SIGNIFICANCE


def test_weights_of_a_sample_add_up_to_the_estimates() -> None:
    graphs = load("zoo-mini")
    drawn = sample(graphs, 4, "stratified", count=4000, seed=3)
    census = take_census(graphs, 4)
    found = _core.stratified(graphs.core, 4, 2000, 3, 0, 1, None)
    sums = np.bincount(drawn.pattern_ids, drawn.weights)
    np.testing.assert_allclose(sums, found["counts"], rtol=1e-9)
    assert drawn.drawn["exact_patterns"] == found["exact"].sum() > 0
    assert len(drawn.patterns) > 0.97 * len(census.patterns)


def test_threads_change_nothing() -> None:
    graphs = load("zoo-mini")
    one, two = (_core.stratified(graphs.core, 6, 2000, 5, 0, threads, None) for threads in (1, 3))
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name], err_msg=name)


def test_what_it_does_not_take_is_refused() -> None:
    with pytest.raises(InputError, match="it takes no weighting 'graphs'"):
        sample(mixed_set(), 4, "stratified", count=5, weighting="graphs")
    with pytest.raises(InputError, match="takes neither r nor probabilities"):
        sample(mixed_set(), 4, "stratified", count=5, r=0.5)

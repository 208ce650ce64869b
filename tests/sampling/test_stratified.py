"""Stratified growth: counts that it calls exact are, and the others are right on average."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from grade import GraphSet, InputError, _core
from grade.graphs import PatternTable
from grade.graphs.sample import load_sample, save_sample
from grade.sampling import sample
from grade.sampling.census import Census, take_census
from grade.sampling.stratified import ERROR, hits_for
from grade.sources import load
from tests.graph_sets import graph_sets
from tests.sampling.small_sets import SIGNIFICANCE, mixed_set, random_set

EXACT, BOUNDED = 2, 1  # qualities


def estimated(
    graphs: GraphSet, k: int, room: int, census: Census, seed: int = 0, threads: int = 1, hits: int = 0
) -> tuple:
    """([patterns of the census] counts, quality) by the native core; 0 for those not found."""
    found = _core.stratified(graphs.core, k, room, hits, seed, 0, threads, None)
    table = PatternTable(found["node_types"], found["edges"], found["automorphisms"])
    place = {key: row for row, key in enumerate(census.patterns.keys.tolist())}
    rows = [place[key] for key in table.keys.tolist()]
    counts, quality = np.zeros(len(place)), np.zeros(len(place), int)
    counts[rows], quality[rows] = found["counts"], found["quality"]
    return counts, quality


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_with_room_for_all_it_is_a_census(k: int) -> None:
    graphs = random_set()
    census = take_census(graphs, k)
    counts, quality = estimated(graphs, k, 4 * census.instances, census)
    np.testing.assert_array_equal(counts, census.counts)
    assert (quality == EXACT).all()


@pytest.mark.parametrize(("k", "room"), [(4, 3000), (5, 20_000)])
def test_counts_called_exact_are_exact_in_a_real_set(k: int, room: int) -> None:
    graphs = load("zoo-mini")
    census = take_census(graphs, k)
    counts, quality = estimated(graphs, k, room, census)
    exact = quality == EXACT
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
    found = _core.stratified(graphs.core, 4, 2000, hits_for(0.2, 0.95), 3, 0, 1, None)
    sums = np.bincount(drawn.pattern_ids, drawn.weights)
    np.testing.assert_allclose(sums, found["counts"], rtol=1e-9)
    assert drawn.drawn["exact_patterns"] == (found["quality"] == EXACT).sum() > 0
    assert drawn.drawn["bounded_patterns"] == (found["quality"] == BOUNDED).sum()
    assert len(drawn.patterns) > 0.97 * len(census.patterns)


@given(graph_sets(), st.integers(3, 5), st.integers(1, 30))
def test_exact_counts_of_any_graphs_are_exact(graphs: GraphSet, k: int, room: int) -> None:
    """Loops, several types of edges, symmetric patterns: with little room, so that counts come from branches."""
    if _core.largest_component(graphs.core) < k:
        return
    census = take_census(graphs, k)
    counts, quality = estimated(graphs, k, room, census, hits=50)
    np.testing.assert_array_equal(counts[quality == EXACT], census.counts[quality == EXACT])


def test_branches_make_nearly_all_counts_of_a_real_set_exact_or_bounded() -> None:
    graphs = load("zoo-mini")
    census = take_census(graphs, 5)
    counts, quality = estimated(graphs, 5, 3000, census, hits=hits_for(0.2, 0.95))
    assert (quality == EXACT).mean() > 0.97
    assert (quality == 0).mean() < 0.01
    np.testing.assert_array_equal(counts[quality == EXACT], census.counts[quality == EXACT])
    bounded = quality == BOUNDED
    off = np.abs(counts[bounded] / census.counts[bounded] - 1) > 0.2
    assert (
        stats.binomtest(int(off.sum()), int(bounded.sum()), 0.05, alternative="greater").pvalue > SIGNIFICANCE
    )


def test_errors_of_bounded_counts_have_the_distribution_that_is_stated() -> None:
    """(hits - 1) / Gamma(hits), whatever the pattern: here over 150 seeds, for all patterns that always get a count."""
    graphs, hits = load("zoo-mini"), 12
    census = take_census(graphs, 4)
    runs = [estimated(graphs, 4, 1200, census, seed=seed, hits=hits) for seed in range(150)]
    counts, quality = (np.array(column) for column in zip(*runs, strict=True))
    always = np.flatnonzero((quality == BOUNDED).all(axis=0))
    assert len(always) >= 5
    for row in always:
        sizes = (hits - 1) * census.counts[row] / counts[:, row]
        assert stats.kstest(sizes, stats.gamma(hits).cdf).pvalue > SIGNIFICANCE / len(always)


def test_hits_keep_the_error_below_its_bound() -> None:
    for error, confidence in [(0.2, 0.95), (0.1, 0.9), (0.5, 0.99)]:
        inside = [
            stats.gamma(r).cdf((r - 1) / (1 - error)) - stats.gamma(r).cdf((r - 1) / (1 + error))
            for r in (hits_for(error, confidence) - 1, hits_for(error, confidence))
        ]
        assert inside[0] < confidence <= inside[1]


def test_a_saved_sample_keeps_the_bounds(tmp_path: Path) -> None:
    drawn = sample(load("zoo-mini"), 5, "stratified", count=6000, seed=3, parts=0)
    assert drawn.errors is not None
    assert set(drawn.errors.tolist()) <= {0.0, ERROR, np.inf}
    save_sample(drawn, tmp_path / "sample")
    again = load_sample(tmp_path / "sample")
    assert again.errors is not None
    np.testing.assert_array_equal(again.errors, drawn.errors)
    assert again.columns() == drawn.columns()
    census = take_census(load("zoo-mini"), 5)
    counts = dict(zip(census.patterns.keys.tolist(), census.counts.tolist(), strict=True))
    true = np.array([counts[key] for key in drawn.patterns.keys.tolist()])
    exact = drawn.errors == 0
    np.testing.assert_allclose(drawn.weighted_counts[exact], true[exact], rtol=1e-12)


def test_threads_change_nothing() -> None:
    graphs = load("zoo-mini")
    one, two = (_core.stratified(graphs.core, 6, 2000, 97, 5, 0, threads, None) for threads in (1, 3))
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name], err_msg=name)


def test_what_it_does_not_take_is_refused() -> None:
    with pytest.raises(InputError, match="it takes no weighting 'graphs'"):
        sample(mixed_set(), 4, "stratified", count=5, weighting="graphs")
    with pytest.raises(InputError, match="takes neither r nor probabilities"):
        sample(mixed_set(), 4, "stratified", count=5, r=0.5)

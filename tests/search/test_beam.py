"""The search against the census: exact where lists are complete, unbiased where they are not."""

import numpy as np
import pytest

from grade.errors import InputError
from grade.graphs import GraphSet, PatternTable
from grade.graphs.node_deletions import are_connected, connected_parts
from grade.progress import Deadline, OutOfTime
from grade.sampling.census import take_census
from grade.search import Constraints, Level, OccurrenceLists, beam_search
from grade.search.beam import Bounds
from grade.sources import load
from grade.verify.estimates import REPLICATES, draw_counts, family_of, mean_and_error
from tests.native.test_census import random_set
from tests.reference import connected

EVERYTHING = Bounds(capacity=10**9, list_size=10**9)


def by_count(lists: OccurrenceLists) -> np.ndarray:
    return lists.counts


def search(graphs: GraphSet, k: int, **changes: object) -> list[Level]:
    settings: dict = {
        "beam": 10**9,
        "score": by_count,
        "constraints": Constraints(),
        "bounds": EVERYTHING,
        "threads": 2,
    }
    return list(beam_search(graphs, k, **{**settings, **changes}))


@pytest.fixture(scope="module")
def hubs() -> GraphSet:
    """A few graphs with hubs, two edge types, cycles and self-loops."""
    return random_set(np.random.default_rng(2), 6, 24, 3, 2, 2.0)


def test_with_everything_kept_every_count_is_the_census(hubs: GraphSet) -> None:
    levels = search(hubs, 6)
    assert [level.size for level in levels] == [3, 4, 5, 6]
    for level in levels:
        census = take_census(hubs, level.size)
        lists = level.lists.aligned(census.patterns)
        assert len(level.lists) == len(census.patterns)
        assert lists.exact.all()
        assert np.array_equal(lists.counts, census.counts)
        assert np.array_equal(lists.lengths, census.counts)


def test_a_beam_that_keeps_all_finds_the_most_frequent_first(hubs: GraphSet) -> None:
    best = search(hubs, 5)[-1].lists
    census = take_census(hubs, 5)
    assert best.counts[:20].tolist() == np.sort(census.counts)[::-1][:20].tolist()


def test_exact_counts_of_a_narrow_beam_are_right(hubs: GraphSet) -> None:
    """With unlimited lists, whatever is found from a kept pattern is found in full."""
    for level in search(hubs, 6, beam=15):
        census = take_census(hubs, level.size)
        true = dict(zip(census.patterns.keys.tolist(), census.counts.tolist(), strict=True))
        assert level.lists.exact.all()
        assert [true[key] for key in level.lists.patterns.keys.tolist()] == level.lists.counts.tolist()


def test_bounded_lists_give_unbiased_counts() -> None:
    """With the kept patterns fixed beforehand, the mean over many seeds meets the census, pattern by pattern."""
    graphs = load("zoo-mini")
    bounds = Bounds(capacity=5000, list_size=5)
    levels = search(graphs, 6)
    census = take_census(graphs, 6)
    replicates = 200
    family = [level.lists.patterns for level in levels]
    drawn = [
        replicate[-1]
        for seed in range(replicates // REPLICATES)
        for replicate in draw_counts(graphs, family, constraints=Constraints(), bounds=bounds, seed=seed)
    ]
    counts, errors = mean_and_error(drawn)
    truth = levels[-1].lists.counts
    assert truth.sum() == census.instances
    frequent = truth >= 100  # rarer ones are met by too few seeds for a normal approximation
    assert frequent.sum() > 100
    assert (errors[frequent] > 0).all()  # none of them was counted in full: the estimate is what is tested
    z = (counts - truth)[frequent] / errors[frequent]
    assert np.abs(z).max() < 4.5
    assert 0.5 < z.std() < 1.5  # the stated errors are the real ones


def test_counts_that_are_called_exact_are(hubs: GraphSet) -> None:
    bounds = Bounds(capacity=4000, list_size=40)
    claimed = 0
    for seed in range(5):
        for level in search(hubs, 6, bounds=bounds, seed=seed):
            census = take_census(hubs, level.size)
            lists = level.lists.aligned(census.patterns)
            assert (lists.counts[lists.exact] == census.counts[lists.exact]).all()
            claimed += int(lists.exact.sum()) if level.size > 3 else 0
            assert level.lists.lengths.max() <= 40
            assert level.size == 3 or level.instances < 3 * 4000
    assert claimed > 100


def test_priority_sampling_keeps_every_weighted_sum_unbiased() -> None:
    lists = search(load("zoo-mini"), 4)[-1].lists
    rng = np.random.default_rng(0)
    weighted = OccurrenceLists(
        lists.patterns,
        lists.offsets,
        lists.occurrences,
        rng.lognormal(size=len(lists.weights)),
        lists.counts,
        lists.exact,
        lists.complete,
    )
    largest = int(np.argmax(lists.lengths))
    truth = weighted.weights[weighted.rows(largest)].sum()
    sums = []
    for seed in range(400):
        thin = weighted.thinned(20, seed)
        assert thin.lengths.max() <= 20
        sums.append(thin.weights[thin.rows(largest)].sum())
        assert not thin.complete[largest]
    error = np.std(sums, ddof=1) / np.sqrt(len(sums))
    assert 0 < error < 0.2 * truth
    assert abs(np.mean(sums) - truth) < 4 * error


def test_the_result_does_not_depend_on_threads(hubs: GraphSet) -> None:
    bounds = Bounds(capacity=2000, list_size=20)
    one, three = (search(hubs, 6, beam=30, bounds=bounds, seed=5, threads=t)[-1].lists for t in (1, 3))
    assert np.array_equal(one.patterns.keys, three.patterns.keys)
    assert np.array_equal(one.counts, three.counts)
    assert np.array_equal(one.occurrences, three.occurrences)
    assert np.array_equal(one.weights, three.weights)


def test_a_search_goes_on_from_a_stored_level(hubs: GraphSet) -> None:
    bounds = Bounds(capacity=2000, list_size=20)
    whole = search(hubs, 6, beam=30, bounds=bounds, seed=5)
    rest = search(hubs, 6, beam=30, bounds=bounds, seed=5, start_from=whole[1])
    assert [level.size for level in rest] == [5, 6]
    assert np.array_equal(rest[-1].lists.counts, whole[-1].lists.counts)
    assert np.array_equal(rest[-1].lists.occurrences, whole[-1].lists.occurrences)


def test_winners_counted_again_are_within_their_errors(hubs: GraphSet) -> None:
    bounds = Bounds(capacity=1500, list_size=15)
    levels = search(hubs, 6, beam=40, bounds=bounds, seed=3)
    family = family_of({6: levels[-1].lists.patterns.take(np.arange(20))})
    counts, errors = mean_and_error(
        [
            replicate[-1]
            for seed in range(8)
            for replicate in draw_counts(hubs, family, constraints=Constraints(), bounds=bounds, seed=seed)
        ]
    )
    census = take_census(hubs, 6)
    truth = census.counts[census.patterns.find(family[-1])]
    assert (np.abs(counts - truth) < 5 * np.maximum(errors, 1e-9) + 1e-9).all()
    assert (errors < truth).all()


def test_a_search_stops_at_its_deadline_with_the_levels_that_it_had() -> None:
    """The level that was being made is dropped; those before it are what a search without deadline gives."""
    mini = load("zoo-mini")
    whole = search(mini, 6)

    class AfterLooks(Deadline):
        looks = 0

        @property
        def passed(self) -> bool:
            AfterLooks.looks += 1
            return AfterLooks.looks > 3

    steps = beam_search(
        mini,
        6,
        beam=10**9,
        score=lambda lists: lists.counts,
        constraints=Constraints(),
        bounds=EVERYTHING,
        deadline=AfterLooks(),
    )
    found = []
    with pytest.raises(OutOfTime):  # noqa: PT012 (what was handed out before the end stays)
        for level in steps:
            found.append(level)
    assert 1 <= len(found) < 4
    for level, other in zip(found, whole, strict=False):
        assert np.array_equal(level.lists.occurrences, other.lists.occurrences)
        assert np.array_equal(level.lists.counts, other.lists.counts)


@pytest.mark.slow
def test_the_figures_of_the_prototype_on_zoo_are_met() -> None:
    from scipy.stats import spearmanr

    zoo = load("zoo")
    bounds = Bounds(capacity=60_000_000, list_size=2000)
    level = search(zoo, 6, beam=1000, bounds=bounds, seed=1)[-1]
    census = take_census(zoo, 6)
    true = dict(zip(census.patterns.keys.tolist(), census.counts.tolist(), strict=True))
    truth = np.array([true[key] for key in level.lists.patterns.keys.tolist()], float)
    thousandth = np.sort(census.counts)[-1000]
    assert spearmanr(truth, level.lists.counts)[0] >= 0.98
    assert (truth >= thousandth).mean() >= 0.98


def test_parts_of_patterns(hubs: GraphSet) -> None:
    kept = take_census(hubs, 3).patterns.take(np.arange(0, 40, 2))
    patterns = take_census(hubs, 4).patterns
    parents = connected_parts(patterns, kept)
    known = {pattern.key: i for i, pattern in enumerate(kept)}
    for row in range(0, len(patterns), 17):
        for node in range(4):
            rest = [i for i in range(4) if i != node]
            edges = patterns.edges[row][np.ix_(rest, rest)]
            part = PatternTable.canonical(
                patterns.node_types[row][rest][None],
                edges[None],
                patterns.node_vocabulary,
                patterns.edge_vocabulary,
            )[0]
            expected = known.get(part.key, -1) if connected(edges) else -1
            assert parents[row, node] == expected


def test_connectedness() -> None:
    rng = np.random.default_rng(0)
    edges = (rng.random((500, 6, 6)) < 0.15).astype(np.uint8)
    assert are_connected(edges).tolist() == [connected(matrix) for matrix in edges]
    assert 0 < are_connected(edges).sum() < 500


def test_a_set_without_subgraphs_is_refused() -> None:
    lonely = GraphSet.from_edges(
        node_counts=[2],
        node_types=[0, 0],
        edge_counts=[1],
        edges=[[0, 1]],
        node_vocabulary=["a"],
        origin="pair",
    )
    with pytest.raises(InputError, match="pair has no connected subgraph of 3 nodes"):
        search(lonely, 4)

"""Models of interchangeable types: learned as one, told apart by what is expected and by their parts."""

from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from grade.errors import InputError
from grade.estimators import fit, load_estimator, preset, preset_for
from grade.estimators.evidence.exchangeable import ExpectedCounts, Interchange
from grade.estimators.evidence.posterior import Weighing
from grade.estimators.models.network import NetworkEstimator
from grade.estimators.presets import types_to_learn
from grade.graphs import PatternTable, SubgraphSample
from grade.graphs.counts import Counts
from grade.graphs.part_counts import PartCounts
from grade.sampling import sample
from grade.sampling.census import Census, take_census
from grade.sampling.part_census import count_parts
from grade.settings import EstimatorSettings
from tests.estimators.spaces import sample_of
from tests.graph_sets import chains, forks_without_doubles

OPERATIONS = (1, 2, 3)
MERGED = Interchange((OPERATIONS,))
SETTINGS = preset(
    "autoregressive", "fast", layers=1, width=16, heads=2, batch=32, maximum_steps=40, members=2, device="cpu"
)


@cache
def drawn() -> tuple[SubgraphSample, Census]:
    """Some occurrences of an enumerated space, with counts of parts; and all its patterns.

    The first node has a self-loop, so that a node's state is more than its type.
    """
    graphs = chains(list(product([0], *[OPERATIONS] * 4, [7])) * 2, loop_types={0: 2})
    return sample(graphs, 4, "rand-esu", count=120, seed=0), take_census(graphs, 4)


def fitted(settings: EstimatorSettings = SETTINGS) -> NetworkEstimator:
    model = fit(drawn()[0], settings)
    assert isinstance(model, NetworkEstimator)
    return model


def spread(scores: np.ndarray, table: PatternTable) -> float:
    """How far apart patterns that merge into one are at most, but for their symmetries."""
    merged, rows = MERGED.distinct(table)
    values = scores + np.log(table.automorphisms)
    return max(float(np.ptp(values[rows == i])) for i in range(len(merged)))


def test_patterns_that_merge_score_alike_but_for_their_symmetries(tmp_path: Path) -> None:
    part, census = drawn()
    table = census.patterns
    assert len(MERGED.distinct(table)[0]) == 3  # with the first node, with the last, with neither
    model = fitted()
    assert model.weighing.interchange == MERGED
    names = part.patterns.node_vocabulary
    assert model.fitted["interchangeable"] == [[names[kind] if names else str(kind) for kind in OPERATIONS]]
    scores = model.log_probability(table)
    assert spread(scores, table) < 1e-9
    # So few merged patterns are well known after 120 occurrences, of 135 patterns: all are ranked as they should be.
    assert set(census.counts.tolist()) == {2, 6}
    assert scores[census.counts == 6].min() > scores[census.counts == 2].max()

    model.save(tmp_path / "model")
    again = load_estimator(tmp_path / "model")
    assert isinstance(again, NetworkEstimator)
    assert again.weighing.interchange == MERGED
    np.testing.assert_array_equal(again.log_probability(table), scores)


def test_they_do_not_where_types_are_not_merged(tmp_path: Path) -> None:
    part, census = drawn()
    off = fitted(replace(SETTINGS, interchange=False))
    assert not off.weighing.interchange
    scores = off.log_probability(census.patterns)
    assert spread(scores, census.patterns) > 0.05
    off.save(tmp_path / "model")
    again = load_estimator(tmp_path / "model")
    np.testing.assert_array_equal(again.log_probability(census.patterns), scores)
    # Without counts of parts nothing tells that types are interchangeable.
    blind = fit(replace(part, parts=None), SETTINGS)
    assert spread(blind.log_probability(census.patterns), census.patterns) > 0.05


def test_a_network_is_shown_and_asked_for_merged_patterns_only() -> None:
    _, census = drawn()
    chain = census.patterns.take(np.flatnonzero((census.patterns.node_types == 2).all(1)))
    model = fitted()
    shown = model.training_data([sample_of(chain, np.array([1]))], [np.ones(1)]).draw(50)
    assert (shown.nodes // 3 == 1).all()  # three states for each type
    off = fitted(replace(SETTINGS, interchange=False))
    told_apart = off.training_data([sample_of(chain, np.array([1]))], [np.ones(1)]).draw(50)
    assert (told_apart.nodes // 3 == 2).all()
    evaluations = []
    for estimator in (model, off):
        estimator.log_probability(census.patterns)
        evaluations.append(estimator.evaluations)
    assert evaluations[0] * 10 < evaluations[1]


def test_probabilities_of_all_relabellings_add_up_to_that_of_the_merged_pattern() -> None:
    _, census = drawn()
    model = fitted(replace(SETTINGS, parts=False, shrink=False))
    merged, rows = MERGED.distinct(census.patterns)
    own = np.bincount(rows, np.exp(model.log_probability(census.patterns)))
    np.testing.assert_allclose(own, np.exp(model.probabilities(model.networks, merged)), rtol=1e-9)
    # Without orbit correction scores are of matrices, and each of the 3^n ways to fill one is as likely.
    model.settings = replace(model.settings, orbit=False)
    scores = model.log_probability(census.patterns)
    ways = MERGED.log_ways(census.patterns)
    np.testing.assert_allclose(scores + ways, model.probabilities(model.networks, merged)[rows])


def test_chance_among_patterns_that_merge_is_what_the_parts_say() -> None:
    """In a set that was drawn at random: they differ by what their own parts, joined, differ."""
    rows = np.random.default_rng(0).choice(OPERATIONS, (2_000, 4))
    graphs = chains([(0, *map(int, row), 7) for row in rows])
    part, census = sample(graphs, 4, "rand-esu", count=200, seed=0), take_census(graphs, 4)
    model = fit(part, SETTINGS)
    assert isinstance(model, NetworkEstimator)
    assert model.weighing.interchange == MERGED
    scores = model.log_probability(census.patterns)
    assert part.parts is not None
    joined = part.parts.evidence(census.patterns)[:, 0]
    merged, places = MERGED.distinct(census.patterns)
    for i in range(len(merged)):
        inside = places == i
        np.testing.assert_allclose(
            scores[inside] - scores[inside][0], joined[inside] - joined[inside][0], atol=3e-6
        )
    assert spread(scores, census.patterns) > 0.1
    model.settings = replace(SETTINGS, parts=False)
    assert spread(model.log_probability(census.patterns), census.patterns) < 1e-9


def test_in_a_set_without_doubles_only_symmetric_patterns_differ() -> None:
    """They do, for two types at symmetric nodes make one graph whichever has which."""
    graphs = forks_without_doubles(OPERATIONS)
    parts, census = count_parts(graphs, 3), take_census(graphs, 4)
    weighing = Weighing(Counts({}, {}), parts, SETTINGS)
    assert weighing.interchange == MERGED
    table, merged = census.patterns, MERGED.merged(census.patterns)
    counts = census.counts.astype(np.float64)
    expected, _ = ExpectedCounts(Counts({4: table}, {4: counts}), MERGED).of(table)
    alone = merged.automorphisms == 1
    np.testing.assert_allclose(counts[alone], expected[alone])
    difference = (parts.evidence(table) - PartCounts(ExpectedCounts(parts.counts, MERGED)).evidence(table))[
        :, 0
    ]
    assert np.abs(difference[alone]).max() > 0.05  # what their parts say
    ahead = weighing.ahead(table, merged)
    assert (ahead[alone] == 0).all()
    assert np.corrcoef(ahead[~alone], np.log(counts / expected)[~alone])[0, 1] > 0.8


def test_the_same_seed_gives_the_same_scores_and_another_one_others() -> None:
    table = drawn()[1].patterns
    scores = fitted().log_probability(table)
    np.testing.assert_array_equal(fitted().log_probability(table), scores)
    assert np.abs(fitted(replace(SETTINGS, seed=1)).log_probability(table) - scores).max() > 1e-3


def test_the_size_of_a_network_follows_what_there_is_to_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    part, _ = drawn()
    told_apart = len(part.patterns)
    assert types_to_learn([part]) == 3 < told_apart
    assert types_to_learn([part], merge=False) == types_to_learn([replace(part, parts=None)]) == told_apart
    seen: list[int | None] = []

    def remember(
        estimator: str, name: str, occurrences: int, types: int, **changes: object
    ) -> EstimatorSettings:
        seen.append(types)
        return SETTINGS

    monkeypatch.setattr("grade.estimators.presets.preset", remember)
    preset_for([part], "autoregressive")
    preset_for([part], "autoregressive", interchange=False)
    preset_for([part], "disco", "paper")
    assert seen == [3, told_apart, told_apart]


def test_parts_are_learned_along_with_the_sample_as_often_as_they_occur() -> None:
    part, census = drawn()
    model = fitted(replace(SETTINGS, learn_parts=True))
    shown = model.training_data([part], [part.weighted_counts]).draw(2000)
    small = shown.sizes == 3
    assert abs(int(small.sum()) - 1000) <= 1
    graphs = chains(list(product([0], *[OPERATIONS] * 4, [7])) * 2, loop_types={0: 2})
    parts = take_census(graphs, 3)
    types = shown.nodes[small][:, :3] // 3  # three states for each type
    for kind in (0, 7):
        expected = parts.counts[(parts.patterns.node_types == kind).any(1)].sum() / parts.counts.sum()
        assert float((types == kind).any(1).float().mean()) == pytest.approx(float(expected), abs=0.005)
    assert set(types.unique().tolist()) == {0, 1, 7}  # merged, like those of the sample

    without = fitted()
    assert (without.training_data([part], [part.weighted_counts]).draw(500).sizes == 4).all()
    assert not np.allclose(
        model.probabilities(model.networks, census.patterns),
        without.probabilities(without.networks, census.patterns),
    )
    with pytest.raises(InputError, match="cannot score 3 nodes"):
        model.log_probability(parts.patterns)

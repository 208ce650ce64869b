"""Agreement: shares of all possible patterns that add up to what is known exactly of their parts."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade import cli
from grade.estimators import fit, load_estimator, preset
from grade.estimators.evidence import apriori, exchangeable, posterior
from grade.estimators.evidence.apriori import possible_patterns
from grade.estimators.evidence.raking import agree, of_parts
from grade.estimators.models.network import NetworkEstimator
from grade.graphs import PatternTable, SubgraphSample
from grade.graphs.node_deletions import connected_parts
from grade.graphs.sample import save_sample
from grade.sampling import sample
from grade.sampling.census import Census, take_census
from grade.sampling.part_census import count_parts
from grade.sources import load

SIZE = 1e7  # of a sample, so large that nothing is left to chance


@pytest.fixture(scope="module")
def census() -> Census:
    return take_census(load("zoo-mini"), 4)


def parts_each(census: Census, parts: PatternTable) -> float:
    """Connected parts of an occurrence, on average."""
    return float(np.average((connected_parts(census.patterns, parts) >= 0).sum(1), weights=census.counts))


def known_parts(k: int = 4) -> tuple[PatternTable, np.ndarray]:
    beside = count_parts(load("zoo-mini"), k - 1).neighbours
    assert beside is not None
    return beside.tables[k - 1], beside.weights[k - 1]


def test_factors_of_parts_are_undone(census: Census) -> None:
    """True shares times a factor for each part: there is one way to agree, which is the truth."""
    parts, neighbours = known_parts()
    rows = connected_parts(census.patterns, parts)
    truth = np.log(census.counts / census.counts.sum())
    factors = np.random.default_rng(0).normal(0, 1, len(parts) + 1)  # and a constant
    wrong = truth + of_parts(factors, rows)
    wrong -= np.logaddexp.reduce(wrong)
    found = agree(wrong, census.patterns, parts, neighbours, parts_each(census, parts), SIZE)
    assert np.abs(wrong - truth).mean() > 0.5
    np.testing.assert_allclose(wrong + found.shift(census.patterns), truth, atol=0.01)


def test_what_agrees_is_left_as_it_is(census: Census) -> None:
    parts, neighbours = known_parts()
    truth = np.log(census.counts / census.counts.sum())
    found = agree(truth, census.patterns, parts, neighbours, parts_each(census, parts), SIZE)
    np.testing.assert_allclose(found.logarithms, 0, atol=1e-3)


def test_any_shares_add_up_to_the_neighbours(census: Census) -> None:
    parts, neighbours = known_parts()
    counts = count_parts(load("zoo-mini"), 3).counts
    possible = possible_patterns(counts, 4)
    assert possible is not None
    assert len(possible) > len(census.patterns)
    shares = np.random.default_rng(1).normal(0, 1, len(possible))
    shares -= np.logaddexp.reduce(shares)
    found = agree(shares, possible, parts, neighbours, parts_each(census, parts), SIZE)
    rows = connected_parts(possible, parts)
    weights = np.repeat(np.exp(shares + found.shift(possible)), 4)
    sums = np.bincount(rows.ravel() + 1, weights, len(parts) + 1)[1:]
    np.testing.assert_allclose(sums / sums.sum(), neighbours / neighbours.sum(), rtol=0.02, atol=1e-7)


def test_relabelling_changes_nothing(census: Census) -> None:
    parts, neighbours = known_parts()
    shares = np.log(np.full(len(census.patterns), 1 / len(census.patterns)))
    found = agree(shares, census.patterns, parts, neighbours, parts_each(census, parts), SIZE)
    order = [2, 0, 3, 1]
    shuffled = PatternTable(
        census.patterns.node_types[:, order],
        census.patterns.edges[:, order][:, :, order],
        census.patterns.automorphisms,
    )
    np.testing.assert_allclose(found.shift(shuffled), found.shift(census.patterns))


@pytest.fixture(scope="module")
def drawn() -> SubgraphSample:
    return sample(load("nas-bench-201"), 4, "rand-esu", count=300, seed=0)


@pytest.fixture(scope="module")
def model(drawn: SubgraphSample) -> NetworkEstimator:
    settings = preset("autoregressive", "fast", len(drawn), maximum_steps=60, folds=2, device="cpu")
    result = fit(drawn, settings)
    assert isinstance(result, NetworkEstimator)
    return result


def test_scores_of_a_model_agree(model: NetworkEstimator, drawn: SubgraphSample, tmp_path: Path) -> None:
    """Its shares of all patterns that occur, with interchangeable types, and after it was stored and read back."""
    census = take_census(load("nas-bench-201"), 4)
    assert model.weighing.interchange
    assert list(model.weighing.agreements) == [(4, True)], "found with the fit"
    assert model.fitted["agreement"] == {"4": True}
    scores = model.log_probability(census.patterns)
    model.save(tmp_path / "model")
    again = load_estimator(tmp_path / "model")
    assert isinstance(again, NetworkEstimator)
    assert list(again.weighing.agreements) == [(4, True)]
    np.testing.assert_array_equal(again.log_probability(census.patterns), scores)

    weighing = again.weighing
    assert weighing.merged_parts is not None
    assert weighing.merged_parts.neighbours is not None
    table, neighbours = (
        which[3]
        for which in (weighing.merged_parts.neighbours.tables, weighing.merged_parts.neighbours.weights)
    )
    possible = possible_patterns(weighing.merged_parts.neighbours, 4)
    agreement = weighing.agreements[4, True]
    assert possible is not None
    assert agreement is not None
    assert len(census.patterns) > len(possible) > len(weighing.interchange.distinct(census.patterns)[0])
    before = weighing.weighed(possible, partial(again.probabilities, again.networks), again.settings)
    for log_shares, agrees in ((before, False), (before + agreement.shift(possible), True)):
        rows = connected_parts(possible, table)
        sums = np.bincount(rows.ravel() + 1, np.repeat(np.exp(log_shares), 4), len(table) + 1)[1:]
        error = np.abs(sums / sums.sum() - neighbours / neighbours.sum()).sum()
        assert (error < 1e-3) == agrees
    again.settings = replace(again.settings, agree=False)
    assert not np.allclose(again.log_probability(census.patterns), scores)


def test_agreement_needs_parts_and_their_neighbours(model: NetworkEstimator, drawn: SubgraphSample) -> None:
    assert model.weighing.agrees(4, model.settings)
    for change in ({"agree": False}, {"parts": False}, {"orbit": False}):
        assert not model.weighing.agrees(4, replace(model.settings, **change))
    assert not model.weighing.agrees(5, model.settings)
    assert drawn.parts is not None
    older = replace(drawn, parts=replace(drawn.parts, neighbours=None))  # of an earlier version
    plain = fit(older, replace(model.settings, maximum_steps=20))
    assert isinstance(plain, NetworkEstimator)
    assert not plain.weighing.agreements
    assert model.fitted["left_out"] == []
    (sentence,) = plain.fitted["left_out"]
    assert sentence.startswith("scores at k = 4 do not agree with the neighbours of parts: those of 3 nodes")
    assert np.isfinite(plain.log_probability(drawn.patterns)).all()
    assert not preset("disco", "default", 1000).agree, (
        "hundreds of evaluations for each of all possible patterns"
    )


def test_what_a_sample_does_not_allow_is_said(
    drawn: SubgraphSample, model: NetworkEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too few types to weigh by, and too many to look for interchangeable ones."""
    monkeypatch.setattr(posterior, "FEWEST_TYPES", len(drawn.patterns) + 1)
    monkeypatch.setattr(exchangeable, "MOST_TYPES", 2)
    settings = replace(model.settings, maximum_steps=20)
    alone = fit(drawn, settings)
    assert isinstance(alone, NetworkEstimator)
    types, scores = alone.fitted["left_out"]
    assert types.startswith("interchangeable types were not looked for")
    assert not alone.weighing.interchange
    assert scores.startswith("scores at k = 4 are the model's alone")
    assert not alone.weighing.left_out([drawn], replace(settings, interchange=False, orbit=False))


@pytest.mark.parametrize(
    ("most", "words"), [(10**7, "agree with the neighbours"), (5, "too many patterns are possible")]
)
def test_a_fit_says_whether_its_scores_agree(
    drawn: SubgraphSample,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    most: int,
    words: str,
) -> None:
    save_sample(drawn, tmp_path / "sample")
    monkeypatch.setattr(posterior, "possible_patterns", partial(possible_patterns, most=most))
    monkeypatch.setattr(exchangeable, "MOST_TYPES", 2)
    places = [str(tmp_path / "sample"), "--out", str(tmp_path / "model")]
    quick = ["--preset", "fast", "--set", "maximum_steps=20", "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", ["grade", "fit", *places, *quick])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code
    told = capfd.readouterr().out
    assert words in told
    assert "interchangeable types were not looked for" in told
    scores = load_estimator(tmp_path / "model").log_probability(drawn.patterns)
    assert np.isfinite(scores).all()


def test_a_fit_tells_how_far_agreement_is(
    drawn: SubgraphSample, model: NetworkEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the trainings, in shares that grow; scoring in pieces changes nothing but rounding."""
    monkeypatch.setattr(posterior, "AT_ONCE", 3)
    monkeypatch.setattr(apriori, "PARTS", 1)
    told: list[tuple[str, float]] = []
    settings = replace(model.settings, maximum_steps=20)
    again = fit(drawn, settings, report=lambda values: told.append((values["phase"], values["step"])))
    trainings = [phase for phase, _ in told if phase not in ("possible patterns", "agreement")]
    assert {phase.partition("-")[0] for phase in trainings} == {"trial", "rehearsal", "member"}
    assert [phase for phase, _ in told[: len(trainings)]] == trainings
    for what in ("possible patterns", "agreement"):
        shares = [share for phase, share in told if phase == what]
        assert len(shares) > 3
        assert shares == sorted(set(shares))
        assert 0 == shares[0] < shares[-1] < 1
    monkeypatch.setattr(posterior, "AT_ONCE", 10**6)
    whole = fit(drawn, settings).log_probability(drawn.patterns)
    np.testing.assert_allclose(again.log_probability(drawn.patterns), whole, atol=1e-3)


def test_a_fit_can_be_stopped_while_it_looks_for_agreement(
    drawn: SubgraphSample, model: NetworkEstimator
) -> None:
    def watch(values: dict[str, Any]) -> None:
        if values["phase"] == "agreement":
            raise TimeoutError

    with pytest.raises(TimeoutError):
        fit(drawn, replace(model.settings, maximum_steps=20), report=watch)

"""The posterior: never far below its best source, kept as it was found, and without torch where it has no network."""

import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from grade.estimators import fit, load_estimator, preset, preset_for
from grade.estimators.evidence.candidate_patterns import candidates
from grade.estimators.evidence.part_sources import part_sources
from grade.estimators.evidence.posterior import Posterior
from grade.evaluation.correlation import spearman
from grade.graphs import PatternTable, SubgraphSample
from grade.graphs.counts import Counts
from grade.sampling import sample
from grade.sampling.census import Census, take_census
from grade.sources import load


@cache
def drawn(name: str, k: int) -> tuple[Census, SubgraphSample]:
    graphs = load(name)
    census = take_census(graphs, k)
    return census, sample(graphs, k, "rand-esu", density=0.1, seed=0, census=census)


def rho(scores: np.ndarray, census: Census) -> float:
    return spearman(scores, census.counts)


@pytest.mark.parametrize(
    ("name", "k"), [("zoo-mini", 4), ("zoo-mini", 5), ("zoo", 4), ("nas-bench-201", 4), ("nas-bench-201", 5)]
)
def test_parts_are_not_below_any_of_their_sources(name: str, k: int) -> None:
    census, own = drawn(name, k)
    found = rho(fit(own, preset("parts")).log_probability(census.patterns), census)
    assert own.parts is not None
    alone = [rho(source, census) for source in part_sources(census.patterns, own.parts.counts, k - 1).T]
    counted = rho(fit(own, preset("frequency")).log_probability(census.patterns), census)
    assert found > max(*alone, counted) - 0.01


def test_a_network_is_weighed_in_where_it_tells_something_new() -> None:
    census, own = drawn("nas-bench-101", 4)
    parts = fit(own, preset("parts"))
    model = fit(own, preset_for([own], "autoregressive", "fast", device="cpu"))
    assert model.fitted.posterior[4].network > 0
    scores = [one.log_probability(census.patterns) for one in (model, parts)]
    assert rho(scores[0], census) > rho(scores[1], census)


def test_a_network_that_learned_nothing_gets_no_weight() -> None:
    census, own = drawn("zoo-mini", 4)
    settings = preset_for([own], "autoregressive", "fast", device="cpu", steps=1, learning_rate=0.0)
    model, parts = fit(own, settings), fit(own, preset("parts"))
    assert model.fitted.posterior[4].network == 0
    assert isinstance(model, Posterior)
    assert model.estimator is None, "it is neither trained further nor stored"
    np.testing.assert_allclose(model.log_probability(census.patterns), parts.log_probability(census.patterns))


def test_no_network_is_trained_where_types_are_merged() -> None:
    census, own = drawn("nas-bench-201", 5)
    model, parts = fit(own, preset_for([own], "autoregressive", "fast")), fit(own, preset("parts"))
    assert model.fitted.posterior[5].exchangeable
    assert model.fitted.steps is None
    np.testing.assert_array_equal(
        model.log_probability(census.patterns), parts.log_probability(census.patterns)
    )


@pytest.mark.parametrize(
    ("wanted", "network"),
    [(0.8, True), (0.1, False)],  # above and below the least weight
)
def test_a_network_of_small_weight_is_left_out(wanted: float, network: bool) -> None:
    """Instead of a network, what would have to be added to the parts to predict counts, times a factor."""
    generator = np.random.default_rng(0)
    census, own = drawn("nas-bench-101", 4)
    held = generator.random(len(own.patterns)) < 0.5

    class Oracle:
        trial, held_out = object(), [held]

        def probabilities(self, networks: list[object], patterns: PatternTable) -> np.ndarray:
            counts = np.maximum(Counts({4: census.patterns}, {4: census.counts}).of(patterns)[0], 0.1)
            return np.log(counts) / wanted

    model = fit(own, preset("parts"))
    assert isinstance(model, Posterior)
    assert own.parts is not None
    model.estimator = Oracle()  # type: ignore[assignment]  # only what the weighing needs of it
    known = candidates(own.parts, model.sizes[4].seen, 4)
    model.weigh_network(0, own, known, preset("autoregressive"))
    assert (model.sizes[4].network[2] > 0) == network


@pytest.mark.parametrize("estimator", ["parts", "autoregressive"])
def test_a_stored_posterior_scores_the_same(estimator: str, tmp_path: Path) -> None:
    census, own = drawn("nas-bench-201", 4)
    model = fit(own, preset_for([own], estimator, "fast", device="cpu"))
    model.save(tmp_path / "model")
    again = load_estimator(tmp_path / "model")
    assert isinstance(again, Posterior)
    np.testing.assert_array_equal(
        again.log_probability(census.patterns), model.log_probability(census.patterns)
    )


def test_types_are_merged_only_where_a_hold_out_says_so() -> None:
    """In DARTS operations were drawn at random; in a set of real models none can stand for another."""
    _, real = drawn("zoo", 4)
    assert fit(real, preset("parts")).fitted.posterior[4].exchangeable == []
    _, random = drawn("darts", 4)
    merged = fit(random, preset("parts")).fitted.posterior[4].exchangeable
    assert "sep_conv_3x3" in max(merged, key=len)


def test_a_sample_without_counts_of_parts_is_scored_by_its_own_counts() -> None:
    census, own = drawn("zoo-mini", 4)
    bare = replace(own, parts=None)
    scores = fit(bare, preset("parts")).log_probability(census.patterns)
    np.testing.assert_allclose(scores, fit(bare, preset("frequency")).log_probability(census.patterns))


def test_parts_need_no_torch(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from grade.estimators import fit, load_estimator, preset
from grade.sampling import sample
from grade.sources import load
drawn = sample(load("zoo-mini"), 4, count=200)
fit(drawn, preset("parts")).save(Path(sys.argv[1]))
load_estimator(sys.argv[1]).log_probability(drawn.patterns)
assert "torch" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "model")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_candidates_are_all_that_can_occur_or_stand_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    _, own = drawn("zoo", 4)
    assert own.parts is not None
    seen = Counts({4: own.patterns}, {4: own.counts.astype(float)})
    whole = candidates(own.parts, seen, 4)
    assert whole is not None
    assert whole.whole
    assert (whole.patterns.find(own.patterns) >= 0).all()
    monkeypatch.setattr("grade.estimators.evidence.candidate_patterns.MOST", 20_000)
    monkeypatch.setattr("grade.estimators.evidence.candidate_patterns.FEW", 300)
    some = candidates(own.parts, seen, 4)
    assert some is not None
    assert not some.whole
    assert len(some) < len(whole)
    assert float(some.multiplicity.sum()) == pytest.approx(len(whole), rel=0.15)


def test_larger_parts_are_counted_where_that_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """All parts of 7 nodes know nearly all of patterns of 8; a set with many patterns keeps to smaller ones."""
    census = take_census(load("zoo-mini"), 8)

    def by_parts() -> tuple[int, float]:
        own = sample(load("zoo-mini"), 8, count=2000)
        assert own.parts is not None
        return own.parts.size, rho(fit(own, preset("parts")).log_probability(census.patterns), census)

    size, found = by_parts()
    assert size == 7
    monkeypatch.setattr("grade.sampling.part_census.MOST_PATTERNS", 3_000)
    smaller, less = by_parts()
    assert smaller == 5
    assert found > 0.95 > less + 0.1

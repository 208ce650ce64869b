"""What a model expects of a pattern, corrected by how often the sample shows it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from grade.estimators.shrinkage import Shrinkage, shrink


def world(
    shape: float, classes: int, occurrences: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(true shares, what a model believes, counts in a sample): the model is off by gamma-distributed factors."""
    generator = np.random.default_rng(seed)
    believed = generator.lognormal(0, 1.5, classes)
    true = believed * generator.gamma(shape, 1 / shape, classes)
    believed, true = believed / believed.sum(), true / true.sum()
    return true, np.log(believed), generator.multinomial(occurrences, true).astype(np.float64)


@pytest.mark.parametrize("shape", [0.5, 2.0, 8.0])
def test_the_shape_of_a_known_distribution_is_found(shape: float) -> None:
    _, scores, counts = world(shape, 4_000, 200_000, 0)
    seen = counts > 0
    assert shrink(scores[seen], counts[seen]).shape == pytest.approx(shape, rel=0.1)


@pytest.mark.parametrize("held_out", [0.2, 3.0])
def test_classes_that_were_held_out_have_an_equal_say(held_out: float) -> None:
    _, scores, counts = world(2.0, 300, 2_000, 0)
    seen = counts > 0
    alone, both = (shrink(scores[seen], counts[seen], shape) for shape in (None, held_out))
    assert both.log_scale == alone.log_scale
    assert both.shape**2 == pytest.approx(alone.shape * held_out)


def test_a_model_that_knows_all_is_worth_more_than_any_count() -> None:
    scores = np.log(np.random.default_rng(0).dirichlet(np.ones(500)))
    counts = np.random.default_rng(1).multinomial(20_000, np.exp(scores)).astype(np.float64)
    seen = counts > 0
    found = shrink(scores[seen], counts[seen])
    assert found.shape > 100
    assert np.abs(found.score(scores, counts) - scores).max() < 0.3


@pytest.mark.parametrize("occurrences", [100, 1_000, 10_000])
@pytest.mark.parametrize("seed", range(3))
def test_together_they_rank_better_than_model_or_counts_alone(occurrences: int, seed: int) -> None:
    true, scores, counts = world(1.5, 600, occurrences, seed)
    seen = counts > 0
    both = shrink(scores[seen], counts[seen]).score(scores, counts)
    alone = [spearmanr(values, true)[0] for values in (scores, counts)]
    assert spearmanr(both, true)[0] > max(alone)


def test_scores_need_not_be_normalised() -> None:
    _, scores, counts = world(2.0, 300, 2_000, 0)
    seen = counts > 0
    one, other = (shrink(scores[seen] + shift, counts[seen]) for shift in (0.0, 7.0))
    assert other.shape == pytest.approx(one.shape, rel=1e-6)
    np.testing.assert_allclose(other.score(scores + 7, counts), one.score(scores, counts) + 7, rtol=1e-6)


def test_what_was_seen_is_expected_as_often_as_it_was_seen_but_for_the_singletons() -> None:
    scores, counts = np.log([0.5, 0.3, 0.1, 0.1]), np.array([6.0, 3.0, 1.0, 1.0])
    assert np.exp(scores + shrink(scores, counts).log_scale).sum() == pytest.approx(9)


@pytest.mark.parametrize("counts", [[1.0] * 5, [1.0]])
def test_where_nothing_was_seen_twice_the_ranking_stays_among_the_seen(counts: list[float]) -> None:
    scores = np.linspace(-3, 0, len(counts))
    found = shrink(scores, np.array(counts))
    assert np.isfinite(found.score(scores, np.array(counts))).all()
    assert (np.diff(found.score(scores, np.array(counts))) > 0).all()


@given(
    st.floats(0.01, 1e3),
    st.lists(st.tuples(st.floats(-20, 0), st.integers(0, 500)), min_size=1, max_size=20),
)
def test_a_correction_lies_between_the_model_and_the_count(
    shape: float, rows: list[tuple[float, int]]
) -> None:
    scores, counts = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    shrinkage = Shrinkage(np.log(1_000), shape)
    corrected = np.exp(shrinkage.score(scores, counts) + shrinkage.log_scale)
    expected = np.exp(scores + shrinkage.log_scale)
    assert (corrected >= np.minimum(expected, counts) * (1 - 1e-9)).all()
    assert (corrected <= np.maximum(expected, counts) * (1 + 1e-9)).all()

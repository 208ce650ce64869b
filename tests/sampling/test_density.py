from pathlib import Path

import numpy as np
import pytest

from grade import GraphSet
from grade.errors import InputError
from grade.sampling import Request, density, sample, samplers
from grade.sampling.census import Census, take_census
from grade.sources import load
from tests.sampling.small_sets import mixed_set, random_set


@pytest.fixture(scope="module")
def census() -> Census:
    return take_census(random_set(), 5, threads=1)


@pytest.mark.parametrize("method", samplers)
def test_the_sample_ends_with_the_type_that_reaches_the_density(method: str, census: Census) -> None:
    drawn = sample(random_set(), 5, method, density=0.3, census=census, seed=4)
    wanted = np.ceil(0.3 * len(census.patterns))
    assert len(np.unique(drawn.pattern_ids)) == len(drawn.patterns) == wanted
    assert len(np.unique(drawn.pattern_ids[:-1])) == wanted - 1
    assert drawn.drawn["density"] == wanted / len(census.patterns)
    assert drawn.drawn["count"] == len(drawn)
    assert drawn.drawn["patterns"] == wanted


def test_several_batches_make_one_sample(census: Census, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns of different batches are merged, and rows still name their own."""
    monkeypatch.setattr(density, "FIRST_BATCH", 1)
    graphs = random_set()
    drawn = sample(graphs, 5, "rand-fase", density=1.0, census=census, seed=4)
    assert len(drawn) > 2 * len(census.patterns), "one batch was enough"
    ids, types, _, _ = classify(graphs, drawn.occurrences)
    np.testing.assert_array_equal(ids, drawn.pattern_ids)
    np.testing.assert_array_equal(types, drawn.patterns.node_types)
    np.testing.assert_allclose(drawn.weights, 1)


def classify(graphs: GraphSet, occurrences: np.ndarray) -> tuple[np.ndarray, ...]:
    from grade import _core

    return _core.classify(graphs.core, np.ascontiguousarray(occurrences))


def test_the_census_is_taken_or_read_when_it_is_not_given(census: Census, tmp_path: Path) -> None:
    census.save(tmp_path / "census.npz")
    given, taken, read = (
        sample(random_set(), 5, "nrs", density=0.2, census=c, seed=1)
        for c in (census, None, tmp_path / "census.npz")
    )
    for other in (taken, read):
        np.testing.assert_array_equal(given.occurrences, other.occurrences)


def test_a_count_with_a_census_reports_its_density(census: Census) -> None:
    drawn = sample(random_set(), 5, "nrs", count=100, census=census)
    assert drawn.drawn["density"] == len(drawn.patterns) / len(census.patterns)
    assert "density" not in sample(random_set(), 5, "nrs", count=100).drawn


@pytest.mark.parametrize("method", samplers)
def test_density_one_sees_every_type(method: str) -> None:
    graphs = mixed_set()
    everything = take_census(graphs, 3, threads=1)
    drawn = sample(graphs, 3, method, density=1.0, census=everything)
    assert sorted(drawn.patterns.keys.tolist()) == sorted(everything.patterns.keys.tolist())


def test_the_curve_is_that_of_one_sequence(census: Census) -> None:
    request = Request(graphs=random_set(), k=5, count=1, seed=3, threads=1)
    curve = density.density_curve(samplers["nrs"], request, [0.1, 0.3, 0.6], census)
    whole = sample(random_set(), 5, "nrs", density=0.6, census=census, seed=3)
    assert curve[2] == len(whole)
    for draws, share in zip(curve.tolist(), (0.1, 0.3, 0.6), strict=True):
        wanted = np.ceil(share * len(census.patterns))
        assert len(np.unique(whole.pattern_ids[:draws])) == wanted
        assert len(np.unique(whole.pattern_ids[: draws - 1])) == wanted - 1


@pytest.mark.parametrize("method", ["ars", "rand-esu", "rand-fase"])
@pytest.mark.parametrize(("k", "expected"), [(4, 279), (5, 1328)])
def test_samples_to_a_tenth_of_the_types_of_nas_bench_201(method: str, k: int, expected: int) -> None:
    """The mean over uniform draws is known from an independent enumeration."""
    graphs = load("nas-bench-201")
    types = take_census(graphs, k)
    request = [Request(graphs=graphs, k=k, count=1, seed=seed, threads=2) for seed in range(16)]
    draws = np.array([density.density_curve(samplers[method], r, [0.1], types)[0] for r in request])
    assert abs(draws.mean() - expected) < 4.5 * draws.std(ddof=1) / 4 + 1


def test_a_census_that_does_not_fit_is_refused(census: Census, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="census is of subgraphs of 5 nodes, not of 4"):
        sample(random_set(), 4, "nrs", density=0.1, census=census)
    with pytest.raises(InputError, match="lacks patterns that were drawn"):
        sample(random_set(seed=9), 5, "nrs", density=0.1, census=census)
    with pytest.raises(InputError, match="has other types"):
        sample(load("zoo-mini"), 5, "nrs", density=0.1, census=census)
    with pytest.raises(InputError, match="There is no census"):
        sample(random_set(), 5, "nrs", density=0.1, census=tmp_path / "absent.npz")


def test_a_density_out_of_reach_is_refused(census: Census, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(density, "MOST_DRAWS", 3000)
    with pytest.raises(InputError, match=r"samples show \d+ of the \d+ patterns .* give a lower density"):
        sample(random_set(), 5, "nrs", density=1.0, census=census)

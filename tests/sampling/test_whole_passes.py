"""Rand-ESU as published: children by themselves, whole passes, probabilities as they are given."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from grade import GraphSet
from grade.errors import InputError
from grade.sampling import Request, sample, whole_passes
from grade.sampling.rand_esu import paper_probabilities
from grade.sampling.whole_passes import one_pass
from grade.sources import load
from tests.sampling.small_sets import SIGNIFICANCE, assert_mean, every_occurrence, random_set, star, tally


def passes(graphs: GraphSet, probabilities: list[float], number: int) -> list[np.ndarray]:
    request = Request(graphs=graphs, k=len(probabilities), count=1, seed=3, threads=1)
    return [one_pass(request, np.array(probabilities), i) for i in range(number)]


def edges_apart(number: int) -> GraphSet:
    return GraphSet.from_edges(
        node_counts=[2 * number],
        node_types=[0] * (2 * number),
        edge_counts=[number],
        edges=[(2 * i, 2 * i + 1) for i in range(number)],
        node_vocabulary=["conv"],
        origin="edges",
    )


@pytest.mark.parametrize(
    ("graphs", "probabilities"),
    [(star(12), [1.0, 0.3]), (edges_apart(12), [0.3, 1.0])],
    ids=["children", "roots"],
)
def test_each_is_entered_by_itself(graphs: GraphSet, probabilities: list[float]) -> None:
    """So the leaves of a pass are binomially distributed; chosen one in every 1 / p, they would all but agree."""
    sizes = np.array([len(leaves) for leaves in passes(graphs, probabilities, 4000)])
    expected = stats.binom(12, 0.3).pmf(np.arange(13)) * len(sizes)
    counts = np.bincount(sizes, minlength=13)
    common = expected > 5
    rest = [counts[~common].sum()], [expected[~common].sum()]
    chi = stats.chisquare(np.append(counts[common], rest[0]), np.append(expected[common], rest[1]))
    assert chi.pvalue > SIGNIFICANCE


@pytest.mark.parametrize("most", [2**19, 3])
def test_a_pass_reaches_each_leaf_with_the_product(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many parts the tree is walked in."""
    monkeypatch.setattr(whole_passes, "MOST_ENTERED", most)
    graphs, probabilities = random_set(), [0.9, 0.6, 0.8, 0.5, 0.7]
    known = every_occurrence(graphs, 5)
    values = np.zeros((200, len(known)))
    for row, leaves in zip(values, passes(graphs, probabilities, 200), strict=True):
        ids = np.sort(whole_passes._core.ids_of_set(graphs.core, leaves), 1)
        row[:] = tally(ids, known) / np.prod(probabilities)
        assert len(np.unique(ids, axis=0)) == len(ids)
    assert_mean(values, 1.0)


def test_certain_passes_list_everything() -> None:
    graphs = random_set()
    known = every_occurrence(graphs, 4)
    drawn = sample(graphs, 4, "rand-esu", count=len(known), r=0, whole_passes=True)
    assert (tally(drawn.occurrences, known) == 1).all()
    assert drawn.drawn["passes"] == 1
    assert drawn.drawn["estimated_instances"] == pytest.approx(len(known))


def test_nothing_lowers_the_probabilities() -> None:
    """The planned walk holds no more than its capacity at a depth, and lowers them for that."""
    graphs = load("zoo-mini")
    drawn = sample(graphs, 7, "rand-esu", count=2000, seed=1, r=1.0, whole_passes=True, parts=0)
    np.testing.assert_allclose(drawn.drawn["probabilities"], paper_probabilities(7, 1.0))
    again = sample(graphs, 7, "rand-esu", count=2000, seed=1, r=1.0, whole_passes=True, parts=0, threads=2)
    np.testing.assert_array_equal(drawn.occurrences, again.occurrences)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "nrs", "r": 1.0}, "for rand-esu, not for nrs"),
        ({"method": "rand-esu"}, "give r or probabilities"),
        ({"method": "rand-esu", "r": 1.0, "weighting": "graphs"}, "with the weighting 'occurrences'"),
        ({"method": "rand-esu", "r": 90.0}, "too few for 5 samples"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        sample(random_set(), 4, count=5, whole_passes=True, **options)

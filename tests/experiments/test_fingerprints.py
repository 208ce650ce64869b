"""The arithmetic of the fingerprints experiment, and of the one on rare patterns."""

import runpy
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from grade.graphs import PatternTable

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture(scope="module")
def fingerprints() -> dict[str, Any]:
    return runpy.run_path(str(EXPERIMENTS / "fingerprints" / "run.py"))


def test_distances_equal_scipy(fingerprints: dict[str, Any]) -> None:
    shares = np.random.default_rng(0).dirichlet(np.full(9, 0.3), 6)
    shares[0, :5] = 0
    shares[0] /= shares[0].sum()
    expected = [[jensenshannon(p, q, base=2) for q in shares] for p in shares]
    np.testing.assert_allclose(fingerprints["distances"](shares), expected, atol=1e-7)


def test_scaling_keeps_distances_in_a_plane(fingerprints: dict[str, Any]) -> None:
    points = np.random.default_rng(1).random((8, 2))
    between = np.linalg.norm(points[:, None] - points, axis=-1)
    placed = fingerprints["scaled"](between)
    np.testing.assert_allclose(np.linalg.norm(placed[:, None] - placed, axis=-1), between, atol=1e-6)


def test_cells_lose_operations_that_do_nothing(fingerprints: dict[str, Any]) -> None:
    """input -> skip -> skip -> conv -> output; input -> none -> output; input -> pool, a dead end."""
    kinds = ["input", "skip_connect", "skip_connect", "conv3x3", "output", "none", "pool3x3"]
    cell = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 4), (0, 6)])
    nx.set_node_attributes(cell, dict(enumerate(kinds)), "type")
    left = fingerprints["as_in_101"](cell)
    assert sorted(left.edges) == [(0, 3), (3, 4)]


def test_estimates_of_batches_are_added_up_by_pattern() -> None:
    merged = runpy.run_path(str(EXPERIMENTS / "rare_patterns" / "run.py"))["merged"]
    edges = [[0, 1], [0, 0]]
    one = PatternTable.canonical([[0, 1], [1, 1]], [edges] * 2)
    other = PatternTable.canonical([[1, 1], [2, 2]], [edges] * 2)
    table, sums = merged([one, other], [np.array([1.0, 2.0]), np.array([3.0, 4.0])])
    found = {
        tuple(types): total for types, total in zip(table.node_types.tolist(), sums.tolist(), strict=True)
    }
    assert sorted(found.values()) == [1, 4, 5]
    assert found[1, 1] == 5

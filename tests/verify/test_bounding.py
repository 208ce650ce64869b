"""The bound of choices against all choices, on random patterns of random worth."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from grade.verify.bounding import bound_of_choices

Patterns = list[frozenset[int]]
NODES = 9


def patterns() -> st.SearchStrategy[Patterns]:
    return st.lists(st.frozensets(st.integers(0, NODES - 1), min_size=1), min_size=1, max_size=7)


def bound(found: Patterns, worth: np.ndarray, count: int, inside: np.ndarray) -> float:
    starts = np.cumsum([0, *map(len, found)])
    nodes = np.concatenate([sorted(pattern) for pattern in found]).astype(np.int32)
    return bound_of_choices(starts, nodes, worth, count, inside)


@given(
    patterns(),
    st.lists(st.integers(0, 2**40), min_size=NODES, max_size=NODES),
    st.integers(1, 4),
    st.frozensets(st.integers(0, NODES - 1)),
)
def test_no_choice_is_worth_more(found: Patterns, worth: list[int], count: int, good: frozenset[int]) -> None:
    best = max(
        sum(worth[node] for node in frozenset().union(*several))
        for several in combinations(found, min(count, len(found)))
    )
    inside = np.isin(np.arange(NODES), sorted(good))
    told = bound(found, np.array(worth, np.float64), count, inside)
    union = sum(worth[node] for node in frozenset().union(*found))
    assert best <= told <= union * (1 + 1e-8) + 1e-6


def test_it_comes_close_to_linear_programming() -> None:
    """The Lagrangian dual equals the linear relaxation: y_v <= sum of the x_P that hold v, sum of all x_P = count."""
    rng = np.random.default_rng(5)
    nodes, count, gaps = 60, 4, []
    for _ in range(10):
        found = [frozenset(rng.choice(nodes, rng.integers(3, 15), replace=False).tolist()) for _ in range(40)]
        holds = np.array([[node in pattern for pattern in found] for node in range(nodes)], float)
        exact = -linprog(
            [0.0] * len(found) + [-1.0] * nodes,
            A_ub=np.hstack([-holds, np.eye(nodes)]),
            b_ub=np.zeros(nodes),
            A_eq=[[1.0] * len(found) + [0.0] * nodes],
            b_eq=[count],
            bounds=[(0, 1)] * (len(found) + nodes),
        ).fun
        starts = np.cumsum([0, *map(len, found)])
        listed = np.concatenate([sorted(pattern) for pattern in found]).astype(np.int32)
        told = bound_of_choices(starts, listed, np.ones(nodes), count, np.zeros(nodes, bool))
        assert told >= exact - 1e-6
        gaps.append(told / exact)
    assert float(np.mean(gaps)) == pytest.approx(1, abs=0.01)

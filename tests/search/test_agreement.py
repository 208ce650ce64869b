"""`mine` returns the patterns that it must: against a miner in plain Python, setting by setting."""

from itertools import product

import numpy as np
import pytest

from tests.search.agreement import CONSTRAINTS, RANKINGS, random_case

TOPS = (1, 3, 10)


@pytest.mark.parametrize(("k", "seed"), [(3, 0), (3, 1), (4, 2), (4, 3), (5, 4), (5, 5), (6, 6), (6, 7)])
def test_the_patterns_that_must_come_back_do(k: int, seed: int) -> None:
    """A tenth of all settings on each set; benchmarks/agreement.py tries them all on many sets."""
    case = random_case(seed, k)
    settings = list(product(CONSTRAINTS, RANKINGS, TOPS))
    chosen = np.random.default_rng(seed).permutation(len(settings))[: len(settings) // 10]
    for (wishes, holds), rank_by, top in [settings[i] for i in chosen.tolist()]:
        difference = case.difference(rank_by, wishes, holds, top)
        assert difference is None, f"{rank_by}, {wishes}, top {top}: {difference}"


def test_the_cases_are_worth_trying() -> None:
    """Every constraint leaves something and drops something, somewhere."""
    kept, dropped = set(), set()
    for seed, k in product(range(6), (3, 4)):
        case = random_case(seed, k)
        for i, (wishes, holds) in enumerate(CONSTRAINTS):
            patterns = case.patterns[bool(wishes.get("fusible"))]
            passing = sum(map(holds, patterns))
            kept |= {i} if passing else set()
            dropped |= {i} if passing < len(case.patterns[False]) else set()
    assert kept == set(range(len(CONSTRAINTS)))
    assert dropped == set(range(1, len(CONSTRAINTS)))

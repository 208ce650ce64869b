"""Thirty patterns of all shapes: chains, diamonds, residual skips, stars, cycles, self-loops, dense ones."""

from collections.abc import Sequence

import numpy as np

from grade.graphs import Pattern

NAMES = ("Conv", "Relu", "Add", "BatchNormalization", "Concat", "ThisNameIsMuchLongerThanAnyBoxShouldEverBe")
Edges = Sequence[tuple[int, int]]


def pattern(types: Sequence[int], edges: Edges) -> Pattern:
    matrix = np.zeros((len(types), len(types)), int)
    for i, j in edges:
        matrix[i, j] = 1
    return Pattern.of(types, matrix, NAMES, ("none", "edge"))


def chain(n: int) -> Edges:
    return [(i, i + 1) for i in range(n - 1)]


def types(n: int) -> list[int]:
    return [i % len(NAMES) for i in range(n)]


def random_acyclic(n: int, density: float, seed: int) -> Pattern:
    """Connected: every node but the first has an input among the three before it."""
    draw = np.random.default_rng(seed)
    matrix = np.triu(draw.random((n, n)) < density, 1)
    for j in range(1, n):
        matrix[draw.integers(max(0, j - 3), j), j] = True
    return Pattern.of(draw.integers(0, len(NAMES), n), matrix.astype(int), NAMES, ("none", "edge"))


def random_any(n: int, density: float, seed: int) -> Pattern:
    """Cycles and self-loops, too."""
    draw = np.random.default_rng(seed)
    matrix = draw.random((n, n)) < density
    matrix[np.arange(n - 1), np.arange(1, n)] = True
    return Pattern.of(draw.integers(0, len(NAMES), n), matrix.astype(int), NAMES, ("none", "edge"))


GALLERY = {
    "one node": pattern([0], []),
    "pair": pattern([0, 1], [(0, 1)]),
    "self-loop": pattern([5], [(0, 0)]),
    "two-cycle": pattern([0, 1], [(0, 1), (1, 0)]),
    "three-cycle with loop": pattern([0, 1, 2], [(0, 1), (1, 2), (2, 0), (1, 1)]),
    "chain of 3": pattern(types(3), chain(3)),
    "chain of 15": pattern(types(15), chain(15)),
    "diamond": pattern([0, 1, 3, 2], [(0, 1), (0, 2), (1, 3), (2, 3)]),
    "wide diamond": pattern([0, 5, 5, 5, 2], [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]),
    "residual": pattern(types(6), [*chain(6), (0, 5)]),
    "two residuals": pattern(types(9), [*chain(9), (0, 4), (4, 8)]),
    "nested residuals": pattern(types(9), [*chain(9), (0, 8), (1, 7), (2, 6), (3, 5)]),
    "crossing residuals": pattern(types(9), [*chain(9), (0, 5), (1, 6), (2, 7), (3, 8)]),
    "dense block": pattern(types(6), [(i, j) for j in range(6) for i in range(j)]),
    "star in": pattern([4, *[1] * 14], [(i, 0) for i in range(1, 15)]),
    "star out": pattern([4, *[5] * 14], [(0, i) for i in range(1, 15)]),
    "star both": pattern([4, *[1] * 14], [(i, 0) if i % 2 else (0, i) for i in range(1, 15)]),
    "bipartite": pattern(types(8), [(i, j) for i in range(4) for j in range(4, 8)]),
    "binary tree": pattern(types(15), [((i - 1) // 2, i) for i in range(1, 15)]),
    "upward tree": pattern(types(15), [(i, (i - 1) // 2) for i in range(1, 15)]),
    **{f"acyclic {seed}": random_acyclic(15, 0.06 + 0.03 * seed, seed) for seed in range(6)},
    **{f"any {seed}": random_any(9 + seed, 0.1 + 0.05 * seed, seed) for seed in range(4)},
}

"""Sums of weights that do not depend on their order or on the division into blocks.

Floating-point addition is not associative. So a weight is cut into stretches of 20 binary digits at fixed places; each
stretch adds up without rounding (2^32 of them fit the 53 digits of a double), and the sums of the stretches are added
in a fixed order at the end. Digits below 2^-60 are dropped, alike for all.
"""

import numpy as np
from numpy.typing import NDArray

WIDTH = 20  # binary digits of a stretch
PLACES = np.arange(5, -4, -1) * WIDTH  # of their lowest digits: weights up to 2^120
LIMIT = 2.0**120


def stretches(ids: NDArray[np.int64], weights: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """[number, stretches] the sum of each stretch over the weights of each id; these may be added up over blocks."""
    found = np.zeros((number, len(PLACES)))
    rest = np.minimum(weights, LIMIT)
    for column, place in enumerate(PLACES):
        if not (rest >= np.ldexp(1.0, place)).any():
            continue
        part = np.ldexp(np.floor(np.ldexp(rest, -place)), place)
        found[:, column] = np.bincount(ids, part, number)
        rest = rest - part
        if not rest.any():
            break
    return found


def joined(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """[number] one number from the sums of the stretches."""
    total = np.zeros(len(sums))
    for column in reversed(range(sums.shape[1])):  # from the smallest
        total += sums[:, column]
    return total


def exact_sums(ids: NDArray[np.int64], weights: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """[number] sum of the weights of each id, independent of their order.

    >>> weights = np.array([0.1, 1e16, 0.2, 3.0])
    >>> forth, back = (exact_sums(np.zeros(4, int), order, 1)[0] for order in (weights, weights[::-1]))
    >>> bool(forth == back), float(exact_sums(np.array([1, 1]), np.ones(2), 2)[1])
    (True, 2.0)
    """
    return joined(stretches(ids, weights, number))

"""Counter-based random numbers: each is a pure function of a seed, a key and a counter.

Likelihood estimates need noise that does not depend on how candidates are cut into batches. A generator
with a state cannot give that; a hash of (seed, key, counter) can, on any device, in any order.
"""

import torch
from torch import Tensor

GOLDEN = -7046029254386353131  # 2^64 / golden ratio, odd, as a signed integer: the increment of SplitMix64


def mix(x: Tensor) -> Tensor:
    """SplitMix64's finaliser: a bijection of int64 whose output bits look independent of the input's."""
    x = (x ^ _shift(x, 30)) * -4658895280553007687
    x = (x ^ _shift(x, 27)) * -7723592293110705685
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    """Logical right shift; torch's own is arithmetic for signed integers."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def uniform(keys: Tensor, count: int) -> Tensor:
    """[n, count] numbers in [0, 1), float64; row i depends on ``keys[i]`` only.

    >>> keys = torch.tensor([3, 4, 3])
    >>> u = uniform(keys, 2)
    >>> bool((u[0] == u[2]).all()), bool((u[0] == u[1]).any()), bool(((0 <= u) & (u < 1)).all())
    (True, False, True)
    """
    counters = torch.arange(1, count + 1, device=keys.device) * GOLDEN
    return _shift(mix(mix(keys)[:, None] + counters), 11).double() * 2.0**-53


def combine(*parts: Tensor | int) -> Tensor:
    """One key from several (seed, round, candidate ...), broadcast against each other."""
    device = next((part.device for part in parts if isinstance(part, Tensor)), None)
    key = torch.zeros((), dtype=torch.int64, device=device)
    for part in parts:
        key = mix(key * GOLDEN + part)
    return key


def content_keys(rows: Tensor) -> Tensor:
    """[n] keys of integer rows [n, m]: equal rows get equal keys, wherever they stand.

    >>> keys = content_keys(torch.tensor([[1, 2], [2, 1], [1, 2]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    keys = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
    for column in rows.T:
        keys = mix(keys * GOLDEN + column + 1)
    return keys

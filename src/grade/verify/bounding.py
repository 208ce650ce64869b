"""An upper bound of the coverage of any m patterns, by Lagrangian relaxation of the maximum coverage problem.

For any multipliers l_v in [0, 1], a union of patterns P is worth at most

    sum_v w_v (1 - l_v)  +  sum_P sum_(v in P) w_v l_v,

as a node counts once on the left, and once for each pattern that holds it on the right. So a choice of m patterns is
worth at most the first sum and the m largest terms of the second. A subgradient method lowers that (Held, Wolfe and
Crowder, 1974): l_v falls where several of the m hold v, and rises where none does. Every step gives a valid bound; the
least counts.
"""

import numpy as np
from numpy.typing import NDArray

STEPS = 60  # of the subgradient method; later ones gain some thousandths
PATIENCE = 4  # steps without a lower bound, after which they get half as long
SLACK = 1e-9  # relative, more than sums of rounded numbers are off


def bound_of_choices(
    starts: NDArray[np.int64],
    nodes: NDArray[np.int32],
    worth: NDArray[np.float64],
    count: int,
    inside: NDArray[np.bool_],
) -> float:
    """An upper bound of what any ``count`` of the patterns are worth together.

    Pattern i holds nodes[starts[i] : starts[i + 1]], each once, and at least one; ``worth`` is [all nodes]. ``inside``
    [all nodes] marks the nodes of a good choice, from which the multipliers begin.

    >>> starts, nodes = np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 2, 3], np.int32)
    >>> round(bound_of_choices(starts, nodes, np.ones(4), 1, np.array([True, True, False, False])), 3)
    2.0
    """
    m = len(starts) - 1
    some = np.zeros(len(worth), bool)
    some[nodes] = True
    weights = np.where(some, worth, 0.0)
    multipliers = np.where(inside, 0.0, 1.0)
    reached, best = float(weights[inside].sum()), float(weights.sum())
    length, since = 1.0, 0
    for _ in range(STEPS):
        terms = np.add.reduceat((weights * multipliers)[nodes], starts[:-1])
        chosen = np.argsort(-terms, kind="stable")[:count] if count < m else np.arange(m)
        now = float((weights * (1 - multipliers)).sum() + terms[chosen].sum())
        since = 0 if now < best else since + 1
        best = min(best, now)
        if since == PATIENCE:
            length, since = length / 2, 0
        held = np.zeros(len(worth))
        for pattern in chosen:
            held[nodes[starts[pattern] : starts[pattern + 1]]] += 1
        slope = weights * (held - 1)
        slope[(multipliers <= 0) & (slope > 0)] = 0  # steps to where multipliers may not be
        slope[(multipliers >= 1) & (slope < 0)] = 0
        square = float((slope**2).sum())
        if square == 0 or now <= reached:
            break
        multipliers = np.clip(multipliers - length * (now - reached) / square * slope, 0, 1)
    return best * (1 + SLACK)

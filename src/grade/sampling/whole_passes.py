"""Rand-ESU as published (the paper's appendix "Subgraph Sampling Methods", algorithm Rand-ESU; Wernicke 2006).

Every child is entered by itself with the probability of its depth, which nothing lowers, and whole passes over the set
are made until they have reached enough leaves. A random choice of these is returned. So the work is whatever the
probabilities let through, leaves that share ancestors come together, and stopping at the pass that suffices favours
large passes: the planned walk of `grade.sampling.rand_esu` is there to mend all three.

A part of the tree is walked at a time, the deepest first, so that memory is bounded however large a pass is.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.sampling.sampler import Request
from grade.sampling.tree_in_blocks import SURE_PASSES, hopeless

MOST_ENTERED = 2**19  # nodes of the tree that one step is expected to enter


def whole_passes(request: Request, probabilities: NDArray[np.float64]) -> dict[str, Any]:
    """What `grade._core.sample_tree` returns, without patterns."""
    passes: list[NDArray[np.uint32]] = []
    leaves = 0
    while leaves < request.count:
        if len(passes) >= SURE_PASSES and hopeless(request.count, len(passes), leaves):
            break
        passes.append(one_pass(request, probabilities, len(passes)))
        leaves += len(passes[-1])
    facts = {
        "leaves": leaves,
        "passes": len(passes),
        "probabilities": probabilities,
        "hopeless": leaves < request.count,
    }
    if facts["hopeless"]:
        return {**facts, "occurrences": np.zeros((0, request.k), np.uint32), "weights": np.zeros(0)}
    places = _core.places_of_choice(leaves, request.count, request.seed, 2 * request.stream)
    weight = leaves / (probabilities.prod() * len(passes) * request.count)
    return {
        **facts,
        "occurrences": _core.ids_of_set(request.graphs.core, np.concatenate(passes)[places]),
        "weights": np.full(request.count, weight),
    }


def one_pass(request: Request, probabilities: NDArray[np.float64], number: int) -> NDArray[np.uint32]:
    """[n, k] the leaves that a pass reaches, in the numbers of the core."""
    core, k, names = request.graphs.core, request.k, (request.seed, 2 * request.stream, number)
    leaves = [np.zeros((0, k), np.uint32)]
    opened = [0] * k  # nodes of each depth so far: each has random numbers of its own
    waiting = [_core.tree_roots(core, float(probabilities[0]), *names, 0, True)]
    while waiting:
        members, heads, children = waiting.pop()
        depth = members.shape[1]
        if depth == k:
            leaves.append(members)
        elif len(heads):
            p = float(probabilities[depth])
            pieces = min(int(children * p / MOST_ENTERED) + 1, len(heads))
            for rows in np.array_split(np.arange(len(heads)), pieces):
                if pieces > 1:
                    waiting.append((members[rows], heads[rows], children // pieces))
                    continue
                grown = _core.tree_children(
                    core,
                    members,
                    heads,
                    p,
                    depth + 1 == k,
                    *names,
                    opened[depth],
                    True,
                    request.threads,
                    request.progress,
                )
                opened[depth] += len(heads)
                waiting.append(grown)
    return np.concatenate(leaves)

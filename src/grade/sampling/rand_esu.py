"""Rand-ESU: leaves of the enumeration tree (the paper's appendix "Subgraph Sampling Methods", algorithm
Rand-ESU).

Every connected induced k-subgraph is one leaf of the ESU tree. A node of depth d is entered with probability
p_d, so every leaf is reached with the same probability p_1 ... p_k; passes over the set reach enough leaves, and
a random choice of them is returned. A first series of passes determines the number needed and is discarded: stopping
at the pass that suffices would favour large passes and bias the estimates upwards. The paper sets p_d = (1 - d / (k +
1))^r; any list of probabilities can be given as well.

By default the sampler plans the probabilities, and a request for N samples never costs the whole tree: the tree is
walked level by level with at most ``capacity`` partial subgraphs at a time, a small multiple of N. At each level the
number of children is known before they are made, and p_d is lowered to keep within the capacity. So the work is at
most k * capacity, whatever hubs do, and a tree that fits is enumerated whole. (Given probabilities are lowered in the
same way where they would let too many through.) With such p_d the estimate of a sum over all occurrences, 1 / (p_1
... p_k) times the sum over the leaves reached, is unbiased. The share of a pattern among the leaves is a ratio of two
such estimates, so it is unbiased only in the limit of a large capacity; the remaining bias is measured in
``experiments/sample_size``. Leaves that share ancestors are drawn together, so an estimate varies more than with
independent draws; thinning from four times as many leaves (as far as these are few) spreads them.
`grade.sampling.whole_passes` is the sampler as published.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.errors import InputError
from grade.sampling.sampler import Draw, Request, samplers
from grade.sampling.tree_in_blocks import sample_tree_in_blocks
from grade.sampling.whole_passes import whole_passes

CAPACITY = 2**17  # the least number of partial subgraphs held
AMPLE_CAPACITY = 2**20  # more serves only to reach the number asked for
MOST_CAPACITY = 2**22  # where several passes are better
LEAVES_PER_SAMPLE = 4


@samplers.register("rand-esu")
def draw(request: Request) -> Draw:
    """Uniform draws from the enumeration tree; the facts hold the probabilities by depth."""
    result = sample_tree(request, trie=False)
    weights: NDArray[np.float64] = result["weights"]
    # Passes with different probabilities (the capacity was reached) differ a little in weight; otherwise all are 1.
    return Draw(
        occurrences=result["occurrences"], weights=weights / weights.max(), facts=tree_facts(request, result)
    )


def paper_probabilities(k: int, r: float) -> NDArray[np.float64]:
    """[k] the paper's p_d = (1 - d / (k + 1))^r for d = 1 .. k.

    >>> paper_probabilities(3, 1).tolist()
    [0.75, 0.5, 0.25]
    """
    return (1 - np.arange(1, k + 1) / (k + 1)) ** r


def effective_r(probabilities: NDArray[np.float64]) -> float:
    """The r at which the paper's probabilities reach as many leaves as these.

    >>> effective_r(paper_probabilities(5, 2.5))
    2.5
    """
    ratio = np.log(probabilities).sum() / np.log(paper_probabilities(len(probabilities), 1)).sum()
    return float(round(ratio, 9)) + 0.0  # no minus zero


def sample_tree(request: Request, trie: bool) -> dict[str, Any]:
    """The native walk, with the patterns of the leaves if ``trie``."""
    if request.whole_passes:
        return sample_whole_passes(request, trie)
    if request.weighting == "edges":
        raise InputError(
            "The weighting 'edges' is for ars and nrs, which choose a graph first; use 'occurrences' or 'graphs'."
        )
    capacity, spread = capacity_for(request.count), request.spread
    if len(spread.bounds) > 1 and request.weighting == "occurrences" and not trie:
        result = sample_tree_in_blocks(request, spread, probabilities_by_depth(request), capacity)
        return refuse_hopeless(request, result)
    result = _core.sample_tree(
        request.graphs.core,
        request.k,
        request.count,
        probabilities_by_depth(request),
        capacity,
        request.weighting,
        request.seed,
        2 * request.stream + trie,  # the two samplers that use this draw apart
        trie,
        request.threads,
        request.progress,
    )
    return refuse_hopeless(request, result)


def sample_whole_passes(request: Request, trie: bool) -> dict[str, Any]:
    if trie or request.weighting != "occurrences":
        raise InputError("Whole passes are for rand-esu with the weighting 'occurrences'; leave them out.")
    if request.r is None and request.probabilities is None:
        raise InputError("Whole passes take their probabilities as they are given; give r or probabilities.")
    return refuse_hopeless(request, whole_passes(request, probabilities_by_depth(request)))


def refuse_hopeless(request: Request, result: dict[str, Any]) -> dict[str, Any]:
    if result["hopeless"]:
        raise InputError(
            f"These probabilities let {result['leaves']:,} subgraphs of {request.k} nodes through in"
            f" {result['passes']:,} passes over {request.graphs.origin}, too few for {request.count:,} samples;"
            " lower r, raise the probabilities, or leave both out."
        )
    return result


def capacity_for(count: int) -> int:
    """The number of partial subgraphs to hold for this many samples.

    >>> capacity_for(1000), capacity_for(50_000), capacity_for(500_000), capacity_for(2_000_000)
    (131072, 200000, 1048576, 3000000)
    """
    spread_out = min(LEAVES_PER_SAMPLE * count, max(AMPLE_CAPACITY, count + count // 2))
    return min(max(CAPACITY, spread_out), MOST_CAPACITY)


def probabilities_by_depth(request: Request) -> NDArray[np.float64]:
    """[k] the probabilities asked for; all 1 where none are, so that the capacity alone decides."""
    k, r, given = request.k, request.r, request.probabilities
    if r is not None and given is not None:
        raise InputError("Both r and probabilities are given; give one of them.")
    if r is not None:
        if not 0 <= r < float("inf"):
            raise InputError(f"r is {r}; give 0 or more (0 enters every node of the tree).")
        p = paper_probabilities(k, r)
        if p[-1] == 0:
            raise InputError(f"r is {r}, which makes the probability at depth {k} zero; give a smaller r.")
        return p
    if given is None:
        return np.ones(k)
    if len(given) != k:
        raise InputError(
            f"{len(given)} probabilities are given; subgraphs of {k} nodes need {k}, one for each depth."
        )
    if not all(0 < p <= 1 for p in given):
        raise InputError("A probability is not above 0 and at most 1; give p_1 to p_k in (0, 1].")
    return np.array(given, np.float64)


def tree_facts(request: Request, result: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {"leaves": result["leaves"], "passes": result["passes"]}
    if request.weighting == "occurrences":  # in the other case each graph has its own
        facts["probabilities"] = result["probabilities"].tolist()
        facts["effective_r"] = effective_r(result["probabilities"])
        facts["estimated_instances"] = float(result["weights"].sum())
    return facts

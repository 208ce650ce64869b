"""Stratified growth: as many occurrences of a rare pattern as of a frequent one, to count patterns that uniform
samples miss.

Uniform samples of N occurrences estimate a pattern's count within 20 % where it makes up more than about 25 / N of all
occurrences; most patterns of 7 nodes in `zoo` are rarer by orders of magnitude. Here occurrences grow node by node,
and on each level the lists of all patterns have the same limit. A list that holds all occurrences of its pattern is
complete, and so is one that grew from complete lists only: their counts are exact. The other counts are estimated by
weights; the sum over a pattern's list is an unbiased estimate of its count, given the pilot run that chose how to
combine overlapping ways to grow an occurrence (`native/stratified.hpp`). A pattern can be missed only if each of its
ways to grow leads through thinned lists.

The estimates have no bound on their error. So counts are made anew from complete lists of smaller patterns
(`native/rooted_counts.hpp`): exactly where that takes few steps, else by draws until as many embeddings were seen as
bound the relative error. For every pattern, whatever the set, the probability that it gets a bounded count that is off
by more than ``ERROR`` is at most 1 - ``CONFIDENCE``. Patterns that would take too many steps keep their estimates.

No level holds more than ``count`` occurrences, unless there are more patterns. As many are returned in random order;
where fewer were found, each is repeated and its weight divided.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from grade import _core
from grade.errors import InputError
from grade.graphs import PatternTable
from grade.sampling.sampler import Draw, Request, samplers

ERROR, CONFIDENCE = 0.2, 0.95
ERRORS = np.array([np.inf, ERROR, 0.0])  # by the quality that the native core gives


@samplers.register("stratified")
def draw(request: Request) -> Draw:
    """Weighted occurrences; the weights of each pattern add up to its count."""
    request.refuse_probabilities("stratified")
    if request.weighting != "occurrences":
        raise InputError(
            f"stratified has weights of its own, so it takes no weighting {request.weighting!r}; leave it out."
        )
    graphs = request.graphs
    found = _core.stratified(
        graphs.core,
        request.k,
        max(request.count // 2, 1),  # lists are cut by halves, so that up to twice as much is kept
        hits_for(ERROR, CONFIDENCE),
        request.seed,
        request.stream,
        request.threads,
        request.progress,
    )
    rows, shares = rows_of_count(len(found["weights"]), request.count, request.seed, request.stream)
    ids = found["pattern_ids"][rows]
    weights = found["weights"][rows] * shares
    sums = np.bincount(ids, weights, len(found["counts"]))
    weights *= (found["counts"] / np.where(sums > 0, sums, 1))[ids]
    seen, ids = np.unique(ids, return_inverse=True)
    errors = ERRORS[found["quality"][seen]]
    patterns = PatternTable(
        found["node_types"],
        found["edges"],
        found["automorphisms"],
        graphs.node_vocabulary,
        graphs.edge_vocabulary,
    )
    return Draw(
        occurrences=found["occurrences"][rows],
        weights=weights,
        facts={
            "estimated_instances": float(found["counts"].sum()),
            "error": ERROR,
            "confidence": CONFIDENCE,
        },
        pattern_ids=ids.astype(np.int32),
        patterns=patterns.take(seen),
        errors=errors,
    )


@lru_cache
def hits_for(error: float, confidence: float) -> int:
    """The number r of embeddings for which (r - 1) / Gamma(r) is within ``error`` of 1 with this probability.

    >>> hits_for(0.2, 0.95), hits_for(0.1, 0.95)
    (97, 385)
    """
    r = 2
    while gammainc(r, (r - 1) / (1 - error)) - gammainc(r, (r - 1) / (1 + error)) < confidence:
        r += 1
    return r


def rows_of_count(
    available: int, count: int, seed: int, stream: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """([count] rows in random order, [count] factors of their weights that leave sums unbiased).

    >>> rows, shares = rows_of_count(2, 5, seed=0, stream=0)
    >>> np.bincount(rows, shares).tolist()
    [1.0, 1.0]
    """
    random = np.random.default_rng([seed, stream])
    rows = random.permutation(np.arange(count) % available if available < count else available)[:count]
    if available >= count:
        return rows, np.full(count, available / count)
    return rows, 1 / np.bincount(rows, minlength=available)[rows]

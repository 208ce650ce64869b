"""Stratified growth: as many occurrences of a rare pattern as of a frequent one, to count patterns that uniform
samples miss.

Uniform samples of N occurrences estimate a pattern's count within 20 % where it makes up more than about 25 / N of all
occurrences; most patterns of 7 nodes in `zoo` are rarer by orders of magnitude. Here occurrences grow node by node,
and on each level the lists of all patterns have the same limit. A list that holds all occurrences of its pattern is
complete, and so is one that grew from complete lists only: their counts are exact. The other counts are estimated by
weights; the sum over a pattern's list is an unbiased estimate of its count, given the pilot run that chose how to
combine overlapping ways to grow an occurrence (`native/stratified.hpp`). A pattern can be missed only if each of its
ways to grow leads through thinned lists. Nothing bounds the error of estimates; ``experiments/rare_patterns`` measures
it.

No level holds more than ``count`` occurrences, unless there are more patterns. As many are returned in random order;
where fewer were found, each is repeated and its weight divided.
"""

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.errors import InputError
from grade.graphs import PatternTable
from grade.sampling.sampler import Draw, Request, samplers


@samplers.register("stratified")
def draw(request: Request) -> Draw:
    """Weighted occurrences; the facts say how many patterns were counted exactly."""
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
        request.seed,
        request.stream,
        request.threads,
        request.progress,
    )
    rows, shares = rows_of_count(len(found["weights"]), request.count, request.seed, request.stream)
    ids = found["pattern_ids"][rows]
    seen, ids = np.unique(ids, return_inverse=True)
    patterns = PatternTable(
        found["node_types"],
        found["edges"],
        found["automorphisms"],
        graphs.node_vocabulary,
        graphs.edge_vocabulary,
    )
    return Draw(
        occurrences=found["occurrences"][rows],
        weights=found["weights"][rows] * shares,
        facts={
            "estimated_instances": float(found["counts"].sum()),
            "exact_patterns": int(found["exact"].sum()),
        },
        pattern_ids=ids.astype(np.int32),
        patterns=patterns.take(seen),
    )


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

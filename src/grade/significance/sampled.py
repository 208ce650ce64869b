"""Scores from sampled counts, for sizes that cannot be counted exactly.

The set and every draw of the null model are sampled in the same way, by as many subgraphs, and counts are estimated
by their weights without bias (`grade.sampling.rand_fase`). So the error of an estimate is on both sides: under the
null hypothesis the set and the draws stay exchangeable, which keeps the p-values valid, and the deviation over
the draws is that of counts and of sampling together, as a z-score of estimates needs it. It is at least the standard
error of the set's own estimate, which matters where no draw shows the pattern. The price is power: patterns that a
sample seldom shows cannot become significant.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grade.graphs import GraphSet, PatternTable
from grade.progress import Progress
from grade.sampling import sample
from grade.significance.null_models import NullModel, randomised
from grade.significance.p_values import Scores, score


@dataclass(frozen=True, eq=False)
class SampledCounts:
    """Estimated counts of patterns in a set and in the draws of a null model."""

    patterns: PatternTable  # [n], sorted
    scores: Scores
    instances: float
    null_instances: float


def sampled_counts(
    graphs: GraphSet,
    k: int,
    null: NullModel,
    *,
    samples: int,
    draws: int,
    switches: float,
    least: float,
    seed: int,
    threads: int | None,
    progress: Progress | None,
) -> SampledCounts:
    """Estimate the counts of the set and of all draws from ``samples`` subgraphs each."""
    tables: list[PatternTable] = []
    counts: list[NDArray[np.float64]] = []
    own_variance: NDArray[np.float64] = np.zeros(0)  # of the estimates of the set, from its sample
    for number in range(draws + 1):
        drawn = graphs
        if number > 0:
            drawn = randomised(graphs, null, switches=switches, seed=seed, draw=number - 1, threads=threads)
        own_seed = int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])
        found = sample(drawn, k, "rand-fase", count=samples, seed=own_seed, threads=threads, parts=0)
        tables.append(found.patterns)
        counts.append(np.bincount(found.pattern_ids, found.weights, len(found.patterns)).astype(float))
        if number == 0:
            own_variance = np.bincount(found.pattern_ids, found.weights**2, len(found.patterns)).astype(float)
        if progress is not None:
            progress((number + 1) / (draws + 1))
    keys = np.concatenate([table.keys for table in tables])
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    patterns = PatternTable(
        np.concatenate([table.node_types for table in tables])[first],
        np.concatenate([table.edges for table in tables])[first],
        np.concatenate([table.automorphisms for table in tables])[first],
        graphs.node_vocabulary,
        graphs.edge_vocabulary,
    )
    rows = np.split(place, np.cumsum([len(table) for table in tables])[:-1])
    observed = np.zeros(len(patterns))
    observed[rows[0]] = counts[0]
    total, squares, most = np.zeros(len(patterns)), np.zeros(len(patterns)), np.zeros(len(patterns))
    greater = np.zeros(len(patterns), np.uint64)
    equal = np.full(len(patterns), draws, np.uint64) * (observed == 0)
    for row, count in zip(rows[1:], counts[1:], strict=True):
        total[row] += count
        squares[row] += count**2
        most[row] = np.maximum(most[row], count)
        greater[row] += (count > observed[row]).astype(np.uint64)
        equal[row] += ((count == observed[row]) & (observed[row] > 0)).astype(np.uint64)
        equal[row] -= (observed[row] == 0).astype(np.uint64)
    mean = total / draws
    variance = np.maximum(squares - draws * mean**2, 0) / (draws - 1)
    variance[rows[0]] = np.maximum(variance[rows[0]], own_variance)
    scores = score(observed, mean, variance, greater + equal, draws - greater, most, draws, least)
    return SampledCounts(patterns, scores, float(observed.sum()), float(total.sum() / draws))

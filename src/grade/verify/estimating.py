"""Unbiased estimates in place of counts that were cut off.

Where a pattern occurs 1e10 times and more, enumeration says little: it stops at a lower bound. Occurrences of a family
of its parts, drawn from seeds that nothing else uses, give an estimate with its error (`grade.search.reestimate`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grade import _core
from grade.graphs import GraphSet, Pattern, PatternTable
from grade.graphs.queries import Query
from grade.progress import NEVER, Deadline, OutOfTime
from grade.search import Constraints
from grade.search.beam import START, Bounds, derived
from grade.search.reestimate import draw_counts, family_of, mean_and_error
from grade.support import ESTIMATE, LOWER_BOUND, Support
from grade.verify.vocabulary import translate

BOUNDS = Bounds(capacity=3_000_000, list_size=500)  # about half a GB
COUNTING_SHARE = 0.8  # of a time budget; the rest is for estimates
REPLICATES = 4
SEED = 99


def with_estimates(
    graphs: GraphSet,
    patterns: Sequence[Pattern | Query],
    supports: Sequence[Support],
    threads: int = 1,
    deadline: Deadline = NEVER,
) -> list[Support]:
    """The supports, with unbiased estimates for occurrences that are lower bounds; those stay where time runs out.

    An estimate that is smaller than what was counted is worth nothing, and the lower bound stays. So it does for
    patterns of fewer than 4 nodes, for queries, and in sets whose 3-subgraphs are too many to start from.
    """
    result = list(supports)
    tables = {
        i: in_words_of(graphs, pattern)
        for i, (pattern, support) in enumerate(zip(patterns, supports, strict=True))
        if support.occurrences_quality == LOWER_BOUND
        and isinstance(pattern, Pattern)
        and pattern.size > START
    }
    if not tables or _core.count_instances(graphs.core, START, threads, None) > BOUNDS.capacity:
        return result
    sizes = {table.size for table in tables.values()}
    wanted = {
        size: PatternTable.concatenate(t for t in tables.values() if t.size == size).unique()
        for size in sizes
    }
    family = family_of(wanted)
    try:
        drawn = [
            draw_counts(
                graphs,
                family,
                constraints=Constraints(),
                bounds=BOUNDS,
                seed=derived(SEED, replicate),
                threads=threads,
                deadline=deadline,
            )
            for replicate in range(REPLICATES)
        ]
    except OutOfTime:
        return result
    for size in sizes:
        counts, errors = mean_and_error([replicate[size - START] for replicate in drawn])
        for i in (i for i in tables if tables[i].size == size):
            j = int(family[size - START].find(tables[i])[0])
            if counts[j] > supports[i].occurrences:
                result[i] = replace(
                    supports[i],
                    occurrences=float(counts[j]),
                    standard_error=float(errors[j]),
                    occurrences_quality=ESTIMATE,
                )
    return result


def in_words_of(graphs: GraphSet, pattern: Pattern) -> PatternTable:
    """One pattern in the numbers of the set's vocabulary; a pattern that was met at all is known there."""
    table = PatternTable(
        np.array([pattern.node_types], np.uint16),
        np.array([pattern.edges], np.uint8),
        np.array([pattern.automorphisms]),
        pattern.node_vocabulary,
        pattern.edge_vocabulary,
    )
    types, edges, _ = translate(table, graphs)
    return PatternTable.canonical(types, edges, graphs.node_vocabulary, graphs.edge_vocabulary)

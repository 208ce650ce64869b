"""A search that starts from given patterns: their occurrences, all of them, as the first level."""

import time

import numpy as np

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.queries import Query
from grade.search import Level, OccurrenceLists
from grade.search.beam import Bounds
from grade.verify.counting import Verifier
from grade.verify.given import read_patterns
from grade.verify.querying import QueryVerifier


def starting_level(
    place: str, graphs: GraphSet, largest: int, bounds: Bounds, seed: int, threads: int
) -> Level:
    """The level of the patterns that a text stands for: one, or those that a query with wildcards matches.

    >>> from grade.sources import load
    >>> level = starting_level("Conv -> * -> Relu", load("zoo-mini"), 5, Bounds(10**6, 1000), 0, 1)
    >>> [str(pattern) for pattern in level.lists.patterns], int(level.lists.counts.sum())
    (['Conv -> BatchNormalization -> Relu'], 201)
    """
    begin = time.perf_counter()
    given = [one.pattern for one in read_patterns(place, graphs.node_vocabulary, graphs.edge_vocabulary)]
    if len({pattern.size for pattern in given}) != 1:
        raise InputError("The patterns to start from are of different sizes; give those of one size.")
    size = given[0].size
    if not size < largest:
        raise InputError(f"The pattern to start from has {size} nodes; `k` must be larger.")
    limit = bounds.capacity // 4
    found = [np.zeros((0, size), np.uint32)]
    for pattern in given:
        if isinstance(pattern, Query):
            found.append(QueryVerifier(graphs, threads).occurrences(pattern, limit + 1))
        else:
            found.append(Verifier(graphs, threads).occurrences(pattern, limit + 1, float("inf")))
    rows = np.unique(np.concatenate(found), axis=0)
    if len(rows) == 0:
        raise InputError(f"{place!r} does not occur in {graphs.origin}, so there is nothing to grow from.")
    if len(rows) > limit:
        raise InputError(
            f"{place!r} has more than {limit:,} occurrences, too many to grow from; raise `memory`."
        )
    lists = OccurrenceLists.of(graphs, np.ascontiguousarray(rows), threads)
    order = np.argsort(-lists.counts, kind="stable")
    kept = lists.take(order).thinned(bounds.list_size, seed)
    return Level(kept, lists.counts[order], len(lists), len(rows), time.perf_counter() - begin, whole=False)

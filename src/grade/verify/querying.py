"""Exact counting of queries: patterns with wildcards, and patterns that need not be induced (native/query.hpp)."""

import time
from math import inf

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.graphs import GraphSet
from grade.graphs.queries import Query
from grade.machine import thread_count
from grade.progress import Progress
from grade.support import Support
from grade.verify.limits import bad_patterns_refused, quality, steps_in


class QueryVerifier:
    """A graph set indexed for counting queries.

    >>> graphs = GraphSet.from_edges(node_counts=[4], node_types=[0, 1, 2, 1], edge_counts=[4],
    ...                              edges=[[0, 1], [1, 2], [0, 2], [2, 3]], node_vocabulary=["a", "b", "c"])
    >>> verifier = QueryVerifier(graphs)
    >>> verifier.support(Query("* -> b")).occurrences, verifier.support(Query("a -> b -> c")).occurrences
    (2, 0)
    >>> verifier.support(Query("a -> b -> c", induced=False)).occurrences
    1
    """

    def __init__(self, graphs: GraphSet, threads: int | None = None, fusible: bool = False) -> None:
        self.graphs, self.threads = graphs, thread_count(threads)
        self.matcher = _core.QueryMatcher(graphs.core, graphs.fusible_index if fusible else None)

    def support(
        self,
        query: Query,
        seconds: float | None = None,
        examples: int = 0,
        progress: Progress | None = None,
        clock: float = inf,
    ) -> Support:
        """All supports of a query, exact unless time runs out; then they are lower bounds."""
        return self.answer(query, seconds, examples, progress, clock)[0]

    def answer(
        self,
        query: Query,
        seconds: float | None = None,
        examples: int = 0,
        progress: Progress | None = None,
        clock: float = inf,
    ) -> tuple[Support, NDArray[np.bool_]]:
        """The supports, and which nodes [nodes] lie in an occurrence."""
        begin = time.perf_counter()
        steps = steps_in(seconds) if clock > 0 else 0
        types, edges = query.choices(self.graphs.node_vocabulary, self.graphs.edge_vocabulary)
        with bad_patterns_refused():
            owners, counts, disjoint, covered, rows, complete = self.matcher.answer(
                types, edges, examples, self.threads, steps, clock, progress
            )
        support = Support(
            occurrences=int(counts.sum()),
            occurrences_quality=quality(complete),
            graphs=len(owners),
            graphs_quality=quality(complete),
            disjoint=int(disjoint.sum()),
            disjoint_quality=quality(complete),
            coverage=int(covered.sum()),
            coverage_quality=quality(complete),
            per_graph=list(zip(owners.tolist(), counts.tolist(), strict=True)),
            examples=rows.tolist(),
            seconds=time.perf_counter() - begin,
        )
        return support, covered.astype(bool)

    def occurrences(self, query: Query, limit: int, seconds: float | None = None) -> NDArray[np.uint32]:
        """[n, k] the first occurrences as ascending global node ids."""
        return self.listed(query, limit, seconds)[0]

    def listed(
        self, query: Query, limit: int, seconds: float | None = None
    ) -> tuple[NDArray[np.uint32], bool]:
        """([n, k] the first occurrences, whether these are all)."""
        types, edges = query.choices(self.graphs.node_vocabulary, self.graphs.edge_vocabulary)
        with bad_patterns_refused():
            _, counts, _, _, rows, complete = self.matcher.answer(
                types, edges, limit, self.threads, steps_in(seconds), inf, None
            )
        return rows, bool(complete) and len(rows) == int(counts.sum())

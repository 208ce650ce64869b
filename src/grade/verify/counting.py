"""Exact induced counting of given patterns over a graph set.

The work is done in the native core (native/match.hpp): the rarest node of the pattern first, then always a neighbour
of the placed nodes. A bit field per node marks its placed neighbours, so that the induced test is one comparison.
Orbits of the automorphism group give an order that meets every node set once. Leaves are counted by binomials rather
than one by one, because around hubs counts reach 1e10 and more.
"""

import time
from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from grade.engine import LOCAL, Engine
from grade.errors import InputError
from grade.graphs import GraphSet, Pattern, PatternTable
from grade.graphs.queries import Query
from grade.machine import thread_count
from grade.progress import Progress
from grade.support import Support
from grade.verify.limits import bad_patterns_refused, quality, steps_in, time_limit
from grade.verify.querying import QueryVerifier
from grade.verify.vocabulary import translate

SECONDS_PER_PATTERN = 1200.0  # the paper's cut-off
PACKING_SHARE = 0.4  # of the limit, for the disjoint occurrences in addition
EXAMPLES_SHARE = 0.1  # and the examples
IMAGE_SHARE = 0.05  # and the images of each node of the pattern
IMAGE_STEPS = 10**9


def count_pattern(
    graphs: GraphSet,
    pattern: Pattern,
    seconds: float | None = None,
    threads: int | None = None,
    fusible: bool = False,
    supports: bool = True,
    progress: Progress | None = None,
) -> Support:
    """Count the node sets that induce one pattern, in all graphs; and the other supports, unless they are not wanted.

    Parameters
    ----------
    seconds
        when to stop, as time of one core; counts that were stopped are lower bounds and marked as such
    fusible
        only occurrences that a compiler could fuse: convex (no directed path leaves the node set and comes back), and
        edges leave it at one node at most
    supports
        also find the disjoint occurrences and the covered nodes

    Examples
    --------
    >>> graphs = GraphSet.from_edges(node_counts=[4], node_types=[0, 1, 1, 1], edge_counts=[3],
    ...                              edges=[[0, 1], [0, 2], [0, 3]], node_vocabulary=["input", "conv"])
    >>> fork = Pattern.of([0, 1, 1], [[0, 1, 1], [0, 0, 0], [0, 0, 0]], ["input", "conv"])
    >>> support = count_pattern(graphs, fork)
    >>> support.occurrences, support.occurrences_quality, support.graphs, support.disjoint, support.coverage
    (3, 'exact', 1, 1, 4)
    """
    return Verifier(graphs, threads, fusible).support(pattern, seconds, supports, 0, progress)


def count_patterns(
    graphs: GraphSet,
    patterns: PatternTable,
    seconds_per_pattern: float | None = None,
    threads: int | None = None,
    fusible: bool = False,
    progress: Progress | None = None,
    engine: Engine = LOCAL,
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """([n] occurrences, [n] whether they are exact) of many patterns: microseconds for each that is rare.

    >>> graphs = GraphSet.from_edges(node_counts=[3], node_types=[0, 0, 0], edge_counts=[2],
    ...                              edges=[[0, 1], [1, 2]], node_vocabulary=["conv"])
    >>> counts, exact = count_patterns(graphs, PatternTable.from_keys(["0.0/0>1", "0.0/0>1.1>0"]))
    >>> counts.tolist(), exact.tolist()
    ([2, 0], [True, True])
    """
    limit = steps_in(seconds_per_pattern)
    types, edges, known = translate(patterns, graphs)
    counts, exact = np.zeros(len(patterns), np.uint64), np.ones(len(patterns), bool)
    if known.any():
        matcher = engine.over(graphs, threads).matcher(fusible)
        with bad_patterns_refused():
            counts[known], exact[known], _ = matcher.count_all(
                types[known], edges[known], thread_count(threads), limit, progress
            )
    return counts, exact


def list_occurrences(
    graphs: GraphSet,
    pattern: Pattern,
    limit: int = 1_000_000,
    seconds: float | None = None,
    fusible: bool = False,
) -> NDArray[np.uint32]:
    """[n, k] the first occurrences of a pattern as ascending global node ids, graph by graph in a fixed order.

    >>> graphs = GraphSet.from_edges(node_counts=[3], node_types=[0, 0, 0], edge_counts=[2],
    ...                              edges=[[0, 1], [1, 2]], node_vocabulary=["conv"])
    >>> sorted(list_occurrences(graphs, Pattern.of([0, 0], [[0, 1], [0, 0]])).tolist())
    [[0, 1], [1, 2]]
    """
    if limit < 0:
        raise InputError(f"The number of occurrences to list is {limit}; give 0 or more.")
    return Verifier(graphs, 1, fusible).occurrences(pattern, limit, seconds)


def verify_patterns(
    graphs: GraphSet,
    patterns: PatternTable | Sequence[Pattern | Query],
    seconds_per_pattern: float = SECONDS_PER_PATTERN,
    seconds_total: float | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    fusible: bool = False,
    examples: int = 0,
    engine: Engine = LOCAL,
) -> list[Support]:
    """The supports of many patterns, in their order, each within its own limit and all within the total time.

    The last ones of a list that ran out of time get lower bounds, down to 0.
    """
    time_limit(seconds_per_pattern)
    end = time.perf_counter() + time_limit(seconds_total)
    verifier = Verifier(graphs, threads, fusible, engine)
    asker = QueryVerifier(graphs, threads, fusible) if any(isinstance(p, Query) for p in patterns) else None
    found: list[Support] = []

    def report(share: float) -> bool:
        return progress is None or progress((len(found) + share) / len(patterns)) is not False

    for pattern in patterns:
        left = max(end - time.perf_counter(), 0.0)
        if isinstance(pattern, Query):
            assert asker is not None
            found.append(asker.support(pattern, seconds_per_pattern, examples, report, left))
        else:
            found.append(verifier.support(pattern, seconds_per_pattern, True, examples, report, left))
    return found


class Verifier:
    """A graph set indexed for counting many patterns."""

    def __init__(
        self,
        graphs: GraphSet,
        threads: int | None = None,
        fusible: bool = False,
        engine: Engine = LOCAL,
    ) -> None:
        self.graphs = graphs
        self.threads = thread_count(threads)
        self.matcher = engine.over(graphs, threads).matcher(fusible)
        self.late = False  # the clock ended the last count, before the limit of its own

    def support(
        self,
        pattern: Pattern,
        seconds: float | None = None,
        supports: bool = True,
        examples: int = 0,
        progress: Progress | None = None,
        clock: float = inf,
    ) -> Support:
        """All supports of one pattern. Disjoint occurrences and images come first: they are quick even where there
        are too many occurrences to count, and show which graphs and nodes have any. ``seconds`` are those of one
        core; at most ``clock`` seconds pass in any case.
        """
        begin = time.perf_counter()
        steps = steps_in(seconds) if clock > 0 else 0
        self.late = clock <= 0
        known, types, edges = self.translated(pattern)
        if not known:
            nothing = 0 if supports else None
            return Support(
                0, disjoint=nothing, coverage=nothing, mni=nothing, seconds=time.perf_counter() - begin
            )
        disjoint, packed, packed_graphs = None, False, 0
        mni, coverage, imaged = None, 0, True
        with bad_patterns_refused():
            if supports:
                owners, taken, packed, _ = self.matcher.pack(
                    types,
                    edges,
                    self.threads,
                    int(steps * PACKING_SHARE),
                    clock * PACKING_SHARE,
                    stop_only(progress),
                )
                self.late |= not packed and time.perf_counter() - begin >= clock * PACKING_SHARE
                disjoint, packed_graphs = int(taken.sum()), len(owners)
                fewest, nodes, all_images, _ = self.matcher.find_images(
                    types[None], edges[None], 0, 1, image_steps(steps), stop_only(progress)
                )
                mni, coverage, imaged = int(fewest[0]), int(nodes[0]), bool(all_images[0])
            rows = None
            if examples:
                listing = time.perf_counter()
                shares = int(steps * EXAMPLES_SHARE), clock * EXAMPLES_SHARE
                rows, whole, _ = self.matcher.list(types, edges, examples, *shares, None)
                cut = not whole and len(rows) < examples
                self.late |= cut and time.perf_counter() - listing >= shares[1]
            left = max(begin + clock - time.perf_counter(), 0.0)
            owners, counts, covered, complete, _ = self.matcher.count(
                types, edges, not imaged, self.threads, steps, left, progress
            )
        self.late |= not complete and time.perf_counter() - begin >= clock
        per_graph = list(zip(owners.tolist(), counts.tolist(), strict=True))
        return Support(
            occurrences=sum(count for _, count in per_graph),
            occurrences_quality=quality(complete),
            graphs=max(len(per_graph), packed_graphs),
            graphs_quality=quality(complete or packed),
            disjoint=disjoint,
            disjoint_quality=quality(packed or not supports),
            coverage=max(coverage, covered) if supports else None,
            coverage_quality=quality(imaged or complete),
            mni=mni,
            mni_quality=quality(imaged),
            per_graph=per_graph,
            examples=[] if rows is None else rows.tolist(),
            seconds=time.perf_counter() - begin,
        )

    def occurrences(self, pattern: Pattern, limit: int, seconds: float | None) -> NDArray[np.uint32]:
        """[n, k] the first occurrences."""
        return self.listed(pattern, limit, seconds)[0]

    def listed(self, pattern: Pattern, limit: int, seconds: float | None) -> tuple[NDArray[np.uint32], bool]:
        """([n, k] the first occurrences, whether these are all)."""
        known, types, edges = self.translated(pattern)
        if not known:
            return np.zeros((0, pattern.size), np.uint32), True
        with bad_patterns_refused():
            rows, whole, _ = self.matcher.list(types, edges, limit, steps_in(seconds), inf, None)
        return rows, whole

    def translated(self, pattern: Pattern) -> tuple[bool, NDArray[np.uint16], NDArray[np.uint8]]:
        table = PatternTable(
            np.array([pattern.node_types], np.uint16),
            np.array([pattern.edges], np.uint8),
            np.array([pattern.automorphisms]),
            pattern.node_vocabulary,
            pattern.edge_vocabulary,
        )
        types, edges, known = translate(table, self.graphs)
        return bool(known[0]), types[0], edges[0]


def image_steps(steps: int) -> int:
    """Steps that the search for images may take for one orbit of the pattern."""
    return int(min(IMAGE_STEPS, steps * IMAGE_SHARE))


def stop_only(progress: Progress | None) -> Progress | None:
    """The callback with no share to report: the packing is only the beginning of the work."""
    return None if progress is None else lambda _: progress(0.0)

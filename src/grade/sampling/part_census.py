"""Counting parts: the exact census of all small sizes, which comes along with a sample, and how many neighbours their
occurrences have.
"""

import numpy as np

from grade import _core
from grade.graphs import GraphSet, PatternTable
from grade.graphs.counts import Counts
from grade.graphs.part_counts import PartCounts
from grade.machine import thread_count
from grade.progress import Progress
from grade.sampling.census import take_census

MOST_OCCURRENCES = 100_000_000  # whose neighbours are counted, one by one: some seconds


def count_parts(
    graphs: GraphSet,
    size: int,
    threads: int | None = None,
    progress: Progress | None = None,
    neighbours: bool = True,
) -> PartCounts:
    """Count all connected induced subgraphs of 1 to ``size`` nodes, and the neighbours of those of two or more.

    >>> graphs = GraphSet.from_edges(node_counts=[3], node_types=[0, 1, 1], edge_counts=[2],
    ...                              edges=[[0, 1], [0, 2]], node_vocabulary=["input", "conv"])
    >>> count_parts(graphs, 2).counts.weights
    {1: array([1., 2.]), 2: array([2.])}
    """
    owner = np.repeat(np.arange(graphs.nodes), np.diff(graphs.out_offsets))
    loops = np.zeros(graphs.nodes, np.uint8)
    own = graphs.out_targets == owner
    loops[owner[own]] = graphs.out_types[own]
    counts = np.bincount(graphs.node_types.astype(np.int64) * 256 + loops)  # an edge type is a byte
    kinds = np.flatnonzero(counts)
    tables = {1: PatternTable.canonical(kinds[:, None] // 256, kinds[:, None, None] % 256)}
    weights = {1: counts[kinds].astype(np.float64)}
    touched: dict[int, PatternTable] = {}
    sums = {}
    for k in range(2, size + 1):
        census = take_census(graphs, k, threads, progress)
        tables[k], weights[k] = census.patterns, census.counts.astype(np.float64)
        if neighbours and census.instances <= MOST_OCCURRENCES:
            types, edges, automorphisms, numbers = _core.neighbours(
                graphs.core, k, thread_count(threads), progress
            )
            touched[k], sums[k] = PatternTable(types, edges, automorphisms), numbers.astype(np.float64)
    return PartCounts(Counts(tables, weights), Counts(touched, sums) if touched else None)

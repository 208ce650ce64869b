"""The census of parts that comes with a sample: exact counts of all small patterns, and of the neighbours of their
occurrences.
"""

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.engine import LOCAL, Crew, Engine, Part
from grade.graphs import GraphSet, PatternTable
from grade.graphs.counts import Counts
from grade.graphs.part_counts import PartCounts
from grade.progress import Progress
from grade.sampling.census import CountedPatterns, add_counts, take_census

MOST_OCCURRENCES = 100_000_000  # whose neighbours are counted, one by one: some seconds
MOST_COUNTED = 1_000_000_000  # occurrences of one size that are counted: some seconds
MOST_PATTERNS = 50_000  # of one size of more than `FEW_NODES` nodes: they lie in every sample and model
MOST_HELD = 5_000_000  # patterns of one size: about a GB
LOOPS = 256  # an edge type is a byte
PIECE = 1 << 18  # nodes that are looked at together
FEW_NODES, MOST_NODES = 5, 7  # of the largest parts, unless more are asked for


def count_parts(
    graphs: GraphSet,
    size: int,
    threads: int | None = None,
    progress: Progress | None = None,
    neighbours: bool = True,
    thrifty: bool = False,
    engine: Engine = LOCAL,
) -> PartCounts:
    """Count all connected induced subgraphs of 1 to ``size`` nodes, and the neighbours of those of two or more.

    ``thrifty`` stops before a size that would take more than some seconds or bring too many patterns, by the growth
    from size to size.

    >>> graphs = GraphSet.from_edges(node_counts=[3], node_types=[0, 1, 1], edge_counts=[2],
    ...                              edges=[[0, 1], [0, 2]], node_vocabulary=["input", "conv"])
    >>> count_parts(graphs, 2).counts.weights
    {1: array([1., 2.]), 2: array([2.])}
    """
    counts = count_nodes(graphs)
    kinds = np.flatnonzero(counts)
    tables = {1: PatternTable.canonical(kinds[:, None] // LOOPS, kinds[:, None, None] % LOOPS)}
    weights = {1: counts[kinds].astype(np.float64)}
    last, before = graphs.nodes, graphs.nodes
    for k in range(2, size + 1):
        if thrifty and k > 3 and last * last > MOST_COUNTED * max(before, 1):
            break
        most = MOST_PATTERNS if k > FEW_NODES else MOST_HELD
        if thrifty and k > 3 and len(tables[k - 1]) ** 2 > most * len(tables[k - 2]):
            break
        census = take_census(graphs, k, threads, progress, engine)
        tables[k], weights[k] = census.patterns, census.counts.astype(np.float64)
        last, before = census.instances, last
    touched: dict[int, PatternTable] = {}
    sums = {}
    # The neighbours of smaller parts are used only together with those of the largest.
    for k in range(2, size + 1) if neighbours and size in tables and last <= MOST_OCCURRENCES else ():
        spread = engine.over(graphs, threads)
        counted = spread.begin(count_neighbours, k, keep_going=progress)
        types, edges, automorphisms, numbers = spread.merged(counted, add_counts)
        touched[k], sums[k] = PatternTable(types, edges, automorphisms), numbers.astype(np.float64)
    return PartCounts(Counts(tables, weights), Counts(touched, sums) if touched else None)


def count_nodes(graphs: GraphSet) -> NDArray[np.int64]:
    """[types * LOOPS] nodes by their type and that of the edge to themselves, found piece by piece."""
    counts = np.zeros(len(graphs.node_vocabulary) * LOOPS, np.int64)
    for begin in range(0, graphs.nodes, PIECE):
        offsets = graphs.out_offsets[begin : begin + PIECE + 1]
        edges = slice(int(offsets[0]), int(offsets[-1]))
        owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        own = graphs.out_targets[edges] == owner + begin
        kinds = graphs.node_types[begin : begin + PIECE].astype(np.int64) * LOOPS
        kinds[owner[own]] += graphs.out_types[edges][own]
        counts += np.bincount(kinds, minlength=len(counts))
    return counts


def count_neighbours(part: Part, crew: Crew, k: int) -> CountedPatterns:
    return _core.neighbours(part.graphs.core, k, crew.threads, crew.keep_going)

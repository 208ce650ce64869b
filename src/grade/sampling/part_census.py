"""The census of parts that comes with a sample: exact counts of all small patterns, and of the neighbours of their
occurrences.
"""

import numpy as np

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
    owner = np.repeat(np.arange(graphs.nodes), np.diff(graphs.out_offsets))
    loops = np.zeros(graphs.nodes, np.uint8)
    own = graphs.out_targets == owner
    loops[owner[own]] = graphs.out_types[own]
    counts = np.bincount(graphs.node_types.astype(np.int64) * 256 + loops)  # an edge type is a byte
    kinds = np.flatnonzero(counts)
    tables = {1: PatternTable.canonical(kinds[:, None] // 256, kinds[:, None, None] % 256)}
    weights = {1: counts[kinds].astype(np.float64)}
    last, before = graphs.nodes, graphs.nodes
    for k in range(2, size + 1):
        if thrifty and k > 3 and last * last > MOST_COUNTED * max(before, 1):
            break
        if thrifty and k > FEW_NODES and len(tables[k - 1]) ** 2 > MOST_PATTERNS * len(tables[k - 2]):
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


def count_neighbours(part: Part, crew: Crew, k: int) -> CountedPatterns:
    return _core.neighbours(part.graphs.core, k, crew.threads, crew.keep_going)

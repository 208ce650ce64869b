"""All occurrences of three nodes, from which a search starts: block by block, for a large set has too many to hold (114
million for 30 million nodes).
"""

import numpy as np
from numpy.typing import NDArray

from grade.engine import LOCAL, Crew, Engine, Part
from grade.graphs import GraphSet, PatternTable
from grade.progress import NEVER, Deadline
from grade.search.candidates import BLOCK, Candidates, Collecting, Keeping, Wanted, gathered

SIZE = 3


def triples(
    graphs: GraphSet,
    wanted: Wanted,
    keeping: Keeping,
    *,
    threads: int = 1,
    engine: Engine = LOCAL,
    deadline: Deadline = NEVER,
) -> Candidates:
    """The wanted patterns of three nodes; their counts are those of all occurrences.

    >>> chain = GraphSet.from_edges(node_counts=[4], node_types=[0, 1, 1, 1], edge_counts=[3],
    ...                             edges=[[0, 1], [1, 2], [2, 3]], node_vocabulary=["conv", "relu"])
    >>> found = triples(chain, lambda patterns: np.ones(len(patterns), bool), Keeping(list_size=1, seed=0))
    >>> found.counts.tolist(), [str(pattern) for pattern in found.patterns]
    ([1.0, 1.0], ['conv -> relu#1 -> relu#2', 'relu#1 -> relu#2 -> relu#3'])
    """

    spread = engine.over(graphs, threads)
    return gathered(
        spread, collect_triples, wanted, keeping, size=SIZE, keeping=keeping, keep_going=deadline.keep_going
    )


def collect_triples(part: Part, crew: Crew, wanted: Wanted, keeping: Keeping) -> Collecting:
    """Those of one block of graphs."""

    def judge(
        patterns: PatternTable,
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        return np.ones(len(patterns)), np.ones(len(patterns), bool), wanted(patterns)

    collecting = Collecting(part, crew, SIZE, keeping, judge)
    root = skip = 0
    while root < part.graphs.nodes:
        root, skip, fresh = collecting.collector.list(root, skip, BLOCK, crew.keep_going)
        collecting.collect(fresh, root / part.graphs.nodes)
    return collecting

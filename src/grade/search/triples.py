"""All occurrences of three nodes, from which a search starts: block by block, for a large set has too many to hold (114
million for 30 million nodes).
"""

import numpy as np

from grade.graphs import GraphSet, PatternTable
from grade.progress import NEVER, Deadline
from grade.search.candidates import BLOCK, Candidates, Collecting, Keeping, Wanted

SIZE = 3


def triples(
    graphs: GraphSet,
    wanted: Wanted,
    keeping: Keeping,
    *,
    threads: int = 1,
    deadline: Deadline = NEVER,
) -> Candidates:
    """The wanted patterns of three nodes; their counts are those of all occurrences.

    >>> chain = GraphSet.from_edges(node_counts=[4], node_types=[0, 1, 1, 1], edge_counts=[3],
    ...                             edges=[[0, 1], [1, 2], [2, 3]], node_vocabulary=["conv", "relu"])
    >>> found = triples(chain, lambda patterns: np.ones(len(patterns), bool), Keeping(list_size=1, seed=0))
    >>> found.counts.tolist(), [str(pattern) for pattern in found.patterns]
    ([1.0, 1.0], ['conv -> relu#1 -> relu#2', 'relu#1 -> relu#2 -> relu#3'])
    """

    def judge(patterns: PatternTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.ones(len(patterns)), np.ones(len(patterns), bool), wanted(patterns)

    collecting = Collecting(graphs, SIZE, keeping, judge, threads, deadline)
    root = skip = 0
    while root < graphs.nodes:
        root, skip, fresh = collecting.collector.list(root, skip, BLOCK, deadline.keep_going)
        collecting.collect(fresh)
    return collecting.candidates()

"""All fusible node sets of one size, which a compiler could turn into one operator each.

A node set is fusible if it is convex (no directed path leaves it and comes back) and its results leave at one node: the
only one that is consumed outside of it or that is a graph output. Such a set grows upward from its output node, by
nodes all of whose consumers are inside, and stays fusible all the way (native/fusible_sets.hpp): so all of them are
found in time in proportion to their number, cycles included, whatever the fan-out. Wide fan-in alone makes that
number explode (the subsets of a concatenation's 90 inputs). Then those with few inputs at every node are listed in
full all the same, and the others grow from bounded lists (grade.search.expand).
"""

from dataclasses import replace

import numpy as np

from grade import _core
from grade.graphs import GraphSet
from grade.progress import NEVER, Deadline
from grade.search.candidates import Candidates
from grade.search.constraints import UNLIMITED, Constraints, inner_edges
from grade.search.occurrence_lists import OccurrenceLists


def fusible_lists(
    graphs: GraphSet,
    k: int,
    constraints: Constraints,
    most: int,
    threads: int = 1,
    deadline: Deadline = NEVER,
) -> OccurrenceLists | None:
    """Complete lists of the fusible occurrences of all patterns of k nodes that may grow; None if more than ``most``.

    >>> chain = GraphSet.from_edges(node_counts=[3], node_types=[0, 1, 1], edge_counts=[2], edges=[[0, 1], [1, 2]],
    ...                             node_vocabulary=["conv", "relu"])
    >>> lists = fusible_lists(chain, 2, Constraints(fusible=True), 100)
    >>> [str(pattern) for pattern in lists.patterns]
    ['conv -> relu', 'relu#1 -> relu#2']
    """
    rows = _core.fusible_sets(
        graphs.fusible_index,
        k,
        most,
        constraints.allowed_nodes(graphs),
        constraints.max_in_degree or UNLIMITED,
        constraints.max_out_degree or UNLIMITED,
        constraints.max_edges or UNLIMITED,
        threads,
        deadline.keep_going,
    )
    return None if rows is None else OccurrenceLists.of(graphs, rows, threads).where(constraints.may_grow)


FAN_INS = (8, 4, 3, 2)  # tried in turn: how many inputs a node may have in patterns that are listed in full


def narrow_lists(
    graphs: GraphSet,
    k: int,
    constraints: Constraints,
    most: int,
    threads: int = 1,
    deadline: Deadline = NEVER,
) -> tuple[OccurrenceLists | None, int]:
    """(complete lists of the patterns in which no node has more than w inputs, w), with the largest w that fits.

    The number of inputs is a property of the pattern, so either all its occurrences are listed or none. None, 0 where
    not even those fit.
    """
    asked = constraints.max_in_degree or UNLIMITED
    for inputs in (UNLIMITED, *FAN_INS):
        if inputs >= asked and inputs != UNLIMITED:
            continue
        narrow = replace(constraints, max_in_degree=min(inputs, asked))
        lists = fusible_lists(graphs, k, narrow, most, threads, deadline)
        if lists is not None:
            return lists, min(inputs, asked)
    return None, 0


def with_wide(narrow: OccurrenceLists, inputs: int, grown: Candidates) -> OccurrenceLists:
    """The complete lists, and those of the grown patterns in which some node has more inputs."""
    widest = inner_edges(grown.patterns).sum(axis=1).max(axis=1)
    return narrow.followed_by(grown.take(np.flatnonzero(widest > inputs)).lists())

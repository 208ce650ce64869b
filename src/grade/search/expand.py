"""One step of the search: all kept occurrences grown by one node (the paper's algorithm "Expand One Node").

Let B be the kept k-patterns. For a (k+1)-pattern C let s(C) be the number of its nodes u such that C - u is connected
and in B; it depends on C alone. An occurrence O' of C contains exactly s(C) occurrences O of patterns in B, each with
expected weight 1, so that

    W(O') = 1 / s(C) * sum of w(O) over the listed O inside O'

has expected weight 1 again. Occurrences of patterns with many ways to grow (hubs) are thinned before they are made, by
a seeded hash of the grown node set, at a rate that is known and divided by. Where one of the s(C) lists is complete and
was not thinned, every occurrence of C has been met: then the weights are set to 1 and the count is exact.

Fusible occurrences grow upward only: by a node all of whose consumers are inside. B then holds fusible patterns, and
s(C) counts the nodes u that no edge of C enters; each can have been the last to join (grade.search.fusible).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.graphs import GraphSet, PatternTable
from grade.graphs.node_deletions import connected_parts
from grade.progress import NEVER, Deadline
from grade.search.constraints import UNLIMITED, Constraints, inner_edges
from grade.search.occurrence_lists import OccurrenceLists


def grow(
    graphs: GraphSet,
    lists: OccurrenceLists,
    *,
    constraints: Constraints,
    steps_left: int,
    capacity: int,
    seed: int,
    threads: int,
    deadline: Deadline = NEVER,
) -> OccurrenceLists:
    """All patterns that grow from the lists by one node, with their occurrences.

    Parameters
    ----------
    steps_left : growth steps that follow this one, for "contains" constraints
    capacity : about how many grown occurrences may be made; more ways to grow are thinned
    deadline : when it passes, the work is dropped and `OutOfTime` raised
    """
    limits = (
        constraints.allowed_nodes(graphs),
        constraints.distances(graphs, steps_left + 1),
        steps_left,
        constraints.max_in_degree or UNLIMITED,
        constraints.max_out_degree or UNLIMITED,
        constraints.max_edges or UNLIMITED,
        graphs.fusible_index if constraints.fusible else None,
    )
    by_graph = np.argsort(lists.occurrences[:, 0], kind="stable")  # ids of a graph are consecutive
    occurrences = lists.occurrences[by_graph]
    owner = lists.pattern_of_row[by_graph]
    ways = _core.growth_counts(graphs.core, occurrences, *limits, threads, deadline.keep_going)
    rates = growth_rates(np.bincount(owner, ways, len(lists)).astype(np.float64), capacity)
    rows, sums, ids, types, edges, automorphisms = _core.expand(
        graphs.core,
        occurrences,
        lists.weights[by_graph],
        rates[owner],
        *limits,
        seed,
        threads,
        deadline.keep_going,
    )
    deadline.check()
    patterns = PatternTable(types, edges, automorphisms, graphs.node_vocabulary, graphs.edge_vocabulary)
    parents = connected_parts(patterns, lists.patterns)
    if constraints.fusible:  # a fusible set stays so when a node is removed that no edge enters
        parents[inner_edges(patterns).any(axis=1)] = -1
    met_in_full = np.append(lists.complete & (rates >= 1), False)  # -1 stands for "not in B"
    complete = np.any(met_in_full[parents], axis=1)
    weights = np.where(complete[ids], 1.0, sums / (parents >= 0).sum(axis=1)[ids])
    grown = OccurrenceLists.group(patterns, ids, rows, weights, complete)
    return replace(grown.where(constraints.may_grow), followed=bool((rates >= 1).all()))


def growth_rates(ways: NDArray[np.float64], capacity: int) -> NDArray[np.float64]:
    """[patterns] rates that leave about ``capacity`` ways in all: 1 for patterns with few, less for those with many.

    >>> growth_rates(np.array([10.0, 100.0, 1000.0]), 210)
    array([1. , 1. , 0.1])
    """
    ascending = np.sort(ways)
    left, share = float(capacity), np.inf
    for i, number in enumerate(
        ascending
    ):  # patterns that stay under an equal share leave room for the others
        share = left / (len(ascending) - i)
        if number > share:
            break
        left -= number
        share = np.inf
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, np.where(ways > 0, share / ways, 1.0))

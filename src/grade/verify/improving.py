"""A greedy choice of patterns made better by local search.

Two moves, each made where all chosen patterns cover more nodes after it. *Exchange* forces a pattern into the choice,
takes out those that it is a variant of, and fills up greedily. *Extension* grows a chosen pattern by one node: the
patterns that a search keeps of one size are mostly windows of the most frequent idea, so that the best pattern of a
rarer one may be missing among the candidates. Both are deterministic and cost a small part of the greedy choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.graphs import GraphSet, PatternTable
from grade.graphs.strings import ranges

if TYPE_CHECKING:
    from grade.verify.distinct import Selector

Accepts = Callable[[PatternTable], NDArray[np.bool_]]

EXCHANGED = 200  # patterns that are looked at for an exchange: those that cover most by themselves
EXTENDED = 20  # extensions of a pattern that are tried: those that most of its occurrences have
WAYS = 1_000_000  # in which the occurrences of a pattern are extended at most
ROUNDS = 3


def improved(selector: Selector, chosen: list[int], count: int, accepts: Accepts | None) -> list[int]:
    """The choice after the moves that cover more. ``accepts`` says which extensions are allowed; without it, none."""
    for _ in range(ROUNDS):
        before = covered(selector, chosen)
        chosen = exchanged(selector, chosen, count)
        if accepts is not None:
            chosen = extended(selector, chosen, accepts)
        if covered(selector, chosen) == before:
            break
    return chosen


def covered(selector: Selector, chosen: list[int]) -> int:
    """Worth of the nodes of occurrences of these patterns that share none, packed in this order."""
    return selector.worth_of(np.flatnonzero(selector.taken(chosen)))


def exchanged(selector: Selector, chosen: list[int], count: int) -> list[int]:
    best, tried = covered(selector, chosen), set[frozenset[int]]()
    for candidate in np.argsort(-selector.alone, kind="stable")[:EXCHANGED].tolist():
        if candidate in chosen:
            continue
        selector.deadline.check()
        rest = [other for other in chosen if not selector.are_variants(candidate, other)]
        if selector.alone[candidate] == 0 or len(rest) == count or frozenset(rest) in tried:
            continue  # of those that put out the same ones, the first: they are windows of one idea
        tried.add(frozenset(rest))
        trial = selector.greedy(count, [candidate, *rest])
        if (now := covered(selector, trial)) > best and selector.recur(trial):
            chosen, best = trial, now
    return chosen


def extended(selector: Selector, chosen: list[int], accepts: Accepts) -> list[int]:
    changed = True
    while changed:
        changed = False
        for candidate in list(chosen):
            selector.deadline.check()
            others = [other for other in chosen if other != candidate]
            taken = selector.taken(others)
            now = selector.gain(candidate, taken)
            larger = extension(selector, candidate, others, taken, now, accepts)
            if larger is not None:
                chosen, changed = [*others, larger], True
    return chosen


def extension(
    selector: Selector,
    candidate: int,
    others: list[int],
    taken: NDArray[np.uint8],
    least: int,
    accepts: Accepts,
) -> int | None:
    """The extension of a pattern that covers most beside the others, as a new candidate; None: none covers more."""
    types, _ = selector.pattern(candidate)
    rows = selector.packed(candidate, taken).reshape(-1, len(types))
    larger = one_more(selector.graphs, rows, taken)
    if len(larger) == 0:
        return None
    ids, node_types, edges, automorphisms = _core.classify(selector.graphs.core, larger, 1)
    words = selector.graphs.node_vocabulary, selector.graphs.edge_vocabulary
    table = PatternTable(node_types, edges, automorphisms, *words)
    frequent = np.argsort(-np.bincount(ids, minlength=len(table)), kind="stable")
    allowed = frequent[accepts(table)[frequent]][:EXTENDED]
    gains = selector.gains_of(node_types[allowed], edges[allowed], taken)
    for place in np.argsort(-gains, kind="stable").tolist():
        if gains[place] <= least:
            return None
        number = selector.add(node_types[allowed[place]], edges[allowed[place]])
        distinct = not any(selector.are_variants(number, other) for other in others)
        if distinct and selector.recur([*others, number]):
            return number
        selector.drop_last()
    return None


def one_more(graphs: GraphSet, rows: NDArray[np.int64], taken: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """[m, k + 1] node sets: rows [n, k] and a node beside them that is not taken, ascending."""
    k = rows.shape[1]
    degrees = np.diff(graphs.out_offsets)[rows] + np.diff(graphs.in_offsets)[rows]
    rows = rows[:: int(degrees.sum()) // WAYS + 1]
    owner, beside = [], []
    for offsets, ends in ((graphs.out_offsets, graphs.out_targets), (graphs.in_offsets, graphs.in_sources)):
        begin, lengths = offsets[rows.ravel()], np.diff(offsets)[rows.ravel()]
        owner.append(np.repeat(np.repeat(np.arange(len(rows)), k), lengths))
        beside.append(ends[ranges(begin, lengths)].astype(np.int64))
    row, node = np.concatenate(owner), np.concatenate(beside)
    free = (taken[node] == 0) & ~(rows[row] == node[:, None]).any(axis=1)
    row, node = np.unique(np.stack([row[free], node[free]]), axis=1)
    return np.sort(np.column_stack([rows[row], node]).astype(np.uint32), axis=1)

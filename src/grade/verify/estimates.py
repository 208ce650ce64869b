"""Unbiased estimates of counts that were cut off.

Where a pattern occurs 1e10 times and more, enumeration stops at a lower bound. A search has counts of its own, but it
keeps patterns because their counts came out high, so they are biased upwards. Here a *family* of patterns of 3 .. k
nodes is fixed before anything is drawn: the patterns to estimate and, for every pattern, parts that are one node
smaller. Fresh seeds draw lists of occurrences for the family; given the family, the counts of each replicate are
unbiased (`grade.search.expand`), so is their mean, and their spread gives its error.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.engine import LOCAL, Engine
from grade.graphs import GraphSet, Pattern, PatternTable
from grade.graphs.node_deletions import without
from grade.graphs.queries import Query
from grade.progress import NEVER, Deadline
from grade.search import Constraints, OccurrenceLists
from grade.search.beam import START, Bounds, derived
from grade.search.candidates import Keeping, Wanted
from grade.search.constraints import inner_edges, is_acyclic
from grade.search.expand import grow
from grade.search.fusible import fusible_lists
from grade.search.triples import triples
from grade.support import ESTIMATE, LOWER_BOUND, Support
from grade.verify.vocabulary import translate

BOUNDS = Bounds(capacity=3_000_000, list_size=500)  # about half a GB
COUNTING_SHARE = 0.8  # of a time budget; the rest is for estimates
REPLICATES = 4
MOST_PARTS = 4000  # patterns of one size in a family
SEED = 99
MOST_OTHERS = 10**9 - 1  # of a population that the generator takes; beyond it hardly any come again
NO_ROWS = np.zeros(0, np.int64)

Family = list[PatternTable]  # of 3, 4, .. k nodes


def with_estimates(
    graphs: GraphSet,
    patterns: Sequence[Pattern | Query],
    supports: Sequence[Support],
    *,
    constraints: Constraints | None = None,
    bounds: Bounds = BOUNDS,
    seed: int = SEED,
    threads: int = 1,
    deadline: Deadline = NEVER,
    engine: Engine = LOCAL,
) -> list[Support]:
    """The supports, with unbiased estimates in place of occurrences that are lower bounds.

    A lower bound stays where the estimate is smaller, for queries, and for patterns of fewer than 4 nodes; with
    ``fusible`` also for cyclic patterns, and in sets with too many fusible sets of 3 nodes. When the deadline passes,
    `OutOfTime` is raised.

    Parameters
    ----------
    constraints
        those that all patterns satisfy; with ``fusible``, fusible occurrences are estimated
    """
    constraints = constraints or Constraints()
    result = list(supports)
    tables = {
        i: table_in(graphs, pattern)
        for i, (pattern, support) in enumerate(zip(patterns, supports, strict=True))
        if support.occurrences_quality == LOWER_BOUND
        and isinstance(pattern, Pattern)
        and pattern.size > START
    }
    if constraints.fusible:  # cyclic patterns do not grow upwards from 3 nodes
        tables = {i: table for i, table in tables.items() if is_acyclic(table, True).all()}
    sizes = {table.size for table in tables.values()}
    wanted = {
        size: PatternTable.concatenate(t for t in tables.values() if t.size == size).unique()
        for size in sizes
    }
    if not wanted:
        return result
    family = family_of(wanted, fusible=constraints.fusible)
    drawn = draw_counts(
        graphs,
        family,
        constraints=constraints,
        bounds=bounds,
        seed=seed,
        threads=threads,
        deadline=deadline,
        engine=engine,
    )
    if not drawn:
        return result
    for i, table in tables.items():
        counts, errors = mean_and_error([replicate[table.size - START] for replicate in drawn])
        row = int(family[table.size - START].find(table)[0])
        if counts[row] > supports[i].occurrences:
            result[i] = replace(
                supports[i],
                occurrences=float(counts[row]),
                standard_error=float(errors[row]),
                occurrences_quality=ESTIMATE,
            )
    return result


def table_in(graphs: GraphSet, pattern: Pattern) -> PatternTable:
    """One pattern in the numbers of the set's vocabulary; a pattern that was met at all is known there."""
    table = PatternTable(
        np.array([pattern.node_types], np.uint16),
        np.array([pattern.edges], np.uint8),
        np.array([pattern.automorphisms]),
        pattern.node_vocabulary,
        pattern.edge_vocabulary,
    )
    types, edges, _ = translate(table, graphs)
    return PatternTable.canonical(types, edges, graphs.node_vocabulary, graphs.edge_vocabulary)


def family_of(wanted: Mapping[int, PatternTable], most: int = MOST_PARTS, *, fusible: bool = False) -> Family:
    """The wanted patterns (by size) with parts of them, down to 3 nodes; every pattern keeps at least one part.

    A pattern keeps up to three of its connected parts, those that most patterns share; fewer where a size would hold
    more than ``most`` patterns. With ``fusible``, parts lack a node that no edge enters: they grow upwards only.
    """
    largest = max(wanted)
    family: Family = []
    for size in range(largest, START - 1, -1):
        needed = [table for table in (wanted.get(size),) if table is not None and len(table)]
        if family:
            options = [shared_parts(family[0], keep, fusible) for keep in (3, 2, 1)]
            needed.append(next((o for o in options if len(o) <= most), options[-1]))
        family.insert(0, PatternTable.concatenate(needed).unique())
    return family


def shared_parts(patterns: PatternTable, keep: int, fusible: bool) -> PatternTable:
    """For each pattern, its ``keep`` connected parts that the most other patterns share, ties by key."""
    owners, tables = [], []
    entered = np.asarray(inner_edges(patterns).any(axis=1))  # [n, k]
    for node in range(patterns.size):
        rows, parts = without(patterns, node)
        chosen = np.flatnonzero(~entered[rows, node]) if fusible else np.arange(len(rows))
        owners.append(rows[chosen])
        tables.append(parts.take(chosen))
    owner, parts = np.concatenate(owners), PatternTable.concatenate(tables)
    _, first, which = np.unique(parts.keys, return_index=True, return_inverse=True)
    pairs = np.unique(np.stack([owner, which], axis=1), axis=0)  # a part that a pattern has twice counts once
    commonness = np.bincount(pairs[:, 1])
    order = np.lexsort((pairs[:, 1], -commonness[pairs[:, 1]], pairs[:, 0]))
    begin = np.searchsorted(pairs[order, 0], np.arange(len(patterns)))
    rank = np.arange(len(order)) - begin[pairs[order, 0]]
    return parts.take(first[np.unique(pairs[order[rank < keep], 1])])


def smallest_lists(
    graphs: GraphSet,
    patterns: PatternTable,
    *,
    constraints: Constraints,
    bounds: Bounds,
    seed: int,
    threads: int = 1,
    deadline: Deadline = NEVER,
    engine: Engine = LOCAL,
) -> list[OccurrenceLists]:
    """Lists of 3 nodes for each replicate, independent of each other, from one pass over the set; none where there are
    more fusible sets of 3 nodes than the bounds allow.
    """
    if constraints.fusible:
        every = fusible_lists(graphs, START, constraints, bounds.capacity, threads, deadline)
        return [] if every is None else [every] * REPLICATES
    keeping = Keeping(bounds.list_size * REPLICATES, derived(seed, START), bounds.room)
    found = triples(
        graphs,
        lambda given: patterns.find(given) >= 0,
        keeping,
        threads=threads,
        engine=engine,
        deadline=deadline,
    )
    size = max(min(bounds.list_size, (found.most - 1) // REPLICATES), 1)
    return independent_lists(found.lists(), found.met, size, derived(seed, START, 1))


def independent_lists(
    lists: OccurrenceLists, met: NDArray[np.int64], size: int, seed: int
) -> list[OccurrenceLists]:
    """Lists of at most ``size`` occurrences for each replicate, from longer ones; all ``met`` ones had the weight 1."""
    random = np.random.default_rng(seed)
    rows: list[list[NDArray[np.int64]]] = [[] for _ in range(REPLICATES)]
    for number, population in enumerate(met.tolist()):
        begin, end = lists.offsets[number : number + 2].tolist()
        for replicate, chosen in enumerate(independent_choices(end - begin, population, size, random)):
            rows[replicate].append(begin + np.sort(chosen))
    weights = np.repeat(np.maximum(met / size, 1.0), np.minimum(met, size))
    offsets = np.concatenate([[0], np.cumsum(np.minimum(met, size))]).astype(np.int64)
    complete = lists.complete & (met <= size)
    return [
        replace(
            lists,
            offsets=offsets,
            occurrences=lists.occurrences[np.concatenate([NO_ROWS, *chosen])],
            weights=weights,
            complete=complete,
        )
        for chosen in rows
    ]


def independent_choices(
    listed: int, population: int, size: int, random: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """A sample without replacement for each replicate, as if drawn from the population by itself.

    ``listed`` random members of the population are known; numbers of these are returned. Of those that were drawn
    before, a random number comes again (hypergeometric, as without replacement); the others are fresh.
    """
    order, used = random.permutation(listed), 0
    for _ in range(REPLICATES):
        if size >= population:
            yield np.arange(listed)
            continue
        again = int(random.hypergeometric(used, min(population - used, MOST_OTHERS), size)) if used else 0
        fresh = order[used : used + size - again]
        yield np.concatenate([random.choice(order[:used], again, replace=False), fresh])
        used += size - again


def draw_counts(
    graphs: GraphSet,
    family: Family,
    *,
    constraints: Constraints,
    bounds: Bounds,
    seed: int,
    threads: int = 1,
    deadline: Deadline = NEVER,
    engine: Engine = LOCAL,
) -> list[list[NDArray[np.float64]]]:
    """Of each replicate the counts of all patterns of a family, in its order: unbiased, and independent of each other.
    None where there are more fusible sets of 3 nodes than the bounds allow.
    """
    settings: dict[str, Any] = {
        "constraints": constraints,
        "bounds": bounds,
        "threads": threads,
        "deadline": deadline,
        "engine": engine,
    }
    begun = smallest_lists(graphs, family[0], seed=seed, **settings)
    return [
        grow_counts(graphs, family, lists, seed=derived(seed, replicate), **settings)
        for replicate, lists in enumerate(begun)
    ]


def grow_counts(
    graphs: GraphSet,
    family: Family,
    lists: OccurrenceLists,
    *,
    constraints: Constraints,
    bounds: Bounds,
    seed: int,
    threads: int = 1,
    deadline: Deadline = NEVER,
    engine: Engine = LOCAL,
) -> list[NDArray[np.float64]]:
    """One replicate: unbiased counts of all patterns of a family, in its order, from its lists of 3 nodes."""

    def keeping(step: int) -> Keeping:
        return Keeping(bounds.list_size, derived(seed, step, 1), bounds.room)

    def among(kept: PatternTable) -> Wanted:
        return lambda patterns: kept.find(patterns) >= 0

    found = [lists.aligned(family[0]).counts]
    for step, kept in enumerate(family[1:], start=1):
        lists = grow(
            graphs,
            lists.aligned(family[step - 1]).thinned(bounds.list_size, derived(seed, step, 1), threads),
            keeping(step + 1),
            constraints=constraints,
            steps_left=len(family) - step - 1,
            capacity=bounds.capacity,
            seed=derived(seed, step, 0),
            wanted=among(kept),
            threads=threads,
            engine=engine,
            deadline=deadline,
        ).lists()
        found.append(lists.aligned(kept).counts)
    return found


def mean_and_error(replicates: list[NDArray[np.float64]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """([n] means, [n] standard errors) of independent replicates."""
    values = np.stack(replicates)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))

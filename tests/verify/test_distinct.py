"""The distinct choice against the same choice in plain Python, and its bound against all choices."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grade import GraphSet
from grade.graphs import PatternTable
from grade.sampling.census import take_census
from grade.sources import load
from grade.verify import Verifier
from grade.verify.distinct import FEWEST, Selector
from tests.graph_sets import graph_sets


def candidates(graphs: GraphSet) -> list[PatternTable]:
    tables = [take_census(graphs, k, threads=1).patterns for k in (2, 3) if k <= graphs.largest]
    return [table for table in tables if len(table)]


def plain_choice(lists: list[list[frozenset[int]]], count: int) -> list[tuple[int, int]]:
    """(candidate, occurrences) of the greedy choice, every gain made anew in every round."""
    taken: set[int] = set()
    chosen: list[tuple[int, int]] = []
    out: set[int] = set()
    unions = [frozenset().union(*rows) for rows in lists]

    def packed(rows: list[frozenset[int]]) -> list[frozenset[int]]:
        used, kept = set(taken), []
        for row in rows:
            if not row & used:
                used |= row
                kept.append(row)
        return kept

    while len(chosen) < count:
        best = None
        for number, rows in enumerate(lists):
            kept = packed(rows)
            if number in out or len(kept) < FEWEST:
                continue
            gain = sum(map(len, kept))
            if best is None or gain > best[0]:
                best = (gain, number, kept)
        if best is None:
            break
        _, number, kept = best
        out.add(number)
        near = [
            len(unions[number] & unions[other]) / min(len(unions[number]), len(unions[other]))
            for other, _ in chosen
        ]
        if any(share > 0.5 for share in near):
            continue
        chosen.append((number, len(kept)))
        taken |= frozenset().union(*kept)
    return chosen


@settings(max_examples=150)
@given(graph_sets(max_graphs=3, max_nodes=9), st.integers(1, 5))
def test_the_choice_is_the_greedy_one(graphs: GraphSet, count: int) -> None:
    tables = candidates(graphs)
    if not tables:
        return
    verifier = Verifier(graphs, 1)
    lists = [
        [frozenset(row) for row in verifier.occurrences(pattern, 10**6, 60.0).tolist()]
        for table in tables
        for pattern in table
    ]
    found = Selector(graphs, tables).choose(count)
    chosen = [(choice.candidate, choice.occurrences) for choice in found.choices]
    # Lazy evaluation may take another candidate where the greedy packing of one grew as others were taken away.
    assert chosen == plain_choice(lists, count) or grew(lists, [c for c, _ in chosen])
    unions = [frozenset().union(*rows) for rows in lists]
    for a, b in combinations([unions[c] for c, _ in chosen], 2):
        assert 2 * len(a & b) <= min(len(a), len(b))
    assert [choice.covered for choice in found.choices] == list(np.cumsum([c.gain for c in found.choices]))
    folded = [candidate for choice in found.choices for candidate in choice.variants]
    assert len(set(folded)) == len(folded)
    assert not set(folded) & {c for c, _ in chosen}
    for choice in found.choices:
        for candidate in choice.variants:
            a, b = unions[candidate], unions[choice.candidate]
            assert 2 * len(a & b) > min(len(a), len(b))
    m = len(chosen)
    for several in combinations(range(len(lists)), m) if len(lists) <= 12 else []:
        assert len(frozenset().union(*(unions[i] for i in several))) <= found.bound
    assert found.covered <= found.bound <= graphs.nodes


def grew(lists: list[list[frozenset[int]]], chosen: list[int]) -> bool:
    """Whether some candidate had a larger greedy packing after the choice of others: packings are not monotone."""
    taken: set[int] = set()
    sizes: list[list[int]] = []
    for number in [-1, *chosen]:
        if number >= 0:
            used = set(taken)
            for row in lists[number]:
                if not row & used:
                    used |= row
            taken = used
        now = []
        for rows in lists:
            used, count = set(taken), 0
            for row in rows:
                if not row & used:
                    used |= row
                    count += 1
            now.append(count)
        sizes.append(now)
    return any(
        later > earlier
        for before, after in pairwise(sizes)
        for earlier, later in zip(before, after, strict=True)
    )


def test_the_choice_of_a_real_set_covers_much_with_little() -> None:
    graphs = load("zoo-mini")
    tables = [take_census(graphs, k).patterns for k in (3, 4)]
    found = Selector(graphs, tables).choose(20, fold=[])
    plain = np.argsort(-Selector(graphs, tables).gains(np.zeros(graphs.nodes, np.uint8)), kind="stable")[:20]
    selector = Selector(graphs, tables)
    union = np.zeros(graphs.nodes, bool)
    for candidate in plain.tolist():
        union |= selector.mask(candidate)
    # What the plain ranking covers, counted generously: every node of every occurrence.
    assert found.covered > union.sum()
    assert found.bound >= found.covered
    again = Selector(graphs, tables, threads=2).choose(20, fold=[])
    assert again == found

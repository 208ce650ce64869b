"""Larger regions that no merge reached, against growth step by step in plain Python."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grade
from grade import GraphSet
from grade.blocks import Blocks
from tests.blocks.graphs import acyclic_sets

Arcs = dict[int, list[tuple[int, int]]]


def arcs(found: Blocks) -> tuple[Arcs, Arcs]:
    """(node -> (reader, label), node -> (source, label))"""
    wiring = found.grammar.wiring
    out: Arcs = defaultdict(list)
    into: Arcs = defaultdict(list)
    for source, target, label in zip(
        wiring.sources.tolist(), wiring.targets.tolist(), wiring.labels.tolist(), strict=True
    ):
        out[source].append((target, label))
        into[target].append((source, label))
    return out, into


def grown(found: Blocks, rows: list[list[int]], root: int, out: Arcs, into: Arcs) -> list[list[int]]:
    """The rows with all steps up and down that they agree on."""
    types, closed = found.grammar.wiring.types.tolist(), found.grammar.wiring.closed.tolist()
    rows = [list(row) for row in rows]
    while True:
        owner = {node: (i, place) for i, row in enumerate(rows) for place, node in enumerate(row)}
        ups: list[dict[object, list[int]]] = []
        for i, row in enumerate(rows):
            mine: dict[object, list[int]] = defaultdict(list)
            for node in sorted({source for each in row for source, _ in into[each]} - set(owner)):
                if not closed[node] and all(owner.get(reader, (-1, 0))[0] == i for reader, _ in out[node]):
                    mine[types[node], tuple(sorted((owner[r][1], label) for r, label in out[node]))].append(
                        node
                    )
            ups.append(mine)
        keys = [key for key in ups[0] if all(len(mine[key]) == len(ups[0][key]) for mine in ups)]
        if keys:
            for row, mine in zip(rows, ups, strict=True):
                row += [node for key in keys for node in mine[key]]
            continue
        readers = [{reader for reader, _ in out[row[root]]} for row in rows]
        if any(len(each) != 1 for each in readers) or any(closed[row[root]] for row in rows):
            return rows
        below = [each.pop() for each in readers]
        kinds = {
            (types[b], tuple(sorted(label for _, label in out[row[root]])))
            for row, b in zip(rows, below, strict=True)
        }
        if len(kinds) > 1 or len(set(below)) < len(rows) or set(below) & set(owner):
            return rows
        root = len(rows[0])
        for row, node in zip(rows, below, strict=True):
            row.append(node)


def assert_grown(found: Blocks) -> None:
    out, into = arcs(found)
    blocks = {frozenset(map(frozenset, found.occurrences(block).tolist())) for block in found}
    expected = set()
    for block in found:
        rows = grown(
            found,
            found.occurrences(block).tolist(),
            int(found.grammar.roots[block.symbol]),
            out,
            into,
        )
        expected.add(frozenset(map(frozenset, rows)))
    reported = [frozenset(map(frozenset, each.occurrences.tolist())) for each in found.unreached]
    assert len(set(reported)) == len(reported)
    assert set(reported) == expected - blocks
    types = found.grammar.wiring.types
    for each in found.unreached:
        assert each.occurrences.shape == (each.count, each.nodes)
        assert len(np.unique(each.occurrences)) == each.coverage
        assert (types[each.occurrences] == types[each.occurrences[0]]).all()
        assert each.count == found[each.block].count
        shapes = set()
        for row in each.occurrences.tolist():
            place = {node: i for i, node in enumerate(row)}
            inner = Counter((place[n], place[r], label) for n in row for r, label in out[n] if r in place)
            shapes.add(frozenset(inner.items()))
            assert {n for n in row if any(r not in place for r, _ in out[n])} <= {row[each.root]}
        assert len(shapes) == 1


@given(acyclic_sets(max_nodes=20), st.booleans())
@settings(deadline=None, max_examples=200)
def test_random_sets(graphs: GraphSet, few: bool) -> None:
    assert_grown(grade.blocks(graphs, min_count=2 if few else 3))


@pytest.mark.parametrize("min_count", [2, 5])
def test_real_models(min_count: int) -> None:
    found = grade.blocks("zoo-mini", min_count=min_count)
    assert found.unreached
    assert_grown(found)


def test_the_largest_size_holds() -> None:
    for region in grade.blocks("zoo-mini", max_size=12).unreached:
        assert region.nodes <= 12

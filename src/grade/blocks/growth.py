"""Larger regions that repeat as often as a block, and that no merge reached (native/blocks_growth.hpp)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.blocks.grammar import NO_LIMIT, Grammar, both_lists
from grade.blocks.places import Places


@dataclass(frozen=True)
class Grown:
    """A region around every occurrence of a block, equal everywhere, with one output."""

    block: str  # the largest of the blocks that grow to it
    nodes: int
    count: int
    graphs: int
    coverage: int
    root: int = field(repr=False)  # column of the occurrences
    occurrences: NDArray[np.uint32] = field(repr=False, compare=False)  # [count, nodes]


def grown_regions(
    grammar: Grammar, places: Places, blocks: Sequence[tuple[str, int]], max_size: int | None
) -> list[Grown]:
    """The regions that these blocks (name, symbol) grow to, the one that saves most first. Each is listed once; regions
    that are blocks themselves are left out.
    """
    wiring = grammar.wiring
    symbols = [symbol for _, symbol in blocks]
    counts = np.array([len(places.of(symbol)) for symbol in symbols], np.int64)
    begins = [places.of(symbol) for symbol in symbols]
    found = _core.grown_regions(
        wiring.types,
        *both_lists(wiring),
        wiring.closed.astype(np.uint8),
        grammar.order,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([*begins, np.zeros(0, np.int64)]).astype(np.int64),
        grammar.sizes[symbols].astype(np.uint32),
        grammar.roots[symbols].astype(np.uint32),
        NO_LIMIT if max_size is None else min(max_size, NO_LIMIT),
    )
    shapes = {(size, len(nodes) // size) for _, size, _, nodes in found}
    known = {
        covered(grammar.order[begin[:, None] + np.arange(grammar.sizes[symbol])])
        for symbol, begin in zip(symbols, begins, strict=True)
        if (int(grammar.sizes[symbol]), len(begin)) in shapes
    }
    result = []
    for number, size, root, nodes in sorted(found, key=lambda each: -int(grammar.sizes[symbols[each[0]]])):
        rows = nodes.reshape(-1, size)
        key = covered(rows)
        if key in known:
            continue
        known.add(key)
        graphs = np.unique(np.searchsorted(wiring.node_offsets, rows[:, root].astype(np.int64), side="right"))
        result.append(Grown(blocks[number][0], size, len(rows), len(graphs), rows.size, root, rows))
    return sorted(result, key=lambda each: (-each.count * (each.nodes - 1), -each.nodes, each.block))


def covered(rows: NDArray[np.uint32]) -> tuple[int, bytes]:
    """The identity of a region's occurrences: their size, and all their nodes row by row."""
    inner = np.sort(rows, axis=1)
    return rows.shape[1], inner[np.argsort(inner[:, 0], kind="stable")].tobytes()

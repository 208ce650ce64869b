"""Where blocks occur, and how much of the set a few of them cover."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grade.blocks.grammar import Grammar
from grade.graphs.graph_set import offsets_of
from grade.graphs.strings import ranges


@dataclass(frozen=True, eq=False)
class Places:
    """All occurrences of the rules, also within others: intervals of ``grammar.order``, sorted by symbol and place."""

    offsets: NDArray[np.int64]  # [symbols + 1]
    begins: NDArray[np.int64]  # [occurrences] first place in grammar.order
    graphs: NDArray[np.int64]  # [occurrences]

    def of(self, symbol: int) -> NDArray[np.int64]:
        return self.begins[self.offsets[symbol] : self.offsets[symbol + 1]]

    def graphs_of(self, symbol: int) -> NDArray[np.int64]:
        return self.graphs[self.offsets[symbol] : self.offsets[symbol + 1]]


def find_places(grammar: Grammar, kept: NDArray[np.bool_]) -> Places:
    """Open all units, a layer at a time."""
    symbols, begins = grammar.labels, grammar.offsets[:-1]
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    while len(symbols):
        rules = kept[symbols]
        found.append((symbols[rules], begins[rules]))
        large = grammar.sizes[symbols] > 1
        symbols, begins = symbols[large], begins[large]
        times = grammar.copies[symbols]
        pairs, runs = times == 0, times > 0
        first, second = grammar.first[symbols], grammar.second[symbols]
        repeats = times[runs]
        steps = ranges(np.zeros(len(repeats), np.int64), repeats) * np.repeat(
            grammar.sizes[first[runs]], repeats
        )
        begins = np.concatenate(
            [
                begins[pairs],
                begins[pairs] + grammar.sizes[first[pairs]],
                np.repeat(begins[runs], repeats) + steps,
            ]
        )
        symbols = np.concatenate([first[pairs], second[pairs], np.repeat(first[runs], repeats)])
    rule = np.concatenate([part for part, _ in found]) if found else np.zeros(0, np.int64)
    begin = np.concatenate([part for _, part in found]) if found else np.zeros(0, np.int64)
    order = np.lexsort((begin, rule))
    rule, begin = rule[order], begin[order]
    starts = grammar.order[begin].astype(np.int64)
    return Places(
        offsets_of(rule, grammar.symbols),
        begin,
        np.searchsorted(grammar.wiring.node_offsets, starts, side="right") - 1,
    )


def best_library(grammar: Grammar, places: Places, rules: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Rules that cover most nodes together, chosen one by one: (rule, nodes covered by it and those before it).

    Gains only fall as more is covered, so a rule whose gain is still the highest after recounting is the best.
    """
    covered = np.zeros(len(grammar.order), np.bool_)
    sizes = grammar.sizes
    heap = [(-int(len(places.of(rule)) * sizes[rule]), -int(sizes[rule]), rule) for rule in rules]
    heapq.heapify(heap)
    chosen: list[tuple[int, int]] = []
    total, asked = 0, -1
    while heap and len(chosen) < most:
        gain, size, rule = heapq.heappop(heap)
        begins = places.of(rule)
        nodes = ranges(begins, np.full(len(begins), sizes[rule]))
        if asked != rule:
            gain, asked = -int((~covered[nodes]).sum()), rule
            heapq.heappush(heap, (gain, size, rule))
            continue
        if gain == 0:
            break
        covered[nodes] = True
        total -= gain
        chosen.append((rule, total))
        asked = -1
    return chosen

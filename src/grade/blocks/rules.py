"""Which symbols are worth a rule: those that make the description of the set shorter.

A rule of r parts costs r units, and each of its n uses saves r - 1. So a rule stays if n (r - 1) > r; otherwise its
parts replace it. Where both sides are equal, a rule stays if it occurs more than twice, as in a repetition. The symbol
that a repetition repeats always stays, and a repetition is one unit. There is nothing to set.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from grade.blocks.grammar import Grammar


def rules_worth_keeping(grammar: Grammar) -> NDArray[np.bool_]:
    """[symbols] whether a symbol is a rule: neither a single node, nor a repetition, nor inlined.

    Symbols come after their parts, so one pass from the last symbol down has seen all uses of a symbol before it.
    """
    kept: NDArray[np.bool_] = (grammar.copies == 0) & (np.arange(grammar.symbols) >= grammar.types)
    occurrences = count_occurrences(grammar)
    drop_single_uses = [False, True]
    while drop_single_uses:
        only_single = not drop_single_uses.pop(0)
        lengths = body_lengths(grammar, kept)
        uses, repeated = text_uses(grammar, kept)
        changed = False
        for symbol in range(grammar.symbols - 1, grammar.types - 1, -1):
            if not kept[symbol] or repeated[symbol]:
                continue
            n, r = int(uses[symbol]), int(lengths[symbol])
            if n > 1 and (only_single or n * (r - 1) > r or (n * (r - 1) == r and occurrences[symbol] > 2)):
                continue
            kept[symbol], changed = False, True
            for part in (grammar.first[symbol], grammar.second[symbol]):
                spread(grammar, kept, uses, int(part), n - 1)
        if changed and not drop_single_uses:
            drop_single_uses = [False, True]
    return kept


def count_occurrences(grammar: Grammar) -> NDArray[np.int64]:
    """[symbols] how often each is in the set, also within others."""
    counts = np.bincount(grammar.labels, minlength=grammar.symbols).astype(np.int64)
    for symbol in range(grammar.symbols - 1, grammar.types - 1, -1):
        if grammar.copies[symbol]:
            counts[grammar.first[symbol]] += counts[symbol] * grammar.copies[symbol]
        else:
            counts[grammar.first[symbol]] += counts[symbol]
            counts[grammar.second[symbol]] += counts[symbol]
    return counts


def spread(grammar: Grammar, kept: NDArray[np.bool_], uses: NDArray[np.int64], part: int, more: int) -> None:
    """A part stands in ``more`` further places; through a symbol that is inlined its parts do."""
    waiting = [part]
    while waiting:
        symbol = waiting.pop()
        uses[symbol] += more
        if not is_token(grammar, kept, symbol):
            waiting += [int(grammar.first[symbol]), int(grammar.second[symbol])]


def is_token(grammar: Grammar, kept: NDArray[np.bool_], symbol: int) -> bool:
    """Whether a symbol is written as one unit: a node, a repetition or a rule."""
    return bool(symbol < grammar.types or grammar.copies[symbol] or kept[symbol])


def body_lengths(grammar: Grammar, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[symbols] units of the body of each symbol, 1 for nodes and repetitions."""
    lengths = np.ones(grammar.symbols, np.int64)
    written = np.where(kept | (grammar.copies > 0) | (np.arange(grammar.symbols) < grammar.types), 1, 0)
    for symbol in range(grammar.types, grammar.symbols):
        if not grammar.copies[symbol]:
            lengths[symbol] = sum(
                1 if written[part] else lengths[part]
                for part in (grammar.first[symbol], grammar.second[symbol])
            )
    return lengths


def text_uses(grammar: Grammar, kept: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """([symbols] places that a symbol stands in, whether a repetition repeats it)."""
    uses = np.bincount(grammar.labels, minlength=grammar.symbols).astype(np.int64)
    repeated = np.zeros(grammar.symbols, np.bool_)
    for symbol in range(grammar.symbols - 1, grammar.types - 1, -1):
        if not uses[symbol]:
            continue
        if grammar.copies[symbol]:
            uses[grammar.first[symbol]] += 1
            repeated[grammar.first[symbol]] = True
        else:
            times = 1 if kept[symbol] else uses[symbol]
            uses[grammar.first[symbol]] += times
            uses[grammar.second[symbol]] += times
    return uses, repeated


def tokens(grammar: Grammar, kept: NDArray[np.bool_], symbol: int) -> Iterator[tuple[int, int]]:
    """The units that a symbol is written with, as (symbol, first place), rules that were inlined opened.

    The symbol itself where it is one unit.
    """
    waiting = [(symbol, 0)]
    while waiting:
        part, begin = waiting.pop()
        if is_token(grammar, kept, part):
            yield part, begin
        else:
            first, second = int(grammar.first[part]), int(grammar.second[part])
            waiting += [(second, begin + int(grammar.sizes[first])), (first, begin)]


def body(grammar: Grammar, kept: NDArray[np.bool_], symbol: int) -> list[tuple[int, int]]:
    """The units that a rule's right side is written with."""
    first, second = int(grammar.first[symbol]), int(grammar.second[symbol])
    shift = int(grammar.sizes[first])
    return [
        *tokens(grammar, kept, first),
        *((part, begin + shift) for part, begin in tokens(grammar, kept, second)),
    ]

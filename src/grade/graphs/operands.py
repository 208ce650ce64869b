"""Words for the operands of its consumer that an edge feeds.

An edge stands for all arcs from one operator to another. Its word lists them, sorted and joined by "+": the place
among the consumer's operands, preceded by the number of the producer's result unless that is the first one.

    0      the first result is the first operand
    0+1    it is both of the first two operands (a square, say)
    1:0    the second result (of a Split, say) is the first operand
           (the empty word) nothing is known
"""

from collections.abc import Iterable
from typing import NamedTuple

UNKNOWN = ""
MAX_ARCS = 1_024  # of one edge; more than that many are not noted
MAX_WORDS = 65_536  # of one set; rarer ones are not noted


class Arc(NamedTuple):
    """One arc of an edge."""

    operand: int  # place among the operands of the consumer
    result: int = 0  # place among the results of the producer


def operand_word(arcs: Iterable[tuple[int, int]]) -> str:
    """The word for arcs (operand, result).

    >>> operand_word([(1, 0), (0, 0)]), operand_word([(2, 1)])
    ('0+1', '1:2')
    """
    found = sorted(set(arcs))
    if len(found) > MAX_ARCS:
        return UNKNOWN
    return "+".join(f"{result}:{operand}" if result else str(operand) for operand, result in found)


def arcs_of(word: str) -> list[Arc]:
    """The arcs of a word.

    >>> arcs_of("0+1:2"), arcs_of("")
    ([Arc(operand=0, result=0), Arc(operand=2, result=1)], [])
    """
    parts = (part.rpartition(":") for part in word.split("+") if part)
    return [Arc(int(operand), int(result or 0)) for result, _, operand in parts]


def is_operand_word(word: str) -> bool:
    """Whether a text is such a word.

    >>> [is_operand_word(word) for word in ("", "0", "0+3:1", "a", "0+", "-1")]
    [True, True, True, False, False, False]
    """
    numbers = [number for part in word.split("+") for number in part.split(":", 1)]
    return not word or all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers)

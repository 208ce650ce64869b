"""The main memory that a search takes, and the lists that a budget allows.

Everything counts: the interpreter, the graph set as it lies in the core and in mapped files, what one block of grown
occurrences takes while it is made, the lists of the last size and of the one that is being made. Where patterns and
lists of a size would take more than is left, its lists get shorter (`Keeping.room`). The figures are upper bounds that
were measured; a budget below `least` is refused.
"""

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.search.candidates import BLOCK

MIB = 1 << 20
INTERPRETER = 128 * MIB  # with the libraries that a search needs
MEMO = 160 * MIB  # classified subgraphs that are remembered, and their tables
PER_NODE = 20 + 12 + 8  # the core's, the matcher's, and limits of growth
PER_EDGE = 16  # the core's
BUILT_PER_NODE, BUILT_PER_EDGE = 18, 10  # mapped files, while the core is built from them
THREADS = 16  # that are counted, however many there are: lists are the same for any number
LEAST_ROWS = 200_000  # occurrences of lists below which a search finds little


def of_set(graphs: GraphSet) -> int:
    """Bytes of a graph set in the core and in mapped files."""
    return graphs.nodes * (PER_NODE + BUILT_PER_NODE) + graphs.edges * (PER_EDGE + BUILT_PER_EDGE)


def of_steps(graphs: GraphSet, k: int) -> int:
    """Bytes of one block of grown occurrences, and of marks that threads keep."""
    return BLOCK * (13 * k + 80) + MEMO + THREADS * (64 * graphs.largest + 4 * MIB)


def of_lists(rows: int, k: int) -> int:
    """Bytes of lists from which a step grows: the lists, in their order and by graph, rates, and the next ones."""
    return rows * (12 * k + 80)


def least(graphs: GraphSet, k: int, beam: int) -> int:
    """Bytes below which a search is refused, in whole MiB."""
    rows = max(LEAST_ROWS, 2 * beam)
    total = INTERPRETER + of_set(graphs) + of_steps(graphs, k) + of_lists(rows, k)
    return -(-(total + in_room(rows, k)) // MIB) * MIB


def in_room(rows: int, k: int) -> int:
    """Bytes of this many listed occurrences while a size is made."""
    return rows * (4 * k + 16) * 5 // 4


def check(memory: int, graphs: GraphSet, k: int, beam: int) -> None:
    """Refuse a budget that is too small, and name one that is enough."""
    needed = least(graphs, k, beam)
    if memory < needed:
        raise InputError(
            f"A search to {k} nodes in {graphs.origin} takes {needed // MIB} MiB or more; set `memory` to"
            f" {needed // MIB}M."
        )


def room(memory: int, graphs: GraphSet, k: int, beam: int, list_size: int) -> tuple[int, int]:
    """(occurrences of each list, bytes of the patterns and lists of one size) that a budget allows."""
    left = memory - INTERPRETER - of_set(graphs) - of_steps(graphs, k)
    affordable = left // 3 // (of_lists(1, k) * beam)  # a third of it for the lists that a step grows from
    kept = max(min(list_size, affordable), 1)
    return kept, left - of_lists(kept * beam, k)

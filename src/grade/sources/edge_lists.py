"""Edge lists: one graph a file, one edge a line.

    # source target [type]
    a b
    b c skip

A file of the same name with the suffix .types, if there is one, gives the types of nodes, a node and its type on
each line (nodes without edges included). Without it all nodes are of the type "node".
"""

from collections.abc import Iterator
from pathlib import Path

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.graph_set import NO_EDGE
from grade.settings import ReadSettings
from grade.sources.from_labels import graph_from_labels
from grade.sources.readers import reader

TYPES = ".types"
MAX_LINE = 1 << 16


@reader("edge-lists", "lists of edges, one graph a file", suffixes=(".edges", ".edgelist"))
def read_edge_list(path: str, settings: ReadSettings | None = None) -> Iterator[GraphSet]:
    """The graph of a file, named after it; nodes are numbered in the order in which they are met."""
    number: dict[str, int] = {}
    types: list[str] = []
    beside = Path(path).with_suffix(TYPES)
    typed = beside.is_file()
    if typed:
        for line, words in lines_of(beside):
            if len(words) != 2:
                raise InputError(f"{beside}, line {line}: it is not a node and its type; correct it.")
            if words[0] in number:
                raise InputError(f"{beside}, line {line}: the node {words[0]!r} is there twice; remove one.")
            number[words[0]] = len(number)
            types.append(words[1])
    edges: dict[tuple[int, int], str] = {}
    for line, words in lines_of(Path(path)):
        if len(words) not in (2, 3):
            raise InputError(
                f"{path}, line {line}: it is not a source, a target and perhaps a type; correct it."
            )
        for node in words[:2]:
            if node not in number:
                if typed:
                    raise InputError(
                        f"{path}, line {line}: the node {node!r} has no type in {beside}; add it."
                    )
                number[node] = len(number)
                types.append("node")
        pair = number[words[0]], number[words[1]]
        kind = words[2] if len(words) == 3 else "edge"
        if pair in edges or kind == NO_EDGE:
            reason = "the edge is there twice" if pair in edges else f"{NO_EDGE!r} is the word for no edge"
            raise InputError(f"{path}, line {line}: {reason}; correct it.")
        edges[pair] = kind
    yield graph_from_labels(path, types, edges, node_names=list(number))


def lines_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(number, words) of all lines that are not empty and not a remark."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise InputError(
                        f"{path}, line {number}: it is longer than {MAX_LINE:,} bytes; correct it."
                    )
                words = line.decode("utf-8").split()
                if words and words[0][0] not in "#%":
                    yield number, words
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); check its name and permissions."
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{path}, line {number}: it is not UTF-8 text; convert it.") from None

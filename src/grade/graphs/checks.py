"""Checks of the arrays, vocabularies and annotations that a graph set is made of."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grade.errors import InputError
from grade.graphs.operands import MAX_WORDS, UNKNOWN, is_operand_word

MAX_NODE_TYPES = 65_535
MAX_EDGE_TYPES = 255
MAX_NODES = 2**32 - 1
MAX_PLACE = 2**32 - 1


def check_lengths(
    origin: str,
    node_count: NDArray[np.int64],
    edge_count: NDArray[np.int64],
    names: Sequence[str],
    types: NDArray[np.int64],
    arcs: NDArray[np.int64],
    kinds: NDArray[np.int64],
    labels: Sequence[str] | None,
) -> None:
    """Refuse lists whose lengths do not belong together."""

    def refuse(what: str) -> InputError:
        return InputError(f"{origin}: {what}")

    if len(edge_count) != len(node_count) or len(names) != len(node_count):
        raise refuse(
            f"{len(node_count)} node counts, {len(edge_count)} edge counts and {len(names)} graph names were given;"
            " each graph needs one of each."
        )
    if (node_count < 0).any() or (edge_count < 0).any():
        raise refuse("a node count or edge count is negative; counts start at 0.")
    nodes, edges = node_count.sum(), edge_count.sum()
    if nodes > MAX_NODES:
        raise refuse(f"{nodes} nodes are more than the {MAX_NODES} that a set can hold; split it.")
    if len(types) != nodes:
        raise refuse(f"the graphs have {nodes} nodes but {len(types)} node types were given.")
    if len(arcs) != edges or len(kinds) != len(arcs):
        raise refuse(
            f"the graphs have {edges} edges but {len(arcs)} edges and {len(kinds)} edge types were given."
        )
    if labels is not None and len(labels) != len(types):
        raise refuse(f"the graphs have {len(types)} nodes but {len(labels)} node names were given.")


def check_vocabularies(origin: str, vocabularies: Mapping[str, Sequence[str]]) -> None:
    """Refuse vocabularies (``node``, ``edge`` ...) that are too large, lack the absent edge, or repeat a word."""
    node_types, edge_types = len(vocabularies["node"]), len(vocabularies["edge"])
    if node_types > MAX_NODE_TYPES:
        raise InputError(
            f"{origin}: {node_types} node types are more than the {MAX_NODE_TYPES} that a set can hold."
        )
    if not 1 <= edge_types <= MAX_EDGE_TYPES + 1:
        raise InputError(
            f"{origin}: the edge vocabulary has {edge_types} entries; it needs the name of the absent edge and at most"
            f" {MAX_EDGE_TYPES} types."
        )
    for kind, vocabulary in vocabularies.items():
        if len(set(vocabulary)) != len(vocabulary):
            raise InputError(f"{origin}: the {kind} vocabulary has a word twice.")


def refuse_in_graph(
    origin: str, names: Sequence[str], bad: NDArray[np.bool_], owner: NDArray[np.int64], what: str
) -> InputError:
    """The first bad node or edge, by the name of its graph."""
    return InputError(f"{origin}: graph {names[int(owner[int(np.argmax(bad))])]!r} has {what}")


def check_nodes(
    types: NDArray[np.int64],
    graph_of_node: NDArray[np.int64],
    most: int,
    refuse: Callable[[NDArray[np.bool_], NDArray[np.int64], str], InputError],
) -> None:
    """Refuse a node of a type that the vocabulary lacks."""
    bad = (types < 0) | (types >= most)
    if bad.any():
        kind = types[bad][0]
        raise refuse(bad, graph_of_node, f"a node of type {kind}, but the vocabulary has {most} node types.")


def check_edges(
    arcs: NDArray[np.int64],
    kinds: NDArray[np.int64],
    graph_of_edge: NDArray[np.int64],
    node_count: NDArray[np.int64],
    words: int,
    refuse: Callable[[NDArray[np.bool_], NDArray[np.int64], str], InputError],
) -> None:
    """Refuse an edge that leaves its graph, or has a type that the vocabulary lacks."""
    bad = np.any((arcs < 0) | (arcs >= node_count[graph_of_edge][:, None]), axis=1)
    if bad.any():
        edge, last = arcs[bad][0].tolist(), node_count[graph_of_edge[int(np.argmax(bad))]] - 1
        raise refuse(bad, graph_of_edge, f"an edge {edge}, but its nodes are numbered from 0 to {last}.")
    bad = (kinds < 1) | (kinds >= words)
    if bad.any():
        kind = kinds[bad][0]
        raise refuse(bad, graph_of_edge, f"an edge of type {kind}, but edge types go from 1 to {words - 1}.")


def checked_annotations(
    nodes: int,
    edges: int,
    operands: ArrayLike | None,
    operand_vocabulary: Sequence[str],
    outputs: ArrayLike | None,
    node_places: ArrayLike | None,
    origin: str,
) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_] | None, NDArray[np.int64] | None]:
    """Operands [edges], outputs [nodes] and places [nodes] as arrays, each None where it was not given."""

    def refuse(what: str) -> InputError:
        return InputError(f"{origin}: {what}")

    places = None if operands is None else integers(operands, "operands", origin)
    ends = None if outputs is None else np.asarray(outputs)
    numbers = None if node_places is None else integers(node_places, "node_places", origin)
    for what, given, count in (
        ("operands", places, edges),
        ("outputs", ends, nodes),
        ("node_places", numbers, nodes),
    ):
        if given is not None and given.shape != (count,):
            raise refuse(f"{what} must be a list of {count}, not of the shape {list(given.shape)}.")
    if ends is not None and ends.size and ends.dtype != np.bool_:
        raise refuse(f"outputs must be true or false, not {ends.dtype}.")
    if numbers is not None and ((numbers < 0) | (numbers > MAX_PLACE)).any():
        raise refuse(f"node_places must be from 0 to {MAX_PLACE}.")
    if not operand_vocabulary or operand_vocabulary[0] != UNKNOWN or len(operand_vocabulary) > MAX_WORDS:
        raise refuse(
            f"the operand vocabulary must start with {UNKNOWN!r} and have at most {MAX_WORDS:,} words."
        )
    wrong = next((word for word in operand_vocabulary if not is_operand_word(word)), None)
    if wrong is not None:
        raise refuse(f"{wrong!r} names no operands; write 0, 0+1 or 1:0 (result 1 as operand 0).")
    if places is not None and ((places < 0) | (places >= len(operand_vocabulary))).any():
        raise refuse(f"operands must be from 0 to {len(operand_vocabulary) - 1}.")
    return places, ends, numbers


def integers(values: ArrayLike, what: str, origin: str) -> NDArray[np.int64]:
    """The values as a 64-bit integer array, refusing fractions, NaN and text."""
    array = np.asarray(values)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all():
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub" or (
        array.dtype.kind == "u" and int(array.max()) > np.iinfo(np.int64).max
    ):
        raise InputError(f"{origin}: {what} must be whole numbers, not {array.dtype}.")
    return array.astype(np.int64)

"""A graph set of one graph from labels, as most readers produce them."""

from collections.abc import Mapping, Sequence

import numpy as np

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.concatenation import operand_vocabulary
from grade.graphs.graph_set import NO_EDGE
from grade.graphs.operands import UNKNOWN


def graph_from_labels(
    name: str,
    types: Sequence[str],
    edges: Mapping[tuple[int, int], str],
    node_names: Sequence[str] | None = None,
    origin: str = "",
    *,
    operands: Mapping[tuple[int, int], str] | None = None,
    outputs: Sequence[bool] | None = None,
    node_places: Sequence[int] | None = None,
) -> GraphSet:
    """A set of one graph from the type of each node and the type of each edge (source, target).

    ``operands`` says of each edge which operands it feeds, in the words of `grade.graphs.operands`.

    >>> graphs = graph_from_labels("block", ["conv", "relu", "conv"], {(0, 1): "edge", (1, 2): "edge"})
    >>> graphs.node_vocabulary, graphs.node_types.tolist(), graphs.edge_list(0).tolist()
    (('conv', 'relu'), [0, 1, 0], [[0, 1], [1, 2]])
    """
    if NO_EDGE in edges.values():
        raise InputError(f"an edge has the type {NO_EDGE!r}, which is the word for no edge")
    node_place = {word: place for place, word in enumerate(dict.fromkeys(types))}
    edge_place = {word: place for place, word in enumerate(dict.fromkeys([NO_EDGE, *edges.values()]))}
    edge_place.setdefault("edge", len(edge_place))
    fed = operand_vocabulary()
    arcs = None if operands is None else fed.places([operands.get(pair, UNKNOWN) for pair in edges])
    return GraphSet.from_edges(
        node_counts=[len(types)],
        node_types=[node_place[word] for word in types],
        edge_counts=[len(edges)],
        edges=np.array(list(edges), np.int64).reshape(-1, 2),
        edge_types=[edge_place[word] for word in edges.values()],
        node_vocabulary=list(node_place),
        edge_vocabulary=list(edge_place),
        graph_names=[name],
        node_names=node_names,
        operands=arcs,
        operand_vocabulary=fed.words,
        outputs=None if outputs is None else np.array(outputs, np.bool_),
        node_places=node_places,
        origin=origin or name,
    )

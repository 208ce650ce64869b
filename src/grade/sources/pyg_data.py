"""Graphs from PyTorch Geometric ``Data`` objects, by their attributes: the library itself is not needed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.graph_set import NO_EDGE


def from_pyg(
    graphs: Any,
    node_type: str = "x",
    edge_type: str = "edge_attr",
    node_vocabulary: Sequence[str] | None = None,
    edge_vocabulary: Sequence[str] | None = None,
    origin: str = "PyTorch Geometric",
) -> GraphSet:
    """A set from objects with ``edge_index`` [2, edges] and the types of nodes in the attribute ``node_type``.

    ``graphs`` is one of them, a batch, or any number of either (a list, a data set); a batch is taken apart.

    Types are whole numbers [nodes] or [nodes, 1], or one-hot rows [nodes, types]; so are those of edges, where there
    are any. ``node_vocabulary`` and ``edge_vocabulary`` name the types (by default by their numbers); the type t of
    an edge is ``edge_vocabulary[t]``.

    >>> from types import SimpleNamespace
    >>> data = SimpleNamespace(edge_index=np.array([[0, 1], [1, 2]]), x=np.array([[1, 0], [0, 1], [0, 1]]))
    >>> graphs = from_pyg([data], node_vocabulary=["input", "conv"])
    >>> graphs.node_types.tolist(), graphs.edge_list(0).tolist()
    ([0, 1, 1], [[0, 1], [1, 2]])
    """
    node_counts, edge_counts = [], []
    types, kinds, edges = [], [], []
    for place, data in enumerate(members(graphs)):
        where = f"{origin}: graph {place}"
        if getattr(data, "edge_index", None) is None or getattr(data, node_type, None) is None:
            raise InputError(
                f"{where} has no edge_index or no {node_type!r}; name the attribute of node types."
            )
        arcs = array(data.edge_index)
        if arcs.ndim != 2 or arcs.shape[0] != 2:
            raise InputError(
                f"{where} has an edge_index of the shape {list(arcs.shape)}; it must be [2, edges]."
            )
        types.append(type_numbers(array(getattr(data, node_type)), f"{where}, {node_type!r}"))
        edges.append(arcs.T)
        given = getattr(data, edge_type, None)
        kinds.append(
            np.zeros(arcs.shape[1], np.int64)
            if given is None
            else type_numbers(array(given), f"{where}, {edge_type!r}")
        )
        if len(kinds[-1]) != arcs.shape[1]:
            raise InputError(f"{where} has {arcs.shape[1]} edges and {len(kinds[-1])} edge types.")
        node_counts.append(len(types[-1]))
        edge_counts.append(arcs.shape[1])
    nothing = np.zeros(0, np.int64)
    node_types, edge_types = np.concatenate([nothing, *types]), np.concatenate([nothing, *kinds])
    if node_vocabulary is None:
        node_vocabulary = [str(number) for number in range(int(node_types.max(initial=-1)) + 1)]
    if edge_vocabulary is None:
        last = int(edge_types.max(initial=0))
        edge_vocabulary = ["edge", *(f"edge {number}" for number in range(1, last + 1))]
    return GraphSet.from_edges(
        node_counts=node_counts,
        node_types=node_types,
        edge_counts=edge_counts,
        edges=np.concatenate([nothing.reshape(0, 2), *edges]),
        edge_types=edge_types + 1,
        node_vocabulary=node_vocabulary,
        edge_vocabulary=[NO_EDGE, *edge_vocabulary],
        origin=origin,
    )


def members(graphs: Any) -> Iterator[Any]:
    """The single graphs of one, of a batch, or of several."""
    if hasattr(graphs, "to_data_list"):
        yield from graphs.to_data_list()
    elif hasattr(graphs, "edge_index") or hasattr(graphs, "stores") or not isinstance(graphs, Iterable):
        yield graphs
    else:
        for part in graphs:
            yield from members(part) if hasattr(part, "to_data_list") else [part]


def array(values: Any) -> NDArray[Any]:
    """A numpy array of a tensor of any library, wherever it lies."""
    for step in ("detach", "cpu", "numpy"):
        values = getattr(values, step)() if hasattr(values, step) else values
    return np.asarray(values)


def type_numbers(values: NDArray[Any], where: str) -> NDArray[np.int64]:
    """[n] types from whole numbers [n] or [n, 1], or from one-hot rows [n, types]."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2 and ((values == 0) | (values == 1)).all() and (values.sum(axis=1) == 1).all():
        return np.asarray(np.argmax(values, axis=1), np.int64)
    if values.ndim == 1 and (values == np.floor(values)).all():
        return np.asarray(values, np.int64)
    raise InputError(
        f"{where} holds neither whole numbers nor one-hot rows; name another attribute of types."
    )

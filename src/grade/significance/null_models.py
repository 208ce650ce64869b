"""Null models: random graphs that share given properties with the observed ones.

Each is a symmetric Markov chain over the graphs of a set, one by one (`native/null_switching.hpp`): edges of one
type exchange their targets, two or three at a time, and a move that is not allowed counts as a step without a
change. So the chain is uniform over all graphs that it can reach, and every model keeps, for each node, its type, its
self-loop, and its in-degree and out-degree by type of edge. No edge is made twice, and no loop.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from grade import _core
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.machine import thread_count
from grade.sources import as_graphs

NULL_MODELS = {
    "degrees": "degrees by type of edge; no cycles where there are none",
    "types": "degrees, and the number of edges between each pair of node types; no cycles where there are none",
    "levels": "degrees, and the number of edges between each pair of levels (lengths of the longest path to a node)",
    "block": "degrees, and the counts of all patterns of 3 nodes; no cycles where there are none",
}


@dataclass(frozen=True, kw_only=True)
class NullModel:
    """A null model by name, with its options.

    ``allow_cycles`` lets acyclic graphs get cycles (`levels` never closes one). ``keep_mutual`` keeps the number of
    mutual edges of every node, as Milo et al. (2002) do; it is switched on where all edges of a set are mutual, which
    is how undirected graphs are stored.

    Examples
    --------
    >>> NullModel(name="typs")
    Traceback (most recent call last):
        ...
    grade.errors.InputError: There is no null model named 'typs'; give one of degrees, types, levels, block.
    """

    name: str = "degrees"
    allow_cycles: bool = False
    keep_mutual: bool = False

    def __post_init__(self) -> None:
        if self.name not in NULL_MODELS:
            raise InputError(
                f"There is no null model named {self.name!r}; give one of {', '.join(NULL_MODELS)}."
            )

    def fitted(self, graphs: GraphSet) -> "NullModel":
        """The model for this set: mutual edges are kept where there are no others."""
        if self.keep_mutual or not all_mutual(graphs):
            return self
        return NullModel(name=self.name, allow_cycles=self.allow_cycles, keep_mutual=True)

    @property
    def arguments(self) -> tuple[str, bool, bool]:
        """The arguments of the native core."""
        return self.name, self.allow_cycles, self.keep_mutual


def all_mutual(graphs: GraphSet) -> bool:
    """Whether every edge of a set has an opposite of the same type, so that the graphs are undirected.

    Examples
    --------
    >>> pair = dict(node_counts=[2], node_types=[0, 0], node_vocabulary=["protein"])
    >>> all_mutual(GraphSet.from_edges(edge_counts=[2], edges=[[0, 1], [1, 0]], **pair))
    True
    >>> all_mutual(GraphSet.from_edges(edge_counts=[1], edges=[[0, 1]], **pair))
    False
    """
    return (
        graphs.edges > 0
        and np.array_equal(graphs.out_offsets, graphs.in_offsets)
        and np.array_equal(graphs.out_targets, graphs.in_sources)
        and np.array_equal(graphs.out_types, graphs.in_types)
    )


def randomised(
    graphs: Any,
    null: str | NullModel = "degrees",
    *,
    switches: float = 100.0,
    seed: int = 0,
    draw: int = 0,
    threads: int | None = None,
) -> GraphSet:
    """One draw from a null model: the graphs with their edges moved, by ``switches`` proposed moves for each edge.

    The same graphs as draw number ``draw`` of `significance` with the same seed and number of switches.

    Examples
    --------
    >>> ring = GraphSet.from_edges(node_counts=[6], node_types=[0] * 6, edge_counts=[6],
    ...                            edges=[[i, (i + 1) % 6] for i in range(6)], node_vocabulary=["gene"])
    >>> other = randomised(ring, seed=1)
    >>> [len(other.successors(node)) for node in range(6)]
    [1, 1, 1, 1, 1, 1]
    """
    graphs = as_graphs(graphs)
    model = (NullModel(name=null) if isinstance(null, str) else null).fitted(graphs)
    check_switches(switches)
    ends, types = _core.null_draw(
        graphs.core, *model.arguments, switches, seed, draw, thread_count(threads), None
    )
    sources = np.repeat(np.arange(graphs.nodes), np.diff(graphs.out_offsets))
    loops = sources == graphs.out_targets
    ends = np.concatenate([ends, np.stack([sources[loops]] * 2, axis=1)])
    types = np.concatenate([types, graphs.out_types[loops]])
    owner = graphs.graphs_of(ends[:, 0])
    order = np.argsort(owner, kind="stable")
    return GraphSet.from_edges(
        node_counts=graphs.node_counts,
        node_types=graphs.node_types,
        edge_counts=np.bincount(owner, minlength=len(graphs)),
        edges=(ends - graphs.node_offsets[owner][:, None])[order],
        edge_types=types[order],
        node_vocabulary=graphs.node_vocabulary,
        edge_vocabulary=graphs.edge_vocabulary,
        graph_names=list(graphs.graph_names),
        origin=f"{graphs.origin}, draw {draw} of {model.name}",
    )


def check_switches(switches: float) -> None:
    if not 0 <= switches <= 1e9:
        raise InputError(f"The number of switches for each edge is {switches}; give 0 to 1e9.")

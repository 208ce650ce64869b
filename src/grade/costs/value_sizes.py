"""Bytes of the result of every node: from shapes where known, by a default otherwise.

The default distinguishes three kinds of values, as a graph of operators says no more:

    whole     1 MiB    feature maps and sequences, and every value that is not of another kind
    reduced   4 KiB    results of reductions, until they meet a whole value again
    small     64 B     shapes, and values that are computed from shapes alone
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grade.graphs import GraphSet
from grade.graphs.strings import ranges
from grade.sources.aten_names import ONNX_NAMES

SMALL, REDUCED, WHOLE = 64.0, 4096.0, float(1 << 20)
DEFAULT = "float32 feature maps of 1 MiB, 4 KiB behind a reduction, 64 bytes for shapes"
SHAPES = {"Shape", "Size", "aten.sym_size", "aten.size"}
REDUCTIONS = {
    "GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd",
    "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ArgMax", "ArgMin",
}  # fmt: skip
VIEWS = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"}
SPLITS = {"Split", "SplitToSequence"}


@dataclass(frozen=True, eq=False)
class ValueSizes:
    """The results of the nodes of a graph set, and where they lie. A view moves nothing: its result lies where that
    of its `storage` does.

    >>> graphs = GraphSet.from_edges(node_counts=[3], node_types=[0, 1, 2], edge_counts=[2], edges=[[0, 1], [1, 2]],
    ...                              node_vocabulary=["Conv", "Reshape", "ReduceMean"])
    >>> sizes = ValueSizes.default(graphs)
    >>> sizes.bytes.tolist(), sizes.storage.tolist()
    ([1048576.0, 1048576.0, 4096.0], [0, 0, 2])
    """

    bytes: NDArray[np.float64]  # [nodes] of all results of a node together
    known: NDArray[np.bool_]  # [nodes] from a shape, not by default
    results: NDArray[np.int64]  # [nodes] number of results, each an equal part of the bytes
    storage: NDArray[np.int64]  # [nodes] the node that wrote this one's result; itself unless it is a view
    views: NDArray[np.bool_]  # [nodes]

    @classmethod
    def default(cls, graphs: GraphSet) -> "ValueSizes":
        """Sizes by the default alone."""
        return cls.of(graphs, np.full(graphs.nodes, np.nan))

    @classmethod
    def of(cls, graphs: GraphSet, known: NDArray[np.float64]) -> "ValueSizes":
        """Sizes from the known ones [nodes], NaN where there is none."""
        names = [base_name(name) for name in graphs.node_vocabulary]
        views = np.isin(graphs.node_types, [i for i, name in enumerate(names) if name in VIEWS])
        splits = np.isin(graphs.node_types, [i for i, name in enumerate(names) if name in SPLITS])
        results = np.where(splits, np.maximum(np.diff(graphs.out_offsets), 1), 1)
        sizes = np.where(np.isnan(known), default_bytes(graphs, names), known)
        return cls(sizes, ~np.isnan(known), results, storages(graphs, views, sizes), views)

    @property
    def share_known(self) -> float:
        """The share of the nodes whose size is known."""
        return float(self.known.mean()) if len(self.known) else 0.0

    @property
    def basis(self) -> str:
        """Where the sizes come from, for a reader."""
        if not self.known.any():
            return f"default sizes ({DEFAULT})"
        if self.known.all():
            return "shapes of the models"
        return f"shapes of the models for {100 * self.share_known:.0f} % of the nodes, default sizes for the rest"


def base_name(name: str) -> str:
    """The operator of a type, without attributes, in ONNX's words.

    >>> base_name("Conv[group=2]"), base_name("aten.mean")
    ('Conv', 'ReduceMean')
    """
    base = name.partition("[")[0]
    return ONNX_NAMES.get(base, base)


def default_bytes(graphs: GraphSet, names: list[str]) -> NDArray[np.float64]:
    """[nodes] The largest kind among a node's inputs, limited by reductions and shapes."""
    limits = np.array([SMALL if n in SHAPES else REDUCED if n in REDUCTIONS else WHOLE for n in names])
    limit = limits[graphs.node_types] if graphs.nodes else np.zeros(0)
    sizes = np.zeros(graphs.nodes)
    spread(graphs, sizes, limit, np.flatnonzero((np.diff(graphs.in_offsets) == 0) | (limit == SMALL)))
    spread(graphs, sizes, limit, np.flatnonzero(sizes == 0))  # in cycles that nothing enters
    return sizes


def spread(
    graphs: GraphSet, sizes: NDArray[np.float64], limit: NDArray[np.float64], changed: NDArray[np.int64]
) -> None:
    """Set the limits of these nodes, and pass their effect on to all nodes that they reach."""
    sizes[changed] = limit[changed]
    while len(
        changed
    ):  # each node changes three times at most, so that this takes time in proportion to the edges
        lengths = graphs.out_offsets[changed + 1] - graphs.out_offsets[changed]
        targets = graphs.out_targets[ranges(graphs.out_offsets[changed], lengths)].astype(np.int64)
        offered = np.minimum(np.repeat(sizes[changed], lengths), limit[targets])
        before = sizes[targets]
        np.maximum.at(sizes, targets, offered)
        changed = np.unique(targets[sizes[targets] > before])


def storages(graphs: GraphSet, views: NDArray[np.bool_], sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """[nodes] Views follow their largest input, the first of equal ones, to the node that wrote it."""
    storage = np.arange(graphs.nodes)
    for node in np.flatnonzero(views & (np.diff(graphs.in_offsets) > 0)).tolist():
        inputs = graphs.in_sources[graphs.in_offsets[node] : graphs.in_offsets[node + 1]].astype(np.int64)
        storage[node] = inputs[np.argmax(sizes[inputs])]
    for _ in range(64):  # views of views; doubling, so that no chain is too long, and a cycle of views ends
        further = storage[storage]
        if (further == storage).all():
            break
        storage = further
    return storage

"""NAS-Bench-201: every cell of its search space.

Dong and Yang, "NAS-Bench-201: Extending the Scope of Reproducible Neural Architecture Search", 2020. A cell
has four feature maps and one of five operations on each of its six edges. Here the operations are the nodes:
an arc leads from one operation to another that reads the feature map which the first writes. The operation
`none` stays a node.
"""

import itertools

import numpy as np

from grade.graphs import GraphSet
from grade.sources.source_registry import source

OPERATIONS = ("nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3", "skip_connect", "none")
TYPES = ("output", "input", *OPERATIONS)

# Node 0 is the input, 1 to 6 are the operations on the edges below, 7 is the output.
FEATURE_MAP_EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
ARCS = ((0, 1), (0, 2), (0, 4), (1, 3), (1, 5), (2, 6), (3, 6), (4, 7), (5, 7), (6, 7))


@source("nas-bench-201", "All 15,625 cells of NAS-Bench-201.", cache_version=1)
def nas_bench_201() -> GraphSet:
    """The 5^6 = 15,625 cells of 8 nodes and 10 edges, each named by its architecture string."""
    choices = np.array(
        list(itertools.product(range(len(OPERATIONS)), repeat=len(FEATURE_MAP_EDGES)))
    )  # [cells, 6]
    cells = len(choices)
    node_types = np.empty((cells, 8), np.int64)
    node_types[:, 0] = TYPES.index("input")
    node_types[:, 1:7] = choices + 2
    node_types[:, 7] = TYPES.index("output")
    return GraphSet.from_edges(
        node_counts=np.full(cells, 8),
        node_types=node_types.ravel(),
        edge_counts=np.full(cells, len(ARCS)),
        edges=np.tile(ARCS, (cells, 1)),
        node_vocabulary=TYPES,
        graph_names=[architecture_string([OPERATIONS[c] for c in choice]) for choice in choices.tolist()],
        origin="nas-bench-201",
    )


def architecture_string(operations: list[str]) -> str:
    """The benchmark's own name of a cell: the operations into feature maps 1, 2 and 3 with the maps that they
    read.

    >>> architecture_string(["none", "skip_connect", "none", "nor_conv_3x3", "none", "none"])
    '|none~0|+|skip_connect~0|none~1|+|nor_conv_3x3~0|none~1|none~2|'
    """
    by_target: dict[int, list[str]] = {}
    for operation, (read, written) in zip(operations, FEATURE_MAP_EDGES, strict=True):
        by_target.setdefault(written, []).append(f"{operation}~{read}")
    return "+".join(f"|{'|'.join(parts)}|" for parts in by_target.values())

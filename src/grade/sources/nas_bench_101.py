"""NAS-Bench-101: every cell of its search space, enumerated.

Ying et al., "NAS-Bench-101: Towards Reproducible Neural Architecture Search", 2019. A cell is a directed
acyclic graph with at most 7 vertices and 9 edges, one of three operations at each interior vertex, and every
vertex on a path from the input to the output. The 423,624 cells that are unique up to isomorphism need no
download.
"""

from grade import _core
from grade.graphs import GraphSet
from grade.sources.source_registry import source

TYPES = (
    "output",
    "input",
    "conv1x1-bn-relu",
    "conv3x3-bn-relu",
    "maxpool3x3",
)  # as the native enumeration numbers them


@source("nas-bench-101", "All 423,624 unique cells of NAS-Bench-101.", cache_version=1)
def nas_bench_101() -> GraphSet:
    """The 423,624 cells with 2,898,195 nodes and 3,697,667 edges, by number of vertices."""
    node_counts, node_types, edge_counts, edges = _core.nas_bench_101_cells()
    return GraphSet.from_edges(
        node_counts=node_counts,
        node_types=node_types,
        edge_counts=edge_counts,
        edges=edges,
        node_vocabulary=TYPES,
        graph_names=[f"cell-{i}" for i in range(len(node_counts))],
        origin="nas-bench-101",
    )

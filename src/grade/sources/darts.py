"""DARTS, in the style of NAS-Bench-301: architectures drawn uniformly from the DARTS search space.

Liu et al., "DARTS: Differentiable Architecture Search", 2019; Zela et al., "Surrogate NAS Benchmarks", 2022.
An architecture is a normal and a reduction cell. A cell reads two inputs and has four intermediate nodes;
each applies one of seven operations to each of two different predecessors (the inputs and earlier
intermediate nodes) and adds the results; the output concatenates the four.

As in NAS-Bench-201 the operations are the graph's nodes: 0 and 1 are the inputs, 2 + 2i and 3 + 2i are the
operations of intermediate node i, 10 is the output. An operation that reads an intermediate node has arcs
from both of its operations.

The draw of the paper is unknown: figures on this set compare with the paper's in kind, not in number.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.sources.source_registry import source

OPERATIONS = (
    "max_pool_3x3",
    "avg_pool_3x3",
    "skip_connect",
    "sep_conv_3x3",
    "sep_conv_5x5",
    "dil_conv_3x3",
    "dil_conv_5x5",
)
TYPES = ("output", "input", "input_1", *OPERATIONS)
NODES = 11
INTERMEDIATE = 4
# The pairs of predecessors from which intermediate node i reads; 0 and 1 are the inputs, 2 + j is
# intermediate node j.
PREDECESSORS = [list(itertools.combinations(range(2 + i), 2)) for i in range(INTERMEDIATE)]


@source(
    "darts", "Cells of 10,000 architectures drawn from the DARTS space.", argument="SEED", cache_version=1
)
def darts(seed: int | str = 0, architectures: int = 10_000) -> GraphSet:
    """Both cells of distinct architectures drawn uniformly with this seed: two graphs of 11 nodes for each.

    >>> darts(seed=1, architectures=3)
    GraphSet('darts:1': 6 graphs, 66 nodes, 112 edges)
    """
    try:
        seed = int(seed)
        if seed < 0:
            raise ValueError
    except ValueError:
        raise InputError(
            f"The seed of darts is {seed!r}; give a whole number from 0, such as darts:7."
        ) from None
    if architectures < 0:
        raise InputError(f"The number of architectures is {architectures}; give 0 or more.")
    cells = draw(seed, architectures).reshape(-1, INTERMEDIATE, 3)
    edges = [cell_arcs(pairs) for pairs in cells[:, :, 0].tolist()]
    node_types = np.empty((len(cells), NODES), np.int64)
    node_types[:, 0] = TYPES.index("input")
    node_types[:, 1] = TYPES.index("input_1")
    node_types[:, 2:10] = cells[:, :, 1:].reshape(-1, 8) + TYPES.index(OPERATIONS[0])
    node_types[:, 10] = TYPES.index("output")
    return GraphSet.from_edges(
        node_counts=np.full(len(cells), NODES),
        node_types=node_types.ravel(),
        edge_counts=[len(arcs) for arcs in edges],
        edges=[arc for arcs in edges for arc in arcs],
        node_vocabulary=TYPES,
        graph_names=[
            f"architecture-{i}/{cell}" for i in range(architectures) for cell in ("normal", "reduction")
        ],
        origin="darts" if seed == 0 else f"darts:{seed}",
    )


def draw(seed: int, architectures: int) -> NDArray[np.int64]:
    """[architectures, 2 cells, 4 intermediate nodes, 3]: pair of predecessors, first and second operation.

    An architecture that was drawn before is drawn again, so that all are distinct.
    """
    generator = np.random.default_rng(seed)
    highs = np.array([[len(pairs), len(OPERATIONS), len(OPERATIONS)] for pairs in PREDECESSORS])  # [4, 3]
    drawn = np.zeros((0, 2, INTERMEDIATE, 3), np.int64)
    while len(drawn) < architectures:
        more = generator.integers(0, highs, (architectures - len(drawn), 2, INTERMEDIATE, 3))
        drawn = np.concatenate([drawn, more])
        _, first = np.unique(drawn.reshape(len(drawn), -1), axis=0, return_index=True)
        drawn = drawn[np.sort(first)]
    return drawn


def cell_arcs(pairs: list[int]) -> list[tuple[int, int]]:
    """Arcs of a cell from the numbers of its four pairs of predecessors.

    >>> cell_arcs([0, 0, 0, 0])[:4]  # all four read the two inputs
    [(0, 2), (2, 10), (1, 3), (3, 10)]
    """
    arcs = []
    for i, number in enumerate(pairs):
        for operation, read in enumerate(PREDECESSORS[i][number], start=2 + 2 * i):
            # Predecessor 2 + j is intermediate node j with the operations at graph nodes 2 + 2j and 3 + 2j.
            sources = (read,) if read < 2 else (2 * read - 2, 2 * read - 1)
            arcs += [(node, operation) for node in sources]
            arcs.append((operation, NODES - 1))
    return arcs

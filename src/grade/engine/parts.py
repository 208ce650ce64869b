"""Blocks of a graph set: ranges of graphs, each a set of its own to those who work on it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.graphs import GraphSet
from grade.progress import Stopped

FEWEST_NODES, MOST_NODES = 512, 2**18  # of a block, unless a graph is larger
BLOCKS = 32  # of a set in between


KeepGoing = Callable[..., bool | None]


@dataclass(frozen=True)
class Crew:
    """The threads for a block, and the callback of the native core."""

    threads: int = 1
    keep_going: KeepGoing | None = None

    def report(self, share: float) -> None:
        """Report the share of the block that is done; raises `Stopped` to end the work."""
        if self.keep_going is not None and self.keep_going(share) is False:
            raise Stopped


@dataclass(frozen=True, eq=False)
class Part:
    """A block of graphs. Ids of its nodes begin at 0; in the whole set they are larger by ``first_node``."""

    graphs: GraphSet
    first_node: int = 0
    known: dict[Any, Any] = field(default_factory=dict)  # objects that were made for it once: matchers

    def matcher(self, fusible: bool, populations: NDArray[np.uint64] | None) -> _core.Matcher:
        """A matcher that plans by the populations of the whole set."""
        if fusible not in self.known:
            index = self.graphs.fusible_index if fusible else None
            self.known[fusible] = _core.Matcher(self.graphs.core, index, populations)
        found: _core.Matcher = self.known[fusible]
        return found

    def local(self, rows: NDArray[Any]) -> NDArray[np.uint32]:
        """Node ids of the whole set as those of this block."""
        return (rows - np.uint32(self.first_node)).astype(np.uint32, copy=False)

    def of_the_whole(self, rows: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Node ids of this block as those of the whole set."""
        return rows if self.first_node == 0 else rows + np.uint32(self.first_node)


def bounds_of(graphs: GraphSet) -> list[tuple[int, int]]:
    """[blocks] first graph of each block, and the first beyond it: the same for the same set, whoever asks.

    >>> graphs = GraphSet.from_edges(node_counts=[400, 300, 0, 500], node_types=[0] * 1200, edge_counts=[0] * 4,
    ...                              edges=[], node_vocabulary=["conv"])
    >>> bounds_of(graphs)
    [(0, 2), (2, 4)]
    """
    size = min(max(graphs.nodes // BLOCKS, FEWEST_NODES), MOST_NODES)
    ends = np.searchsorted(graphs.node_offsets, np.arange(size, graphs.nodes, size))
    cuts = np.unique(np.concatenate([[0], ends, [len(graphs)]])).tolist()
    return list(pairwise(cuts))

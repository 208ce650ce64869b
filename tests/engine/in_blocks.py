"""An engine that works in this process, block by block: what a cluster does, without one."""

from collections.abc import Sequence
from typing import Any

from grade.engine import Crew, Part
from grade.engine.matching import SpreadMatcher
from grade.graphs import GraphSet


class Blocks:
    """Cuts every set into so many blocks, whatever their size."""

    name = "blocks"

    def __init__(self, blocks: int = 5) -> None:
        self.blocks = blocks

    def over(self, graphs: GraphSet, threads: int | None = None) -> "BlocksSpread":
        return BlocksSpread(graphs, self.blocks)


class BlocksSpread:
    threads = 1

    def __init__(self, graphs: GraphSet, blocks: int) -> None:
        self.graphs = graphs
        step = -(-len(graphs) // blocks)
        self.bounds = [(at, min(at + step, len(graphs))) for at in range(0, len(graphs), step)]
        self.parts = [Part(graphs.slice(*bound), int(graphs.node_offsets[bound[0]])) for bound in self.bounds]

    def begin(self, work: Any, *shared: Any, own: Any = None, keep_going: Any = None) -> list[Any]:
        return [
            work(part, Crew(1, keep_going), *shared, *(own[i] if own else ()))
            for i, part in enumerate(self.parts)
        ]

    def get(self, handles: Sequence[Any]) -> list[Any]:
        return list(handles)

    def merged(self, handles: Sequence[Any], merge: Any, keep_going: Any = None) -> Any:
        """In pairs; and what is alone is merged, too."""
        level = list(handles)
        while len(level) > 1:
            level = [merge(level[i : i + 2]) for i in range(0, len(level), 2)]
        return merge(level)

    def matcher(self, fusible: bool = False) -> SpreadMatcher:
        return SpreadMatcher(self, fusible)

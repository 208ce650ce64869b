"""The interface of engines, and the engine of this machine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from grade import _core
from grade.engine.matching import SpreadMatcher
from grade.engine.parts import Crew, KeepGoing, Part
from grade.graphs import GraphSet
from grade.machine import thread_count

Matcher = _core.Matcher | SpreadMatcher  # of the whole set at once, or one that asks its blocks
Work = Callable[..., Any]  # (part, crew, *shared, *own of this block) -> its result; a function of a module
Merge = Callable[[Sequence[Any]], Any]  # results in the order of the blocks -> one; associative


class Spread(Protocol):
    """A graph set on an engine, in blocks."""

    @property
    def graphs(self) -> GraphSet: ...

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """[blocks] the range of graphs of each."""
        ...

    @property
    def threads(self) -> int:
        """How many work at a time, for reports."""
        ...

    def begin(
        self,
        work: Work,
        *shared: Any,
        own: Sequence[tuple[Any, ...]] | None = None,
        keep_going: KeepGoing | None = None,
    ) -> list[Any]:
        """Do the work on every block; returns handles of the results, which stay where they are made.

        ``shared`` goes to all blocks, ``own[i]`` to the i-th; handles among these are replaced by their values.
        """
        ...

    def get(self, handles: Sequence[Any]) -> list[Any]:
        """The values of the handles."""
        ...

    def merged(self, handles: Sequence[Any], merge: Merge, keep_going: KeepGoing | None = None) -> Any:
        """All results as one, joined as a tree."""
        ...

    def matcher(self, fusible: bool = False) -> Matcher:
        """Looks for patterns in the whole set."""
        ...


class Engine(Protocol):
    """Where work runs."""

    @property
    def name(self) -> str: ...

    def over(self, graphs: GraphSet, threads: int | None = None) -> Spread:
        """Prepare to work on a graph set; ``threads`` is for this machine."""
        ...


@dataclass(frozen=True, eq=False)
class LocalSpread:
    """The whole set as one block, for all threads of this machine."""

    part: Part
    threads: int

    @property
    def graphs(self) -> GraphSet:
        return self.part.graphs

    @property
    def bounds(self) -> list[tuple[int, int]]:
        return [(0, len(self.graphs))]

    def begin(
        self,
        work: Work,
        *shared: Any,
        own: Sequence[tuple[Any, ...]] | None = None,
        keep_going: KeepGoing | None = None,
    ) -> list[Any]:
        crew = Crew(self.threads, keep_going)
        return [work(self.part, crew, *shared, *(own[0] if own else ()))]

    def get(self, handles: Sequence[Any]) -> list[Any]:
        return list(handles)

    def merged(self, handles: Sequence[Any], merge: Merge, keep_going: KeepGoing | None = None) -> Any:
        return handles[0]

    def matcher(self, fusible: bool = False) -> _core.Matcher:
        return self.part.matcher(fusible, None)


class LocalEngine:
    """This machine."""

    name = "local"

    def over(self, graphs: GraphSet, threads: int | None = None) -> LocalSpread:
        return LocalSpread(Part(graphs), thread_count(threads))


LOCAL = LocalEngine()

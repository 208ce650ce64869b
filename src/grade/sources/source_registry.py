"""Sources, and their registry by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from grade.graphs import GraphSet
from grade.registry import Registry
from grade.sources.readers import Item

Builder = Callable[..., GraphSet | list[Item]]
AnyBuilder = TypeVar("AnyBuilder", bound=Builder)


@dataclass(frozen=True)
class Source:
    """A named origin of graph sets.

    A spec is ``NAME`` or ``NAME:ARGUMENT``; the text after the colon is handed to ``build``, which returns a
    set, or a list of inputs that are read one by one.
    """

    name: str
    summary: str  # one line for `grade graphs build --help` and for messages
    build: Builder
    argument: str = ""  # the argument after the colon, e.g. PATH; empty if there is none
    needs_argument: bool = False
    runs_code: bool = False  # the argument names Python code to run
    cache_version: int | None = None  # raise it when the built set changes; None: not worth caching

    @property
    def spec(self) -> str:
        """How to write it on the command line.

        >>> Source("tables", "Tables.", GraphSet.from_edges, argument="PATH", needs_argument=True).spec
        'tables:PATH'
        """
        if not self.argument:
            return self.name
        return f"{self.name}:{self.argument}" if self.needs_argument else f"{self.name}[:{self.argument}]"


sources = Registry[Source]("graph source")


def source(
    name: str,
    summary: str,
    *,
    argument: str = "",
    needs_argument: bool = False,
    runs_code: bool = False,
    cache_version: int | None = None,
) -> Callable[[AnyBuilder], AnyBuilder]:
    """Register a builder under a name."""

    def add(build: AnyBuilder) -> AnyBuilder:
        sources.register(name)(
            Source(name, summary, build, argument, needs_argument, runs_code, cache_version)
        )
        return build

    return add

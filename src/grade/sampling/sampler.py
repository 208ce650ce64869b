"""The interface of samplers: the request, the draw, and their registry.

A new sampler is one new file: a function from a `Request` to a `Draw`, registered under its name, and one line
in this package's ``__init__``.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.engine import LOCAL, Crew, Engine, Part, Spread
from grade.errors import InputError
from grade.graphs import GraphSet, PatternTable, SubgraphSample
from grade.progress import Progress
from grade.registry import Registry

WEIGHTINGS = ("occurrences", "graphs", "edges")


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request for connected induced k-subgraphs of a set. All values have been checked.

    ``stream`` numbers independent draws of one seed. ``weighting`` names the units of equal weight: ``occurrences``
    (the paper's choice), ``graphs`` (each gets the same number of draws, whatever its size), or ``edges`` (the
    paper's choice of the graph in ARS and NRS).
    """

    graphs: GraphSet
    k: int
    count: int
    seed: int
    threads: int
    engine: Engine = LOCAL  # most samplers work on this machine all the same
    stream: int = 0
    weighting: str = "occurrences"
    r: float | None = None
    probabilities: tuple[float, ...] | None = None
    whole_passes: bool = False  # Rand-ESU as published
    progress: Progress | None = None

    @property
    def spread(self) -> Spread:
        """The set on the engine."""
        return self.engine.over(self.graphs, self.threads)

    def refuse_probabilities(self, method: str) -> None:
        """For samplers without an enumeration tree."""
        if self.r is not None or self.probabilities is not None:
            raise InputError(
                f"{method} has no probabilities by depth, so it takes neither r nor probabilities; leave them"
                " out, or use rand-esu or rand-fase."
            )


@dataclass(frozen=True, kw_only=True)
class Draw:
    """The result of a sampler: occurrences in random order, so that every prefix is a fair sample as well. ``facts``
    describe the draw (acceptance rate, probabilities, ...). A sampler that knows the patterns gives them.
    """

    occurrences: NDArray[np.uint32]  # [n, k] ascending global node ids
    weights: NDArray[np.float64]  # [n]
    facts: dict[str, Any] = field(default_factory=dict)
    pattern_ids: NDArray[np.int32] | None = None  # [n] rows of `patterns`
    patterns: PatternTable | None = None
    errors: NDArray[np.float64] | None = None  # [patterns] as in `SubgraphSample`

    def classified(self, spread: Spread) -> SubgraphSample:
        """The draw with the patterns of its occurrences."""
        ids, patterns = self.pattern_ids, self.patterns
        if ids is None or patterns is None:
            ids, patterns = classify(spread, self.occurrences)
        return SubgraphSample(
            self.occurrences, self.weights, ids, patterns, dict(self.facts), errors=self.errors
        )


def classify(spread: Spread, occurrences: NDArray[np.uint32]) -> tuple[NDArray[np.int32], PatternTable]:
    """([n] pattern of each occurrence [n, k], in any order; the patterns, sorted)."""
    graphs = spread.graphs

    def table(types: Any, edges: Any, automorphisms: Any) -> PatternTable:
        return PatternTable(types, edges, automorphisms, graphs.node_vocabulary, graphs.edge_vocabulary)

    if len(spread.bounds) == 1:
        ids, *known = spread.get(spread.begin(classify_block, own=[(occurrences,)]))[0]
        return ids, table(*known)
    ends = graphs.node_offsets[[last for _, last in spread.bounds]]
    block = np.searchsorted(ends, occurrences[:, 0], side="right")
    rows = [np.flatnonzero(block == i) for i in range(len(ends))]
    found = spread.get(spread.begin(classify_block, own=[(occurrences[some],) for some in rows]))
    tables = [table(*known) for _, *known in found]
    patterns = PatternTable.concatenate(tables).unique()
    ids = np.zeros(len(occurrences), np.int32)
    for some, of_block, (of_rows, *_) in zip(rows, tables, found, strict=True):
        ids[some] = patterns.find(of_block)[of_rows]
    return ids, patterns


def classify_block(part: Part, crew: Crew, occurrences: NDArray[np.uint32]) -> tuple[NDArray[Any], ...]:
    return _core.classify(part.graphs.core, part.local(occurrences), crew.threads)


class Sampler(Protocol):
    """Draws connected induced subgraphs; the same for the same request, whatever the number of threads."""

    def __call__(self, request: Request) -> Draw: ...


samplers: Registry[Sampler] = Registry("sampler")

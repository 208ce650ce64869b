"""A library of patterns matched against a graph set: the coverage of each and of all, and the motifs among the rest.

The shipped library holds operator fusions that onnxruntime, TVM and XNNPACK document (`grade/data/fusions.txt`). The
nodes that no pattern of the library covers are mined for distinct motifs.
"""

import difflib
import heapq
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import frames
from grade.callable_module import CallableModule
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.pattern_text import USUAL_EDGE
from grade.graphs.queries import Query
from grade.machine import thread_count
from grade.mine import mine
from grade.progress import Progress
from grade.report import notebook
from grade.sources import as_graphs
from grade.support import Support, amount
from grade.text import table
from grade.verify import Given, QueryVerifier, read_patterns

SHIPPED = {"fusions": "fusions.txt"}  # name of a library that comes with GraDE -> its file
SIZES = "3-6"  # of the motifs among the nodes that remain
LIKE = 0.85  # similarity of a type that may have been meant
NAMED = 8  # patterns without an occurrence that are named on a terminal


@dataclass(frozen=True)
class Entry:
    """A pattern of the library in the set."""

    name: str
    pattern: str
    support: Support
    adds: int  # nodes that no entry before it covers


@dataclass(frozen=True)
class Remaining:
    """A motif among the nodes that the library does not cover."""

    pattern: str
    occurrences: int  # that share no node with each other, or with those of motifs before it
    covers: int  # their nodes


@dataclass(frozen=True, eq=False)
class Matched:
    """The coverage of a set by a library."""

    library: str
    set: str
    nodes: int
    covered: int
    entries: list[Entry]  # those that occur: always the one that adds most to those before it
    absent: list[str]  # names of those that do not
    remaining: list[Remaining]
    seconds: float
    notes: list[str] = field(
        default_factory=list
    )  # types of the library that the set lacks, perhaps mistyped

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        """The patterns that occur as a table for a notebook."""
        nodes = max(self.nodes, 1)
        title = f"{self.library} covers {100 * self.covered / nodes:.1f} % of {self.set}"
        rows = [
            (
                entry.pattern,
                [
                    entry.name,
                    f"{100 * entry.adds / nodes:.1f}",
                    f"{100 * (entry.support.coverage or 0) / nodes:.1f}",
                    entry.support.shown("occurrences"),
                ],
            )
            for entry in self.entries
        ]
        return notebook.table(title, ["name", "adds %", "covers %", "occurrences"], rows)

    def columns(self) -> dict[str, list[Any]]:
        """The patterns that occur, column by column."""
        rows = [
            {"name": e.name, "pattern": e.pattern, "adds": e.adds, **e.support.numbers()}
            for e in self.entries
        ]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}

    def to_pandas(self) -> Any:
        """The patterns that occur as a pandas.DataFrame."""
        return frames.to_pandas(self.columns())

    def data(self) -> dict[str, Any]:
        """The result for JSON."""
        columns = self.columns()
        return {
            "library": self.library,
            "set": self.set,
            "nodes": self.nodes,
            "covered": self.covered,
            "share": self.covered / max(self.nodes, 1),
            "patterns": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            "absent": self.absent,
            "remaining": [asdict(motif) for motif in self.remaining],
            "notes": self.notes,
            "seconds": self.seconds,
        }

    def lines(self) -> Iterator[str]:
        """The same for a terminal."""
        nodes = max(self.nodes, 1)
        yield (
            f"{self.set}: {len(self.entries)} of {len(self.entries) + len(self.absent)} patterns of {self.library}"
            f" occur and cover {100 * self.covered / nodes:.1f} % of {self.nodes:,} nodes, {self.seconds:.1f} s"
        )
        if self.entries:
            rows = [
                (
                    f"{100 * e.adds / nodes:.1f}",
                    f"{100 * e.support.value('coverage') / nodes:.1f}",
                    amount(e.support.occurrences, e.support.occurrences_quality),
                    amount(e.support.graphs, e.support.graphs_quality),
                    e.name,
                    e.pattern,
                )
                for e in self.entries
            ]
            yield from table(
                ("adds %", "covers %", "occurrences", "graphs", "name", "pattern"), rows, left=["name"]
            )
            if all(e.support.complete for e in self.entries):
                yield "adds %: nodes in its occurrences that no pattern above covers; all numbers are exact"
            else:
                yield "adds %: nodes in its occurrences that no pattern above covers; >= at least this many"
        if 0 < len(self.absent) <= NAMED:
            yield f"without an occurrence: {', '.join(self.absent)}"
        elif self.absent:
            yield f"without an occurrence: {', '.join(self.absent[:NAMED])} and {len(self.absent) - NAMED} more"
        yield from self.notes
        if self.remaining:
            yield "outside the library, the best that a search found:"
            rest = [
                (f"{100 * m.covers / nodes:.1f}", f"{m.occurrences:,}", m.pattern) for m in self.remaining
            ]
            yield from table(("adds %", "occurrences", "pattern"), rest)


def match(
    library: str | Path,
    graphs: Any,
    *,
    fusible: bool = False,
    induced: bool = True,
    remaining: int = 10,
    seconds_per_pattern: float = 60.0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Matched:
    """Match a library of named patterns against a set.

    Parameters
    ----------
    library
        "fusions", a file with a pattern on each line, after its name and a colon, or a pattern itself
    graphs
        a graph set, a file, folder or name, a model, or a list of these
    fusible
        only occurrences that a compiler can fuse
    induced
        if False, the nodes of an occurrence may have other edges between them than those of the pattern
    remaining
        number of motifs to find among the nodes that no pattern covers; 0 for none
    seconds_per_pattern
        time limit for each pattern; then its numbers are lower bounds

    Examples
    --------
    >>> found = match("Conv -> BatchNormalization -> Relu", "zoo-mini", remaining=2)
    >>> found.covered, [motif.pattern for motif in found.remaining]
    (603, ['Shape -> Gather -> Unsqueeze', 'Sigmoid -> Mul -> Conv -> BatchNormalization'])
    """
    if remaining < 0:
        raise InputError(f"`remaining` is {remaining}; give 0 or more.")
    begin = time.perf_counter()
    searched, workers = as_graphs(graphs), thread_count(threads)
    given = read_library(library, searched, induced)
    verifier = QueryVerifier(searched, workers, fusible)
    covered = np.zeros(searched.nodes, bool)
    absent, notes = [], []
    foreign = True  # whether each pattern names a type that the set lacks
    occurring: list[
        tuple[str, str, Support, NDArray[np.uint8]]
    ] = []  # name, pattern, supports, covered nodes as bits
    for number, one in enumerate(given):
        if progress is not None and progress(number / len(given), "match") is False:
            break
        query = one.pattern if isinstance(one.pattern, Query) else Query(str(one.pattern), induced)
        support, mask = verifier.answer(query, seconds_per_pattern)
        name = one.name or str(query)
        foreign &= bool(query.unknown(searched.node_vocabulary, searched.edge_vocabulary))
        if support.occurrences == 0:
            absent.append(name)
            notes += [] if str(library) in SHIPPED else mistyped(query, searched)
            continue
        occurring.append((name, str(query), support, np.packbits(mask)))
        covered |= mask
    if foreign and len(given) > len(notes):
        notes.append(foreign_types(searched))
    return Matched(
        library=str(library),
        set=str(graphs) if isinstance(graphs, str | Path) else searched.origin,
        nodes=searched.nodes,
        covered=int(covered.sum()),
        entries=in_order(occurring),
        absent=absent,
        remaining=outside(searched, covered, remaining, fusible, workers, progress),
        seconds=time.perf_counter() - begin,
        notes=list(dict.fromkeys(notes)),
    )


def in_order(occurring: Sequence[tuple[str, str, Support, NDArray[np.uint8]]]) -> list[Entry]:
    """Always the pattern that covers most nodes which those before it do not; in the library's order if they tie."""
    entries: list[Entry] = []
    if not occurring:
        return entries
    covered = np.zeros_like(occurring[0][3])
    heap = [(-int(np.unpackbits(bits).sum()), number) for number, (*_, bits) in enumerate(occurring)]
    heapq.heapify(heap)
    while heap:  # lazily: what a pattern adds only shrinks
        known, number = heapq.heappop(heap)
        name, pattern, support, bits = occurring[number]
        adds = int(np.unpackbits(bits & ~covered).sum())
        if adds < -known:
            heapq.heappush(heap, (-adds, number))
            continue
        entries.append(Entry(name, pattern, support, adds))
        covered |= bits
    return entries


def foreign_types(graphs: GraphSet) -> str:
    """A sentence on a library whose patterns all name types that the set lacks."""
    some = ", ".join(graphs.node_vocabulary[:3]) + ", ..." * (len(graphs.node_vocabulary) > 3)
    aten = any(name.startswith("aten.") for name in graphs.node_vocabulary)
    hint = " Build it with `names` onnx, and operators of PyTorch have the names of ONNX." * aten
    return f"Every pattern of the library names a type that the set lacks; it has {some}.{hint}"


def mistyped(query: Query, graphs: GraphSet) -> list[str]:
    """A sentence for each type of a pattern that the set lacks, but nearly has."""
    words = [*graphs.node_vocabulary, *graphs.edge_vocabulary[1:]]
    return [
        f"The set has no type {name!r}; did you mean {near[0]!r}?"
        for name in query.unknown(graphs.node_vocabulary, graphs.edge_vocabulary)
        if (near := difflib.get_close_matches(name, words, n=1, cutoff=LIKE))
    ]


def read_library(library: str | Path, graphs: GraphSet, induced: bool = True) -> list[Given]:
    """The patterns of a library; those that need not be induced as queries."""
    place = str(library)
    if place in SHIPPED and not Path(place).exists():
        place = str(files("grade") / "data" / SHIPPED[place])
    return read_patterns(place, graphs.node_vocabulary, graphs.edge_vocabulary, induced=induced)


def outside(
    graphs: GraphSet,
    covered: NDArray[np.bool_],
    count: int,
    fusible: bool,
    threads: int,
    progress: Progress | None = None,
) -> list[Remaining]:
    """The distinct motifs among the nodes that are not covered."""
    rest = without(graphs, covered)
    smallest = int(SIZES.split("-", maxsplit=1)[0])
    if count == 0 or rest.largest < smallest or rest.edges == 0:
        return []
    try:
        found = mine(rest, k=SIZES, top=count, fusible=fusible, threads=threads, beam=500, progress=progress)
    except InputError:  # no connected part is large enough
        return []
    return [
        Remaining(motif.text, motif.choice.new_occurrences, int(motif.choice.gain))
        for motif in found.shown
        if motif.choice is not None
    ]


def without(graphs: GraphSet, covered: NDArray[np.bool_]) -> GraphSet:
    """The graphs without the nodes that are covered, and without the edges of these.

    >>> graphs = GraphSet.from_edges(node_counts=[3], node_types=[0, 1, 2], edge_counts=[2],
    ...                              edges=[[0, 1], [1, 2]], node_vocabulary=["a", "b", "c"])
    >>> left = without(graphs, np.array([True, False, False]))
    >>> left.node_types.tolist(), left.edge_list(0).tolist()
    ([1, 2], [[0, 1]])
    """
    kept = np.flatnonzero(~covered)
    number = np.cumsum(~covered) - 1
    sources = np.repeat(np.arange(graphs.nodes), np.diff(graphs.out_offsets))
    targets = np.asarray(graphs.out_targets, np.int64)
    inside = ~covered[sources] & ~covered[targets]
    owner = graphs.graphs_of(kept)
    counts = np.bincount(owner, minlength=len(graphs))
    starts = np.concatenate([[0], np.cumsum(counts)])
    edge_owner = graphs.graphs_of(sources[inside])
    edges = np.stack([number[sources[inside]], number[targets[inside]]], axis=1) - starts[edge_owner][:, None]
    return GraphSet.from_edges(
        node_counts=counts,
        node_types=graphs.node_types[kept],
        edge_counts=np.bincount(edge_owner, minlength=len(graphs)),
        edges=edges,
        edge_types=graphs.out_types[inside],
        node_vocabulary=graphs.node_vocabulary,
        edge_vocabulary=graphs.edge_vocabulary or ("none", USUAL_EDGE),
        graph_names=list(graphs.graph_names),
        outputs=outputs_without(graphs, covered, kept, sources, targets),
        origin=f"{graphs.origin} without the covered nodes",
    )


def outputs_without(
    graphs: GraphSet,
    covered: NDArray[np.bool_],
    kept: NDArray[np.int64],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """[kept] whether a node's result is used elsewhere: it is a graph output, or a covered node reads it."""
    wanted = np.array(graphs.outputs, bool)
    wanted[sources[covered[targets]]] = True
    return wanted[kept]


CallableModule.make(sys.modules[__name__], match)

"""A matcher of a whole set that asks its blocks: the same questions and answers as `grade._core.Matcher`.

No occurrence lies in two graphs, so that all supports of the whole are sums over blocks. Plans go by the populations of
the whole set; therefore a block takes occurrences in the order in which the whole would. Where the steps that are
allowed do not suffice, blocks are cut off where the whole would be, to within a few steps: a block that lacks a type
knows at once that a pattern is not there.
"""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.engine.parts import Crew, KeepGoing, Part

if TYPE_CHECKING:
    from grade.engine.base import Spread

Types = NDArray[np.uint16]
Edges = NDArray[np.uint8]
Flags = NDArray[np.uint8]
Sums = tuple[NDArray[np.int64], NDArray[np.bool_]]
ALL = 2**62
CUT_OFF = 2**64 - 1  # steps that did not suffice
ON_ONE_THREAD = ("nodes_of", "list")


class SpreadMatcher:
    """Patterns are looked for on all blocks at a time. The ``threads`` of a question are those of the cluster."""

    def __init__(self, spread: "Spread", fusible: bool) -> None:
        self.spread, self.fusible = spread, fusible
        self.populations = spread.merged(spread.begin(count_classes), add_classes)
        self.graphs = [slice(*bound) for bound in spread.bounds]
        offsets = spread.graphs.node_offsets
        self.nodes = [slice(int(offsets[part.start]), int(offsets[part.stop])) for part in self.graphs]

    def ask(
        self,
        question: str,
        progress: KeepGoing | None,
        own: Sequence[dict[str, Any]] | None = None,
        **arguments: Any,
    ) -> list[Any]:
        """The answers of all blocks, in their order."""
        handles = self.spread.begin(
            answer,
            self.fusible,
            self.populations,
            question,
            arguments,
            own=None if own is None else [(each,) for each in own],
            keep_going=progress,
        )
        return self.spread.get(handles)

    def ask_within(
        self, question: str, steps: int, progress: KeepGoing | None, **arguments: Any
    ) -> tuple[list[Any], int]:
        """(the answers of all blocks, their steps), cut off where the whole set would be: each block may take as many
        as those before it have left.
        """
        answers = self.ask(question, progress, **arguments, steps=steps)
        left = steps
        for number, (*_, taken) in enumerate(answers):
            if taken > left:
                shares = [0] * number + [left] + [0] * (len(answers) - number - 1)
                own = [{"steps": share} for share in shares]
                again = self.ask(question, progress, own, **arguments)
                return [*answers[:number], *again[number:]], CUT_OFF
            left -= taken
        return answers, steps - left

    def flags(self, name: str, of_nodes: Flags) -> list[dict[str, Flags]]:
        """Flags of nodes, for each block its own; none for none."""
        return [{name: of_nodes[nodes] if len(of_nodes) else of_nodes} for nodes in self.nodes]

    def in_whole(self, graphs: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
        """Graphs of each block in the numbers of the set."""
        return np.concatenate(
            [found + np.uint32(part.start) for found, part in zip(graphs, self.graphs, strict=True)]
        )

    def nodes_in_whole(self, nodes: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
        return np.concatenate(
            [found + np.uint32(part.start) for found, part in zip(nodes, self.nodes, strict=True)]
        )

    def find_graphs(
        self,
        types: Types,
        edges: Edges,
        offsets: NDArray[np.int64],
        graphs: NDArray[np.uint32],
        least: int,
        enough: int,
        threads: int,
        steps: int,
        progress: KeepGoing | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.bool_]]:
        own = [within(offsets, graphs, part.start, part.stop) for part in self.graphs]
        asked: dict[str, Any] = {
            "node_types": types,
            "edges": edges,
            "least": 0,
            "enough": enough,
            "steps": steps,
        }
        answers = self.ask("find_graphs", progress, own, **asked)
        counts = np.stack([np.diff(ends) for ends, _, _ in answers])  # [blocks, patterns]
        owner = np.concatenate([np.repeat(np.arange(len(types)), count) for count in counts])
        found = self.in_whole([found for _, found, _ in answers])[np.argsort(owner, kind="stable")]
        ends = np.concatenate([[0], np.cumsum(counts.sum(axis=0))]).astype(np.int64)
        return ends, found, np.all([whole for _, _, whole in answers], axis=0)

    def pack_all(
        self, types: Types, edges: Edges, threads: int, steps: int, progress: KeepGoing | None
    ) -> Sums:
        return added(self.ask("pack_all", progress, node_types=types, edges=edges, steps=steps))

    def pack_free(
        self,
        types: Types,
        edges: Edges,
        blocked: Flags,
        threads: int,
        steps: int,
        progress: KeepGoing | None,
    ) -> Sums:
        own = self.flags("blocked", blocked)
        return added(self.ask("pack_free", progress, own, node_types=types, edges=edges, steps=steps))

    def cover_beyond(
        self,
        types: Types,
        edges: Edges,
        covered: Flags,
        threads: int,
        steps: int,
        progress: KeepGoing | None,
    ) -> Sums:
        own = self.flags("covered", covered)
        return added(self.ask("cover_beyond", progress, own, node_types=types, edges=edges, steps=steps))

    def nodes_of(
        self,
        types: Types,
        edges: Edges,
        blocked: Flags,
        disjoint: bool,
        steps: int,
        progress: KeepGoing | None,
    ) -> NDArray[np.uint32]:
        asked: dict[str, Any] = {"node_types": types, "edges": edges, "disjoint": disjoint, "steps": steps}
        return self.nodes_in_whole(self.ask("nodes_of", progress, self.flags("blocked", blocked), **asked))

    def find_images(
        self, types: Types, edges: Edges, least: int, threads: int, steps: int, progress: KeepGoing | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
        answers = self.ask("find_images", progress, node_types=types, edges=edges, least=0, steps=steps)
        covered, complete = added([(covered, whole) for _, covered, whole, _ in answers])
        each = np.stack([images for *_, images in answers])
        images = np.where((each >= 0).any(axis=0), np.maximum(each, 0).sum(axis=0), -1)  # [patterns, orbits]
        fewest = np.where(images >= 0, images, ALL).min(axis=1, initial=ALL)
        return np.where((fewest >= least) & (fewest < ALL), fewest, 0), covered, complete, images

    def count_all(
        self, types: Types, edges: Edges, threads: int, steps: int, progress: KeepGoing | None
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_], NDArray[np.uint64]]:
        answers = self.ask("count_all", progress, node_types=types, edges=edges, steps=steps)
        sums = [sum(column) for column in zip(*(counts.tolist() for counts, *_ in answers), strict=True)]
        taken = [sum(column) for column in zip(*(spent.tolist() for *_, spent in answers), strict=True)]
        complete = np.all([whole for _, whole, _ in answers], axis=0)
        complete &= np.array([total < 2**64 for total in sums], bool)
        for row, spent in enumerate(taken):
            if spent > steps:  # the blocks together take too much: as much as the whole would count
                found = self.count(types[row], edges[row], False, threads, steps, inf, progress)
                sums[row], complete[row], taken[row] = sum(found[1].tolist()), False, CUT_OFF
        fits = [min(total, 2**64 - 1) for total in sums]
        return np.array(fits, np.uint64), complete, np.array(taken, np.uint64)

    def count(
        self,
        types: Types,
        edges: Edges,
        coverage: bool,
        threads: int,
        steps: int,
        seconds: float,
        progress: KeepGoing | None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64], int, bool, int]:
        asked = {"node_types": types, "edges": edges, "coverage": coverage, "seconds": seconds}
        answers, taken = self.ask_within("count", steps, progress, **asked)
        owners = self.in_whole([owners for owners, *_ in answers])
        counts = np.concatenate([counts for _, counts, *_ in answers])
        covered = sum(found for _, _, found, *_ in answers) if coverage else -1
        return owners, counts, covered, all(whole for *_, whole, _ in answers), taken

    def pack(
        self,
        types: Types,
        edges: Edges,
        threads: int,
        steps: int,
        seconds: float,
        progress: KeepGoing | None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64], bool, int]:
        asked = {"node_types": types, "edges": edges, "seconds": seconds}
        answers, taken = self.ask_within("pack", steps, progress, **asked)
        owners = self.in_whole([owners for owners, *_ in answers])
        counts = np.concatenate([counts for _, counts, *_ in answers])
        return owners, counts, all(whole for *_, whole, _ in answers), taken

    def list(
        self,
        types: Types,
        edges: Edges,
        limit: int,
        steps: int,
        seconds: float,
        progress: KeepGoing | None,
    ) -> tuple[NDArray[np.uint32], bool, int]:
        asked = {"node_types": types, "edges": edges, "limit": limit, "seconds": seconds}
        answers, taken = self.ask_within("list", steps, progress, **asked)
        rows = self.nodes_in_whole([rows for rows, *_ in answers])
        return rows[:limit], all(whole for _, whole, _ in answers) and len(rows) <= limit, taken


def within(
    offsets: NDArray[np.int64], graphs: NDArray[np.uint32], first: int, last: int
) -> dict[str, NDArray[Any]]:
    """The part of lists of graphs that lies in a block, in the numbers of the block.

    >>> within(np.array([0, 2, 3]), np.array([1, 5, 4], np.uint32), 4, 6)["offsets"].tolist()
    [0, 1, 2]
    """
    if len(offsets) == 0:
        return {"offsets": offsets, "graphs": graphs}
    inside = (graphs >= first) & (graphs < last)
    ends = np.concatenate([[0], np.cumsum(inside)])[offsets].astype(np.int64)
    return {"offsets": ends, "graphs": (graphs[inside] - np.uint32(first)).astype(np.uint32)}


def added(answers: Sequence[Sums]) -> Sums:
    """Sums over blocks, and whether all blocks were done with."""
    return np.sum([numbers for numbers, _ in answers], axis=0), np.all(
        [whole for _, whole in answers], axis=0
    )


def count_classes(part: Part, crew: Crew) -> NDArray[np.uint64]:
    return _core.populations(part.graphs.core)


def add_classes(tables: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """[n, 3] the populations of all blocks as one table."""
    rows = np.concatenate(tables)
    kinds, which = np.unique(rows[:, :2], axis=0, return_inverse=True)
    sums = np.zeros(len(kinds), np.uint64)
    np.add.at(sums, which.ravel(), rows[:, 2])
    return np.ascontiguousarray(np.column_stack([kinds, sums]))


def answer(
    part: Part,
    crew: Crew,
    fusible: bool,
    populations: NDArray[np.uint64],
    question: str,
    arguments: dict[str, Any],
    own: dict[str, Any] | None = None,
) -> Any:
    """The answer of the matcher of one block."""
    threads = {} if question in ON_ONE_THREAD else {"threads": crew.threads}
    asked = getattr(part.matcher(fusible, populations), question)
    return asked(**arguments, **(own or {}), **threads, progress=crew.keep_going)

"""What a pattern must look like. Each rule says what it allows to grow further and what it accepts in the end.

A rule that holds for every connected subgraph of a pattern that satisfies it (no forbidden type, degrees, number of
edges, no cycle) prunes while candidates grow, most of them before an occurrence is even made. The others (contains a
type, one source, one sink, fewest edges, fusible) are enforced at the end; "contains" also prunes occurrences from
which the wanted type cannot be reached in the steps that are left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.graphs import GraphSet, PatternTable
from grade.graphs.strings import ranges

FAR = 255  # a distance beyond every search
UNLIMITED = 10_000

Verdict = NDArray[np.bool_]  # [patterns]


class Rule(Protocol):
    """One constraint on patterns."""

    def may_grow(self, patterns: PatternTable) -> Verdict:
        """Whether a pattern can be part of a larger one that satisfies the rule."""

    def accepts(self, patterns: PatternTable) -> Verdict:
        """Whether a pattern satisfies the rule."""


def everything(patterns: PatternTable) -> Verdict:
    return np.ones(len(patterns), bool)


def matching_types(globs: Sequence[str], vocabulary: Sequence[str]) -> NDArray[np.bool_]:
    """[types] whether a type's name matches one of the patterns, e.g. ``Conv*``."""
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in vocabulary):
            raise InputError(f"No node type of the set matches {glob!r}; 'grade graphs info' lists them.")
    return np.array([any(fnmatchcase(name, glob) for glob in globs) for name in vocabulary], bool)


def inner_edges(patterns: PatternTable) -> NDArray[np.bool_]:
    """[n, k, k] edges other than self-loops."""
    return (patterns.edges > 0) & ~np.eye(patterns.size, dtype=bool)


@dataclass(frozen=True)
class Contains:
    """At least one node of a type that matches."""

    glob: str

    def may_grow(self, patterns: PatternTable) -> Verdict:
        return everything(patterns)

    def accepts(self, patterns: PatternTable) -> Verdict:
        wanted = matching_types([self.glob], patterns.node_vocabulary)
        return np.asarray(np.any(wanted[patterns.node_types], axis=1))


@dataclass(frozen=True)
class TypesWithin:
    """Only nodes of the allowed types."""

    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def allowed(self, vocabulary: Sequence[str]) -> NDArray[np.bool_]:
        """[types] whether a type may occur."""
        allowed = matching_types(self.only, vocabulary) if self.only else np.ones(len(vocabulary), bool)
        if self.never:
            allowed &= ~matching_types(self.never, vocabulary)
        if not allowed.any():
            raise InputError(
                "The allowed and forbidden types leave no node type at all; relax --only or --never."
            )
        return allowed

    def may_grow(self, patterns: PatternTable) -> Verdict:
        return np.asarray(np.all(self.allowed(patterns.node_vocabulary)[patterns.node_types], axis=1))

    accepts = may_grow


@dataclass(frozen=True)
class MaxDegree:
    """Degrees inside the pattern, self-loops aside."""

    most_in: int = UNLIMITED
    most_out: int = UNLIMITED

    def may_grow(self, patterns: PatternTable) -> Verdict:
        edges = inner_edges(patterns)
        fits_in = np.all(edges.sum(axis=1) <= self.most_in, axis=1)
        fits_out = np.all(edges.sum(axis=2) <= self.most_out, axis=1)
        return np.asarray(fits_in & fits_out)

    accepts = may_grow


@dataclass(frozen=True)
class EdgeCount:
    """Number of edges of the pattern, self-loops aside."""

    fewest: int = 0
    most: int = UNLIMITED

    def may_grow(self, patterns: PatternTable) -> Verdict:
        return np.asarray(inner_edges(patterns).sum(axis=(1, 2)) <= self.most)

    def accepts(self, patterns: PatternTable) -> Verdict:
        count = inner_edges(patterns).sum(axis=(1, 2))
        return np.asarray((count >= self.fewest) & (count <= self.most))


@dataclass(frozen=True)
class Acyclic:
    """No directed cycle, and no self-loop."""

    def may_grow(self, patterns: PatternTable) -> Verdict:
        reach = patterns.edges > 0
        for via in range(patterns.size):
            reach = reach | (reach[:, :, via, None] & reach[:, None, via, :])
        return np.asarray(~np.any(np.diagonal(reach, axis1=1, axis2=2), axis=1))

    accepts = may_grow


@dataclass(frozen=True)
class SingleEnd:
    """Exactly one node without in-coming edges (a source), or without out-going ones (a sink)."""

    source: bool

    def may_grow(self, patterns: PatternTable) -> Verdict:
        return everything(patterns)

    def accepts(self, patterns: PatternTable) -> Verdict:
        degrees = inner_edges(patterns).sum(axis=1 if self.source else 2)
        return np.asarray((degrees == 0).sum(axis=1) == 1)


@dataclass(frozen=True)
class Constraints:
    """All constraints of a search.

    >>> case_study = Constraints.of(contains=["Conv*"], max_in_degree=2, max_out_degree=2)
    >>> case_study.describe()
    ['contains Conv*', 'in-degree at most 2', 'out-degree at most 2']
    """

    contains: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    max_in_degree: int | None = None
    max_out_degree: int | None = None
    min_edges: int | None = None
    max_edges: int | None = None
    acyclic: bool = False
    single_source: bool = False
    single_sink: bool = False
    fusible: bool = False
    min_graphs: int = 1
    rules: tuple[Rule, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(
        cls,
        *,
        contains: Sequence[str] = (),
        only: Sequence[str] = (),
        never: Sequence[str] = (),
        max_in_degree: int | None = None,
        max_out_degree: int | None = None,
        min_edges: int | None = None,
        max_edges: int | None = None,
        acyclic: bool = False,
        single_source: bool = False,
        single_sink: bool = False,
        fusible: bool = False,
        min_graphs: int = 1,
    ) -> "Constraints":
        """Check the wishes and turn each into its rule."""
        for name, value, least in (
            ("--max-in-degree", max_in_degree, 1),
            ("--max-out-degree", max_out_degree, 1),
            ("--max-edges", max_edges, 1),
            ("--min-edges", min_edges, 0),
            ("--min-graphs", min_graphs, 1),
        ):
            if value is not None and value < least:
                raise InputError(f"{name} must be at least {least}, not {value}.")
        if min_edges is not None and max_edges is not None and min_edges > max_edges:
            raise InputError(
                f"--min-edges {min_edges} is more than --max-edges {max_edges}: no pattern has both."
            )
        rules: list[Rule] = [Contains(glob) for glob in contains]
        if only or never:
            rules.append(TypesWithin(tuple(only), tuple(never)))
        if max_in_degree is not None or max_out_degree is not None:
            rules.append(MaxDegree(max_in_degree or UNLIMITED, max_out_degree or UNLIMITED))
        if min_edges is not None or max_edges is not None:
            rules.append(EdgeCount(min_edges or 0, max_edges or UNLIMITED))
        rules += [Acyclic()] * acyclic + [SingleEnd(True)] * single_source + [SingleEnd(False)] * single_sink
        return cls(
            tuple(contains),
            tuple(only),
            tuple(never),
            max_in_degree,
            max_out_degree,
            min_edges,
            max_edges,
            acyclic,
            single_source,
            single_sink,
            fusible,
            min_graphs,
            tuple(rules),
        )

    def check(self, graphs: GraphSet, k: int) -> None:
        """Refuse wishes that no pattern of k nodes over this set's types can fulfil."""
        for glob in self.contains:
            matching_types([glob], graphs.node_vocabulary)
        within = TypesWithin(self.only, self.never).allowed(graphs.node_vocabulary)
        for glob in self.contains:
            if not (within & matching_types([glob], graphs.node_vocabulary)).any():
                raise InputError(f"--contains {glob!r} asks for a type that --only or --never forbid.")
        if self.max_edges is not None and self.max_edges < k - 1:
            raise InputError(
                f"A connected pattern of {k} nodes has at least {k - 1} edges; raise --max-edges."
            )
        if self.min_edges is not None and self.min_edges > k * (k - 1):
            raise InputError(f"A pattern of {k} nodes has at most {k * (k - 1)} edges; lower --min-edges.")

    def may_grow(self, patterns: PatternTable) -> Verdict:
        """Patterns worth growing."""
        verdict = everything(patterns)
        for rule in self.rules:
            verdict &= rule.may_grow(patterns)
        return verdict

    def accepts(self, patterns: PatternTable) -> Verdict:
        """Patterns that satisfy every rule (fusibility and the number of graphs concern occurrences)."""
        verdict = everything(patterns)
        for rule in self.rules:
            verdict &= rule.accepts(patterns)
        return verdict

    def allowed_nodes(self, graphs: GraphSet) -> NDArray[np.uint8]:
        """[nodes] whether a node may be added; empty where every node may."""
        if not (self.only or self.never):
            return np.zeros(0, np.uint8)
        allowed = TypesWithin(self.only, self.never).allowed(graphs.node_vocabulary)
        return allowed[graphs.node_types].astype(np.uint8)

    def distances(self, graphs: GraphSet, steps: int) -> NDArray[np.uint8]:
        """[nodes] steps, directions aside, to the nearest node of the wanted type; empty without a wish.

        With several wishes it is that for the rarest type: a pattern needs them all, so it needs that one.
        """
        wishes = [matching_types([glob], graphs.node_vocabulary)[graphs.node_types] for glob in self.contains]
        if not wishes:
            return np.zeros(0, np.uint8)
        return distances_to(graphs, min(wishes, key=np.count_nonzero), steps)

    def describe(self) -> list[str]:
        """The constraints in words."""
        words = [f"contains {glob}" for glob in self.contains]
        words += [f"only {', '.join(self.only)}"] * bool(self.only)
        words += [f"never {', '.join(self.never)}"] * bool(self.never)
        for value, text in (
            (self.max_in_degree, "in-degree at most"),
            (self.max_out_degree, "out-degree at most"),
            (self.min_edges, "edges at least"),
            (self.max_edges, "edges at most"),
            (self.min_graphs if self.min_graphs > 1 else None, "graphs at least"),
        ):
            words += [f"{text} {value}"] * (value is not None)
        for wish, text in (
            (self.acyclic, "acyclic"),
            (self.single_source, "single source"),
            (self.single_sink, "single sink"),
            (self.fusible, "fusible"),
        ):
            words += [text] * wish
        return words


def distances_to(graphs: GraphSet, wanted: NDArray[np.bool_], steps: int) -> NDArray[np.uint8]:
    """[nodes] breadth-first distance to the nearest wanted node, FAR beyond so many steps."""
    distance = np.where(wanted, 0, FAR).astype(np.uint8)
    frontier = np.flatnonzero(wanted)
    for step in range(1, min(steps, FAR - 1) + 1):
        reached = []
        for offsets, ends in (
            (graphs.out_offsets, graphs.out_targets),
            (graphs.in_offsets, graphs.in_sources),
        ):
            degrees = offsets[frontier + 1] - offsets[frontier]
            reached.append(ends[ranges(np.asarray(offsets[frontier]), degrees)])
        frontier = np.unique(np.concatenate(reached)).astype(np.int64)
        frontier = frontier[distance[frontier] == FAR]
        distance[frontier] = step
    return distance

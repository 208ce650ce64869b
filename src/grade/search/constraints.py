"""Constraints on patterns. A constraint is one field, with its flag, help, limits, words and test.

A test that holds for every connected induced part of a pattern that passes it (no forbidden type, degrees, most edges,
no cycle) prunes while candidates grow, most of them before an occurrence is even made. The others (contains a type, one
source, one sink, fewest edges) are applied at the end; "contains" also prunes occurrences from which the wanted type
cannot be reached in the steps that are left. Fusibility and the number of graphs concern occurrences, not patterns:
they have no test here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.graphs import GraphSet, PatternTable
from grade.graphs.strings import ranges
from grade.settings.parameters import PARAMETER, Parameter, Settings

FAR = 255  # a distance beyond every search
PIECE = 1 << 18  # nodes that are looked at together
UNLIMITED = 10_000

Verdict = NDArray[np.bool_]  # [patterns]
Test = Callable[[PatternTable, Any], Verdict]  # of patterns, and the value that was asked for

RULE = "rule"  # the key of a field's metadata under which its Rule stands


@dataclass(frozen=True)
class Rule:
    """The words of one constraint, and its test of patterns."""

    words: str  # how a run describes it, with the value in braces
    test: Test | None = None
    prunes: bool = False  # whether it holds for every connected part of a pattern that passes it


def constraint(
    help: str,
    flag: str,
    words: str,
    test: Test | None = None,
    *,
    prunes: bool = False,
    default: Any = None,
    metavar: str | None = None,
    least: float | None = None,
) -> Any:
    """A field of `Constraints`; its default asks for nothing."""
    return field(
        default=default,
        metadata={
            PARAMETER: Parameter(help, (flag,), metavar, least),
            RULE: Rule(words, test, prunes),
        },
    )


def matching_types(globs: Sequence[str], vocabulary: Sequence[str]) -> NDArray[np.bool_]:
    """[types] whether a type's name matches one of the patterns, e.g. ``Conv*``."""
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in vocabulary):
            raise InputError(f"No node type of the set matches {glob!r}; 'grade graphs info' lists them.")
    return np.array([any(fnmatchcase(name, glob) for glob in globs) for name in vocabulary], bool)


def inner_edges(patterns: PatternTable) -> NDArray[np.bool_]:
    """[n, k, k] edges other than self-loops."""
    return (patterns.edges > 0) & ~np.eye(patterns.size, dtype=bool)


def has_types(patterns: PatternTable, globs: Sequence[str]) -> Verdict:
    matches = [matching_types([glob], patterns.node_vocabulary)[patterns.node_types] for glob in globs]
    return np.asarray(np.all([np.any(match, axis=1) for match in matches], axis=0))


def has_only_types(patterns: PatternTable, globs: Sequence[str]) -> Verdict:
    return np.asarray(np.all(matching_types(globs, patterns.node_vocabulary)[patterns.node_types], axis=1))


def has_no_types(patterns: PatternTable, globs: Sequence[str]) -> Verdict:
    return np.asarray(~np.any(matching_types(globs, patterns.node_vocabulary)[patterns.node_types], axis=1))


def in_degrees_at_most(patterns: PatternTable, most: int) -> Verdict:
    return np.asarray(np.all(inner_edges(patterns).sum(axis=1) <= most, axis=1))


def out_degrees_at_most(patterns: PatternTable, most: int) -> Verdict:
    return np.asarray(np.all(inner_edges(patterns).sum(axis=2) <= most, axis=1))


def edges_at_least(patterns: PatternTable, fewest: int) -> Verdict:
    return np.asarray(inner_edges(patterns).sum(axis=(1, 2)) >= fewest)


def edges_at_most(patterns: PatternTable, most: int) -> Verdict:
    return np.asarray(inner_edges(patterns).sum(axis=(1, 2)) <= most)


def is_acyclic(patterns: PatternTable, _: bool) -> Verdict:
    reach = patterns.edges > 0
    for via in range(patterns.size):
        reach = reach | (reach[:, :, via, None] & reach[:, None, via, :])
    return np.asarray(~np.any(np.diagonal(reach, axis1=1, axis2=2), axis=1))


def has_one_source(patterns: PatternTable, _: bool) -> Verdict:
    return np.asarray((inner_edges(patterns).sum(axis=1) == 0).sum(axis=1) == 1)


def has_one_sink(patterns: PatternTable, _: bool) -> Verdict:
    return np.asarray((inner_edges(patterns).sum(axis=2) == 0).sum(axis=1) == 1)


@dataclass(frozen=True, kw_only=True)
class Constraints(Settings):
    """All constraints of a search. Degrees, edges, sources and sinks are those of the pattern, self-loops aside.

    >>> case_study = Constraints(contains="Conv*", max_in_degree=2, max_out_degree=2)
    >>> case_study.describe()
    ['contains Conv*', 'in-degree at most 2', 'out-degree at most 2']
    """

    contains: tuple[str, ...] = constraint(
        "At least one node of a type that matches, e.g. 'Conv*'; may be given several times.",
        "--contains",
        "contains {}",
        has_types,
        default=(),
        metavar="GLOB",
    )
    only: tuple[str, ...] = constraint(
        "Only types that match; may be given several times.",
        "--only",
        "only {}",
        has_only_types,
        prunes=True,
        default=(),
        metavar="GLOB",
    )
    never: tuple[str, ...] = constraint(
        "No type that matches; may be given several times.",
        "--never",
        "never {}",
        has_no_types,
        prunes=True,
        default=(),
        metavar="GLOB",
    )
    max_in_degree: int | None = constraint(
        "Most edges into a node, inside the pattern; self-loops do not count.",
        "--max-in-degree",
        "in-degree at most {}",
        in_degrees_at_most,
        prunes=True,
        metavar="N",
        least=1,
    )
    max_out_degree: int | None = constraint(
        "Most edges out of a node, inside the pattern; self-loops do not count.",
        "--max-out-degree",
        "out-degree at most {}",
        out_degrees_at_most,
        prunes=True,
        metavar="N",
        least=1,
    )
    min_edges: int | None = constraint(
        "Fewest edges; self-loops do not count.",
        "--min-edges",
        "edges at least {}",
        edges_at_least,
        metavar="N",
        least=0,
    )
    max_edges: int | None = constraint(
        "Most edges; self-loops do not count.",
        "--max-edges",
        "edges at most {}",
        edges_at_most,
        prunes=True,
        metavar="N",
        least=1,
    )
    acyclic: bool = constraint(
        "No directed cycle, and no self-loop.", "--acyclic", "acyclic", is_acyclic, prunes=True, default=False
    )
    single_source: bool = constraint(
        "Exactly one node without incoming edges; self-loops do not count.",
        "--single-source",
        "single source",
        has_one_source,
        default=False,
    )
    single_sink: bool = constraint(
        "Exactly one node without outgoing edges; self-loops do not count.",
        "--single-sink",
        "single sink",
        has_one_sink,
        default=False,
    )
    fusible: bool = constraint(
        "Count only occurrences that a compiler can fuse: convex, with edges leaving from one node, which alone may"
        " be a graph output.",
        "--fusible",
        "fusible",
        default=False,
    )
    min_graphs: int = constraint(
        "Fewest graphs that contain the pattern.",
        "--min-graphs",
        "graphs at least {}",
        default=1,
        metavar="N",
        least=1,
    )
    min_mni: int = constraint(
        "Fewest nodes that can stand for each node of the pattern (minimum image-based support).",
        "--min-mni",
        "minimum image-based support at least {}",
        default=1,
        metavar="N",
        least=1,
    )

    def __post_init__(self) -> None:
        for name in ("contains", "only", "never"):  # one glob, a list of them, or nothing
            value: Any = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value or ()))
        super().__post_init__()
        if None not in (self.min_edges, self.max_edges) and (self.min_edges or 0) > (self.max_edges or 0):
            raise InputError(
                f"`min_edges` is {self.min_edges}, more than `max_edges`, {self.max_edges}: no pattern has both."
            )

    def asked_for(self) -> list[tuple[Rule, Any]]:
        """(rule, value) of the constraints that are not at their defaults."""
        pairs = [(each, getattr(self, each.name)) for each in fields(self)]
        return [(each.metadata[RULE], value) for each, value in pairs if value != each.default]

    def may_grow(self, patterns: PatternTable) -> Verdict:
        """Patterns that can be part of larger ones that satisfy the constraints."""
        return self._passes(patterns, only_pruning=True)

    def accepts(self, patterns: PatternTable) -> Verdict:
        """Patterns that satisfy every constraint on patterns."""
        return self._passes(patterns, only_pruning=False)

    def reached_by(self, graphs: int, mni: int | None) -> bool:
        """Whether a pattern's supports are as large as asked for."""
        return graphs >= self.min_graphs and (self.min_mni <= 1 or (mni or 0) >= self.min_mni)

    def _passes(self, patterns: PatternTable, only_pruning: bool) -> Verdict:
        verdict = np.ones(len(patterns), bool)
        for rule, value in self.asked_for():
            if rule.test is not None and (rule.prunes or not only_pruning):
                verdict &= rule.test(patterns, value)
        return verdict

    def describe(self) -> list[str]:
        """The constraints in words."""
        words = []
        for rule, value in self.asked_for():
            if rule.test is has_types:  # all of them are wanted
                words += [rule.words.format(glob) for glob in value]
            else:
                words.append(rule.words.format(", ".join(value) if isinstance(value, tuple) else value))
        return words

    def check(self, graphs: GraphSet, k: int) -> None:
        """Refuse constraints that no pattern of k nodes over this set's types can satisfy."""
        allowed = self.allowed_types(graphs)
        if not allowed.any():
            raise InputError(
                "The allowed and forbidden types leave no node type at all; relax `only` or `never`."
            )
        for glob in self.contains:
            if not (allowed & matching_types([glob], graphs.node_vocabulary)).any():
                raise InputError(f"`contains` {glob!r} asks for a type that `only` or `never` forbid.")
        if self.max_edges is not None and self.max_edges < k - 1:
            raise InputError(
                f"A connected pattern of {k} nodes has at least {k - 1} edges; raise `max_edges`."
            )
        if self.min_edges is not None and self.min_edges > k * (k - 1):
            raise InputError(f"A pattern of {k} nodes has at most {k * (k - 1)} edges; lower `min_edges`.")
        if self.min_graphs > len(graphs):
            raise InputError(
                f"`min_graphs` is {self.min_graphs}, but the set has {len(graphs)} graphs; lower it."
            )

    def allowed_types(self, graphs: GraphSet) -> NDArray[np.bool_]:
        """[types] whether nodes of a type may occur."""
        names = graphs.node_vocabulary
        allowed = matching_types(self.only, names) if self.only else np.ones(len(names), bool)
        return allowed & ~matching_types(self.never, names) if self.never else allowed

    def allowed_nodes(self, graphs: GraphSet) -> NDArray[np.uint8]:
        """[nodes] whether a node may be added; empty where every node may."""
        if not (self.only or self.never):
            return np.zeros(0, np.uint8)
        return of_nodes(graphs, self.allowed_types(graphs))

    def rarest_wish(self, graphs: GraphSet) -> str | None:
        """The required type with the fewest nodes; None where no type is required."""
        if len(self.contains) < 2:
            return self.contains[0] if self.contains else None
        nodes = np.zeros(len(graphs.node_vocabulary), np.int64)
        for begin in range(0, graphs.nodes, PIECE):
            nodes += np.bincount(graphs.node_types[begin : begin + PIECE], minlength=len(nodes))
        return min(
            self.contains, key=lambda glob: nodes[matching_types([glob], graphs.node_vocabulary)].sum()
        )

    def distances(self, graphs: GraphSet, steps: int, wish: str | None) -> NDArray[np.uint8]:
        """[nodes] steps, directions aside, to the nearest node of a required type; empty where none is required.

        A pattern needs all required types, so it needs the rarest.
        """
        if wish is None:
            return np.zeros(0, np.uint8)
        return distances_to(graphs, of_nodes(graphs, matching_types([wish], graphs.node_vocabulary)), steps)


def of_nodes(graphs: GraphSet, of_types: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """[nodes] the flag of each node's type, made in pieces: indices of a large set would take eight bytes a node."""
    flags = np.empty(graphs.nodes, np.uint8)
    for begin in range(0, graphs.nodes, PIECE):
        flags[begin : begin + PIECE] = of_types[graphs.node_types[begin : begin + PIECE]]
    return flags


def distances_to(graphs: GraphSet, wanted: NDArray[np.uint8], steps: int) -> NDArray[np.uint8]:
    """[nodes] breadth-first distance to the nearest wanted node, FAR beyond this many steps.

    Nodes are looked at in pieces, so that a large set takes one byte a node and little more.
    """
    distance = np.where(wanted, np.uint8(0), np.uint8(FAR))
    for step in range(1, min(steps, FAR - 1) + 1):
        for begin in range(0, graphs.nodes, PIECE):
            frontier = begin + np.flatnonzero(distance[begin : begin + PIECE] == step - 1)
            for offsets, ends in (
                (graphs.out_offsets, graphs.out_targets),
                (graphs.in_offsets, graphs.in_sources),
            ):
                begins = np.asarray(offsets[frontier])
                reached = ends[ranges(begins, offsets[frontier + 1] - begins)]
                distance[reached[distance[reached] == FAR]] = step
    return distance

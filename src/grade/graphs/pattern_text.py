"""Patterns as text: ``Conv#1 -> Add; Conv#2 -> Add``.

    text  = chain {";" chain}          chain = node {arrow node}
    node  = type ["#" number]          arrow = "->" | "-" edge type "->"

Types are written by name, so that a text means the same in every set. Nodes of one type are told apart by numbers; the
same label is the same node. An arrow without a name is the edge type called ``edge``, or the only one of a set; where
a set has several and none is called so, it is any. A name with a character of the grammar stands in quotes (JSON's).

In a query, ``*`` and ``?`` in a type stand for any text and any character, ``-*->`` for an edge of any type. A node
without a number is then a node of its own: ``* -> Relu -> *`` has three.
"""

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate as glob_pattern
from typing import TYPE_CHECKING

import numpy as np

from grade import _core
from grade.errors import InputError

if TYPE_CHECKING:
    from grade.graphs.patterns import Pattern

USUAL_EDGE = "edge"  # the type that an arrow without a name means
ANY = "*"
SPACE = re.compile(r"\s*")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
BARE = re.compile(r'(?:(?!->)[^\s"#;])+')
NUMBER = re.compile(r"#(\d{1,4})")
ARROW = re.compile(r'-(?:("(?:[^"\\]|\\.)*"|[^\s"\->;][^"\->;]*)-)?>')


@dataclass(frozen=True)
class TypeName:
    """The type of a node or an edge as a text gives it."""

    name: str
    wild: bool = False  # ``name`` is a glob

    def matches(self, other: str) -> bool:
        if not self.wild:
            return self.name == other
        literal = self.name.replace(
            "[", "[[]"
        )  # only * and ? are wildcards: types have brackets of their own
        return re.fullmatch(glob_pattern(literal), other) is not None


@dataclass(frozen=True)
class ParsedText:
    """Nodes by number, in the order in which the text meets them, and (source, target, type) of its edges."""

    nodes: tuple[TypeName, ...]
    edges: tuple[tuple[int, int, TypeName | None], ...]  # None: an arrow without a name

    @property
    def wild(self) -> bool:
        """Whether it stands for more than one pattern."""
        return any(node.wild for node in self.nodes) or any(kind and kind.wild for _, _, kind in self.edges)


def parse(text: str) -> ParsedText:
    """Read a pattern or a query.

    >>> parsed = parse("Conv#1 -> Add; Conv#2 -> Add")
    >>> [node.name for node in parsed.nodes], [edge[:2] for edge in parsed.edges]
    (['Conv', 'Add', 'Conv'], [(0, 1), (2, 1)])
    >>> parse("Conv* -skip-> Relu").wild
    True
    """
    return Parser(text).run()


class Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.nodes: list[TypeName] = []
        self.number: dict[tuple[TypeName, str], int] = {}
        self.edges: dict[tuple[int, int], TypeName | None] = {}

    def run(self) -> ParsedText:
        self.chain()
        while self.skip_space() < len(self.text):
            if self.text[self.at] != ";":
                raise self.refuse("'->' or ';' was expected")
            self.at += 1
            if self.skip_space() < len(self.text):
                self.chain()
        return ParsedText(tuple(self.nodes), tuple((i, j, kind) for (i, j), kind in self.edges.items()))

    def chain(self) -> None:
        unnumbered: set[int] = set()
        source = self.node(unnumbered)
        while True:
            self.skip_space()
            arrow = ARROW.match(self.text, self.at)
            if arrow is None:
                return
            self.at = arrow.end()
            kind = None if arrow[1] is None else named(arrow[1])
            target = self.node(unnumbered)
            known = self.edges.setdefault((source, target), kind)
            if known != kind:
                raise self.refuse("an edge is given twice, with two types")
            source = target

    def node(self, unnumbered: set[int]) -> int:
        """The next label's node. ``unnumbered`` are the nodes of this chain that were named without a number."""
        self.skip_space()
        found = (QUOTED if self.text[self.at : self.at + 1] == '"' else BARE).match(self.text, self.at)
        if found is None:
            raise self.refuse("the name of a type was expected")
        self.at = found.end()
        kind = named(found[0])
        number = NUMBER.match(self.text, self.at)
        self.at = self.at if number is None else number.end()
        label = "" if number is None else number[1].lstrip("0") or "0"
        if kind.wild and number is None:
            self.nodes.append(kind)
            return len(self.nodes) - 1
        if (kind, label) not in self.number:
            self.number[kind, label] = len(self.nodes)
            self.nodes.append(kind)
        node = self.number[kind, label]
        if number is None:
            if node in unnumbered:
                name = found[0]
                raise InputError(
                    f"The pattern {self.text[:80]!r} has {name} twice in one chain; number them: {name}#1 and {name}#2"
                    f" for two nodes, {name}#1 both times for a cycle."
                )
            unnumbered.add(node)
        return node

    def skip_space(self) -> int:
        space = SPACE.match(self.text, self.at)
        self.at = self.at if space is None else space.end()
        return self.at

    def refuse(self, what: str) -> InputError:
        rest = self.text[self.at : self.at + 20]
        place = f"at {rest!r}" if rest else "at its end"
        return InputError(
            f"The pattern {self.text[:80]!r} cannot be read: {what} {place}; one looks like"
            " 'Conv#1 -> Add; Conv#2 -> Add'."
        )


def named(token: str) -> TypeName:
    """A bare or quoted name; wildcards count in bare ones only."""
    if not token.startswith('"'):
        return TypeName(token, any(mark in token for mark in "*?"))
    try:
        return TypeName(str(json.loads(token)))
    except ValueError:
        raise InputError(f"The name {token[:80]} has a wrong escape; quotes are those of JSON.") from None


def usual_edge(vocabulary: Sequence[str]) -> TypeName:
    """The edge type of an arrow without a name, in a set with these types."""
    kinds = vocabulary[1:]
    if USUAL_EDGE in kinds or not kinds:
        return TypeName(USUAL_EDGE)
    return TypeName(kinds[0]) if len(kinds) == 1 else TypeName(ANY, wild=True)


def node_label(name: str) -> str:
    """A type's name as `parse` reads it back; printable on every terminal.

    >>> node_label("Conv[kernel_shape=3x3]"), node_label("a -> b")
    ('Conv[kernel_shape=3x3]', '"a -> b"')
    """
    bare = BARE.fullmatch(name) and not any(mark in name for mark in "*?") and name.isprintable()
    return name if bare else json.dumps(name, ensure_ascii=not name.isprintable())


def arrow(name: str) -> str:
    """The arrow of an edge type.

    >>> arrow("edge"), arrow("skip"), arrow("a>b")
    (' -> ', ' -skip-> ', ' -"a>b"-> ')
    """
    if name == USUAL_EDGE:
        return " -> "
    bare = ARROW.fullmatch(f"-{name}->") and not any(mark in name for mark in "*?") and name.isprintable()
    return (
        f" -{name}-> " if name and bare else f" -{json.dumps(name, ensure_ascii=not name.isprintable())}-> "
    )


def describe(pattern: "Pattern") -> str:
    """A pattern as text: the same text for isomorphic patterns of any vocabulary that names their types alike.

    >>> from grade.graphs import Pattern
    >>> str(Pattern.of([0, 1, 1], [[0, 1, 1], [0, 0, 1], [0, 0, 0]], ["in", "conv"]))
    'in -> conv#1 -> conv#2; in -> conv#2'
    """
    names, edges, _ = by_name(pattern)
    chains, seen = chains_of(len(names), edges)
    cyclic = {node for chain in chains for node in chain if chain.count(node) > 1}
    repeated = {name for name in names if names.count(name) > 1} | {names[node] for node in cyclic}
    number: dict[int, int] = {}
    for node in seen:
        number[node] = 1 + sum(1 for other in number if names[other] == names[node])
    label = [node_label(name) + (f"#{number[i]}" if name in repeated else "") for i, name in enumerate(names)]
    return "; ".join(
        label[chain[0]] + "".join(arrow(edges[i, j]) + label[j] for i, j in itertools.pairwise(chain))
        for chain in chains
    )


def nodes_in_text(pattern: "Pattern") -> list[int]:
    """The nodes of a pattern in the order in which its text names them.

    >>> from grade.graphs import Pattern
    >>> nodes_in_text(Pattern.of([0, 1], [[0, 0], [1, 0]], ["relu", "conv"]))
    [1, 0]
    """
    names, edges, order = by_name(pattern)
    return [order[node] for node in chains_of(len(names), edges)[1]]


def by_name(pattern: "Pattern") -> tuple[list[str], dict[tuple[int, int], str], list[int]]:
    """Type names of the nodes, those of the edges, and the nodes, in a canonical order that depends on names alone."""
    types, kinds = pattern.type_names, pattern.edge_vocabulary
    names = sorted(set(types))
    used = sorted({t for _, _, t in pattern.edge_list})
    called = {
        t: USUAL_EDGE if t == 1 and len(kinds) <= 2 else kinds[t] if t < len(kinds) else str(t) for t in used
    }
    kind_names = sorted(set(called.values()))
    matrix = np.zeros((1, len(types), len(types)), np.uint8)
    for i, j, t in pattern.edge_list:
        matrix[0, i, j] = 1 + kind_names.index(called[t])
    numbers = np.array([[names.index(name) for name in types]], np.uint16)
    ordered, edges, order, _ = _core.canonical_forms(numbers, matrix)
    return (
        [names[t] for t in ordered[0].tolist()],
        {(int(i), int(j)): kind_names[int(edges[0, i, j]) - 1] for i, j in np.argwhere(edges[0])},
        order[0].tolist(),
    )


def chains_of(size: int, edges: dict[tuple[int, int], str]) -> tuple[list[list[int]], list[int]]:
    """Paths that walk every edge once, the longest first, and the nodes in the order in which they meet them."""
    successors: dict[int, list[int]] = {i: [] for i in range(size)}
    indegree = [0] * size
    for i, j in edges:
        successors[i].append(j)
        indegree[j] += 1
    height = [0] * size  # longest way on from a node; cut off at k rounds where there is a cycle
    for _ in range(size):
        height = [max([height[j] + 1 for j in successors[i] if j != i], default=0) for i in range(size)]
    for options in successors.values():
        options.sort(key=lambda option: (-height[option], option))
    seen: dict[int, None] = {}
    chains: list[list[int]] = []
    sources_first = sorted(range(size), key=lambda node: (indegree[node] > 0, -height[node], node))
    while any(successors.values()):
        start = next(node for node in [*seen, *sources_first] if successors[node])
        chain = [start]
        seen.setdefault(start)
        while options := successors[chain[-1]]:
            choice = next((option for option in options if option not in seen), options[0])
            options.remove(choice)
            chain.append(choice)
            if choice in seen:
                break
            seen.setdefault(choice)
        chains.append(chain)
    for node in range(size):
        if node not in seen:
            chains.append([node])
            seen.setdefault(node)
    return chains, list(seen)

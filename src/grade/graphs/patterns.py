"""Patterns: connected typed digraphs of k nodes, identified by their exact canonical form."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grade import _core
from grade.errors import InputError
from grade.graphs.pattern_text import TypeName, describe, parse, usual_edge
from grade.reprs import shown_by

MAX_SIZE, MAX_TYPE = 16, 65_534
SHOWN = 5  # patterns in the repr of a table


@dataclass(frozen=True)
class Pattern:
    """One pattern in canonical order. Two patterns of one vocabulary are isomorphic exactly when their keys are equal.

    ``edges[i][j]`` is the type of the edge i -> j, 0 where there is none; the diagonal holds self-loops.

    Examples
    --------
    >>> chain = Pattern.of([1, 0], [[0, 1], [0, 0]], node_vocabulary=("input", "conv"))
    >>> chain.key, chain.code, chain.automorphisms
    ('conv -> input', '0.1/1>0', 1)
    """

    node_types: tuple[int, ...]
    edges: tuple[tuple[int, ...], ...]
    automorphisms: int
    node_vocabulary: tuple[str, ...] = field(default=(), compare=False)
    edge_vocabulary: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def of(
        cls,
        node_types: ArrayLike,
        edges: ArrayLike,
        node_vocabulary: Sequence[str] = (),
        edge_vocabulary: Sequence[str] = (),
    ) -> "Pattern":
        """The pattern of a typed digraph given in any order."""
        types, matrix = np.asarray(node_types), np.asarray(edges)
        return PatternTable.canonical(types[None], matrix[None], node_vocabulary, edge_vocabulary)[0]

    def __repr__(self) -> str:
        return f"Pattern({self.key!r})"

    @property
    def size(self) -> int:
        """Number of nodes, the paper's k."""
        return len(self.node_types)

    @cached_property
    def key(self) -> str:
        """Exact, and the same in every set: the canonical text, which names types (`grade.graphs.pattern_text`)."""
        return describe(self)

    @property
    def code(self) -> str:
        """Exact and short, by numbers: ``types/edges``, e.g. ``0.1.1/0>1.1>2:3`` (edge type 1 is not written)."""
        arcs = [f"{i}>{j}" + (f":{t}" if t != 1 else "") for i, j, t in self.edge_list]
        return ".".join(map(str, self.node_types)) + "/" + ".".join(arcs)

    @property
    def edge_list(self) -> list[tuple[int, int, int]]:
        """(source, target, type) of every edge."""
        return [(i, j, t) for i, row in enumerate(self.edges) for j, t in enumerate(row) if t]

    @property
    def type_names(self) -> tuple[str, ...]:
        """Names of the node types; their numbers where the vocabulary is unknown."""
        return tuple(
            self.node_vocabulary[t] if t < len(self.node_vocabulary) else str(t) for t in self.node_types
        )

    def __str__(self) -> str:
        return self.key

    _repr_svg_ = shown_by("grade.report.drawing", "svg")


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Many distinct patterns of one size as arrays, each in canonical order, sorted by (types, edges).

    Examples
    --------
    >>> table = PatternTable.canonical([[0, 1], [1, 0]], [[[0, 1], [0, 0]], [[0, 0], [1, 0]]])
    >>> len(table), table[0] == table[1]
    (2, True)
    >>> table.take([0])
    PatternTable(1 pattern, k=2)
        0 -> 1
    """

    node_types: NDArray[np.uint16]  # [n, k]
    edges: NDArray[np.uint8]  # [n, k, k]
    automorphisms: NDArray[np.int64]  # [n]
    node_vocabulary: tuple[str, ...] = ()
    edge_vocabulary: tuple[str, ...] = ()

    @classmethod
    def canonical(
        cls,
        node_types: ArrayLike,
        edges: ArrayLike,
        node_vocabulary: Sequence[str] = (),
        edge_vocabulary: Sequence[str] = (),
    ) -> "PatternTable":
        """Bring typed digraphs [n, k], [n, k, k] to canonical order. Rows keep their places (and may repeat)."""
        types, matrix = as_arrays(node_types, edges)
        canonical_types, canonical_edges, _, automorphisms = _core.canonical_forms(types, matrix)
        return cls(
            canonical_types, canonical_edges, automorphisms, tuple(node_vocabulary), tuple(edge_vocabulary)
        )

    def __repr__(self) -> str:
        shown = [self[row] for row in range(min(len(self), SHOWN))]
        more = ["    ..."] * (len(self) > SHOWN)
        head = f"PatternTable({len(self):,} pattern{'s' * (len(self) != 1)}, k={self.size})"
        return "\n".join([head, *(f"    {pattern}" for pattern in shown), *more])

    @classmethod
    def from_keys(
        cls, keys: Sequence[str], node_vocabulary: Sequence[str] = (), edge_vocabulary: Sequence[str] = ()
    ) -> "PatternTable":
        """Read patterns as written by `Pattern.key` or `Pattern.code`; all must be of one size.

        Examples
        --------
        >>> PatternTable.from_keys(["conv -> relu", "0.0/0>1"], ["conv", "relu"])[1].key
        'conv#1 -> conv#2'
        """
        parsed = [
            parse_code(key) if is_code(key) else parse_text(key, node_vocabulary, edge_vocabulary)
            for key in keys
        ]
        if len({len(types) for types, _ in parsed}) > 1:
            raise InputError("The patterns are of different sizes; give those of one size at a time.")
        if not parsed:
            raise InputError("There are no pattern keys, so there is no size of patterns; give at least one.")
        size = len(parsed[0][0])
        types = np.array([types for types, _ in parsed], np.uint16).reshape(-1, size)
        edges = np.array([matrix for _, matrix in parsed], np.uint8).reshape(-1, size, size)
        return cls.canonical(types, edges, node_vocabulary, edge_vocabulary)

    @property
    def size(self) -> int:
        """Number of nodes of every pattern, the paper's k."""
        return int(self.node_types.shape[1])

    def __len__(self) -> int:
        return len(self.node_types)

    def __getitem__(self, index: int) -> Pattern:
        return Pattern(
            tuple(self.node_types[index].tolist()),
            tuple(tuple(row) for row in self.edges[index].tolist()),
            int(self.automorphisms[index]),
            self.node_vocabulary,
            self.edge_vocabulary,
        )

    def __iter__(self) -> Iterator[Pattern]:
        return (self[i] for i in range(len(self)))

    def take(self, indices: ArrayLike) -> "PatternTable":
        """The rows at these indices, in this order."""
        rows = np.asarray(indices)
        return PatternTable(
            self.node_types[rows],
            self.edges[rows],
            self.automorphisms[rows],
            self.node_vocabulary,
            self.edge_vocabulary,
        )

    @classmethod
    def concatenate(cls, tables: "Iterable[PatternTable]") -> "PatternTable":
        """The patterns of tables of one size and vocabulary, one after the other.

        Examples
        --------
        >>> table = PatternTable.from_keys(["0.1/0>1", "1.1/0>1"])
        >>> len(PatternTable.concatenate([table, table])), len(PatternTable.concatenate([table, table]).unique())
        (4, 2)
        """
        tables = list(tables)
        return cls(
            np.concatenate([table.node_types for table in tables]),
            np.concatenate([table.edges for table in tables]),
            np.concatenate([table.automorphisms for table in tables]),
            tables[0].node_vocabulary,
            tables[0].edge_vocabulary,
        )

    def unique(self) -> "PatternTable":
        """The different patterns, sorted by key."""
        return self.take(np.unique(self.keys, return_index=True)[1])

    def find(self, wanted: "PatternTable") -> NDArray[np.int64]:
        """[wanted] the row of each wanted pattern (of the same size and vocabulary), -1 where it is not here.

        Examples
        --------
        >>> PatternTable.from_keys(["0.1/0>1", "1.1/0>1"]).find(PatternTable.from_keys(["1.1/0>1", "2.2/0>1"])).tolist()
        [1, -1]
        """
        if len(self) == 0 or len(wanted) == 0:
            return np.full(len(wanted), -1, np.int64)
        place = np.searchsorted(self.keys, wanted.keys, sorter=self.order).clip(max=len(self) - 1)
        rows = self.order[place]
        return np.where(self.keys[rows] == wanted.keys, rows, -1)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """[n] the rows in the order of their keys."""
        return np.argsort(self.keys)

    @cached_property
    def keys(self) -> NDArray[np.void]:
        """[n] exact binary keys (types, then edges), comparable with ``==``, `numpy.unique` and `numpy.isin`."""
        rows = np.concatenate(
            [self.node_types.astype(">u2").view(np.uint8), self.edges.reshape(len(self), self.size**2)],
            axis=1,
        )
        return np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()

    @cached_property
    def orders(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """([n] linear extensions, [n] level orders) of each pattern, for the orbit correction.

        A linear extension puts u before v wherever v can be reached from u and not u from v (for an acyclic pattern:
        a topological order). A level order sorts nodes by level, ties in any order: the product of the factorials of
        the level sizes. Levels are longest paths over the strongly connected components.
        """
        return _core.count_orders(self.edges)

    @property
    def linear_extensions(self) -> NDArray[np.int64]:
        """[n] number of linear extensions."""
        return self.orders[0]

    @property
    def level_orders(self) -> NDArray[np.int64]:
        """[n] number of level orders."""
        return self.orders[1]


def as_arrays(node_types: ArrayLike, edges: ArrayLike) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Check and convert [n, k] types and [n, k, k] edges for the native core."""
    types, matrix = np.asarray(node_types), np.asarray(edges)
    if types.ndim != 2 or matrix.shape != (*types.shape, types.shape[1]):
        raise InputError(
            f"Patterns need node types [n, k] and edges [n, k, k], not {list(types.shape)} and {list(matrix.shape)}."
        )
    if not 1 <= types.shape[1] <= MAX_SIZE:
        raise InputError(f"A pattern has 1 to {MAX_SIZE} nodes, not {types.shape[1]}.")
    if types.dtype.kind not in "iub" or matrix.dtype.kind not in "iub":
        raise InputError("The types of nodes and edges must be whole numbers.")
    if types.size and not (types.min() >= 0 and types.max() < 65_535):
        raise InputError("A node type is outside 0 to 65534.")
    if matrix.size and not (matrix.min() >= 0 and matrix.max() <= 255):
        raise InputError("An edge type is outside 0 to 255.")
    return np.ascontiguousarray(types, np.uint16), np.ascontiguousarray(matrix, np.uint8)


def is_code(text: str) -> bool:
    """Whether a text can only be meant as a code: it starts with node types and a slash.

    Examples
    --------
    >>> is_code("0.1.1/0>1"), is_code("runs/patterns.txt")
    (True, False)
    """
    return re.match(r"\d+(\.\d+)*/(\d+>|$)", text) is not None


def parse_text(
    text: str, node_vocabulary: Sequence[str], edge_vocabulary: Sequence[str]
) -> tuple[list[int], list[list[int]]]:
    """Node types and edge matrix of a text in the numbers of these vocabularies; without any, names are numbers.

    Examples
    --------
    >>> parse_text("relu -> conv", ["conv", "relu"], ["none", "edge"])
    ([1, 0], [[0, 1], [0, 0]])
    """
    parsed = parse(text)
    if len(parsed.nodes) > MAX_SIZE:
        raise InputError(f"The pattern {text[:80]!r} has {len(parsed.nodes)} nodes; the most is {MAX_SIZE}.")
    matrix = [[0] * len(parsed.nodes) for _ in parsed.nodes]
    for i, j, kind in parsed.edges:
        wanted = kind if kind is not None else usual_edge(edge_vocabulary)
        matrix[i][j] = 1 if not edge_vocabulary and kind is None else number_of(wanted, edge_vocabulary, text)
    return [number_of(node, node_vocabulary, text) for node in parsed.nodes], matrix


def number_of(kind: TypeName, vocabulary: Sequence[str], text: str) -> int:
    if not vocabulary and kind.name.isdecimal():
        return int(kind.name)
    if kind.wild:
        raise InputError(f"The pattern {text[:80]!r} stands for several; give it without wildcards.")
    if kind.name not in vocabulary:
        raise InputError(f"The type {kind.name!r} of the pattern {text[:80]!r} is not one of the set's.")
    return list(vocabulary).index(kind.name)


def parse_code(key: str) -> tuple[list[int], list[list[int]]]:
    """Node types and edge matrix of a code.

    Examples
    --------
    >>> parse_code("4.7/0>1:2")
    ([4, 7], [[0, 2], [0, 0]])
    """
    match = re.fullmatch(r"(\d{1,5}(?:\.\d{1,5})*)/((?:\d+>\d+(?::\d+)?(?:\.\d+>\d+(?::\d+)?)*)?)", key)
    if match is None:
        raise InputError(f"{key[:80]!r} is not a pattern; one by numbers looks like '0.1.1/0>1.1>2'.")
    types = [int(t) for t in match[1].split(".")]
    if len(types) > MAX_SIZE:
        raise InputError(f"The pattern {key[:80]!r} has {len(types)} nodes; the most is {MAX_SIZE}.")
    if max(types) > MAX_TYPE:
        raise InputError(f"The pattern {key[:80]!r} has a node type above {MAX_TYPE}.")
    matrix = [[0] * len(types) for _ in types]
    for arc in match[2].split(".") if match[2] else []:
        ends, _, kind = arc.partition(":")
        i, j = (int(end) for end in ends.split(">"))
        if max(i, j) >= len(types) or not 1 <= int(kind or 1) <= 255:
            raise InputError(
                f"The edge {arc!r} of the pattern {key[:80]!r} has a node or a type out of range."
            )
        if matrix[i][j]:
            raise InputError(f"The pattern {key[:80]!r} has the edge {i}>{j} twice; give it once.")
        matrix[i][j] = int(kind or 1)
    return types, matrix

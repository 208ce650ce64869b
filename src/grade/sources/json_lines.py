"""Graphs as JSON lines: one graph a line, in a form that any program can write.

    {"nodes": ["conv", "relu"], "edges": [[0, 1]], "name": "block"}
    {"nodes": [{"type": "conv", "name": "stem"}, {"type": "add"}], "edges": [[0, 1, "skip"]]}

A node is its type, or an object with its type and name; an edge is source, target (counted from 0) and, where
there are several types of edges, its type. ``name`` may be left out.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.graph_set import NO_EDGE
from grade.graphs.strings import storable
from grade.settings import ReadSettings
from grade.sources.readers import reader

MAX_LINE = 1 << 28  # bytes of one graph
BATCH = 100_000  # nodes that are handed on at a time


@reader("json-lines", "graphs as JSON, one a line", suffixes=(".jsonl", ".ndjson"))
def read_json_lines(path: str, settings: ReadSettings | None = None) -> Iterator[GraphSet]:
    """The graphs of a file, some at a time."""
    key = (settings or ReadSettings()).type_key
    batch = Batch(path)
    try:
        with Path(path).open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise InputError(f"it is longer than {MAX_LINE:,} bytes")
                if line.strip():
                    batch.add(json.loads(line), key, f"{path}:{number}")
                if len(batch.node_types) >= BATCH:
                    yield batch.graph_set()
                    batch = Batch(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); check its name and permissions."
        ) from None
    except RecursionError:
        raise InputError(f"{path}, line {number}: it is nested too deep; correct or remove it.") from None
    except ValueError as error:  # of json, of utf-8, or an InputError from below
        reason = error if isinstance(error, InputError) else "it is not JSON"
        raise InputError(f"{path}, line {number}: {reason}; correct or remove it.") from None
    yield batch.graph_set()


class Batch:
    """Graphs that become one set."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.node_words: dict[str, int] = {}
        self.edge_words: dict[str, int] = {NO_EDGE: 0, "edge": 1}
        self.node_counts: list[int] = []
        self.edge_counts: list[int] = []
        self.node_types: list[int] = []
        self.edge_types: list[int] = []
        self.edges: list[tuple[int, int]] = []
        self.graph_names: list[str] = []
        self.node_names: list[str] = []

    def add(self, content: Any, key: str, name: str) -> None:
        """One line, checked."""
        if not isinstance(content, dict):
            raise InputError('it is no object like {"nodes": [...], "edges": [...]}')
        nodes, edges = content.get("nodes"), content.get("edges")
        if not isinstance(nodes, list) or not isinstance(edges, list):
            raise InputError('it lacks a list "nodes" or a list "edges"')
        for node in nodes:
            kind, label = (node.get(key), node.get("name", "")) if isinstance(node, dict) else (node, "")
            if isinstance(node, dict) and key not in node:
                raise InputError(f"a node has no {key!r} (another key can be named with `type_key`)")
            self.node_types.append(self.node_words.setdefault(word(kind), len(self.node_words)))
            self.node_names.append(word(label))
        seen = set()
        for edge in edges:
            if not isinstance(edge, list) or len(edge) not in (2, 3):
                raise InputError("an edge is not [source, target] or [source, target, type]")
            for end in edge[:2]:
                if type(end) is not int or not 0 <= end < len(nodes):
                    raise InputError(f"an edge names a node outside 0 to {len(nodes) - 1}")
            pair = edge[0], edge[1]
            if pair in seen:
                raise InputError(f"the edge {list(pair)} is there twice; merge parallel edges")
            seen.add(pair)
            kind = word(edge[2]) if len(edge) == 3 else "edge"
            if kind == NO_EDGE:
                raise InputError(f"an edge has the type {NO_EDGE!r}, which is the word for no edge")
            self.edges.append(pair)
            self.edge_types.append(self.edge_words.setdefault(kind, len(self.edge_words)))
        self.node_counts.append(len(nodes))
        self.edge_counts.append(len(edges))
        self.graph_names.append(word(content.get("name", name)))

    def graph_set(self) -> GraphSet:
        return GraphSet.from_edges(
            node_counts=self.node_counts,
            node_types=self.node_types,
            edge_counts=self.edge_counts,
            edges=self.edges,
            edge_types=self.edge_types,
            node_vocabulary=list(self.node_words),
            edge_vocabulary=list(self.edge_words),
            graph_names=self.graph_names,
            node_names=self.node_names if any(self.node_names) else None,
            origin=self.path,
        )


def word(value: Any) -> str:
    """A type or a name: text, or a whole number."""
    if isinstance(value, str) or type(value) is int:
        return storable(str(value))
    raise InputError("a type or name is neither text nor a whole number")

"""Patterns as people give them: text, codes, files of either, censuses, samples, small models."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grade.errors import InputError
from grade.files import is_file, is_folder
from grade.graphs import GraphSet, Pattern, PatternTable
from grade.graphs.node_deletions import are_connected
from grade.graphs.patterns import MAX_SIZE, is_code
from grade.graphs.queries import Query
from grade.graphs.sample import load_sample
from grade.sampling.census import Census
from grade.settings import ReadSettings
from grade.sources import load

CENSUS_SUFFIXES = (".npz", ".parquet")
NAMED = re.compile(r"([\w.+/&-]+):\s+(.+)")
FORMS = "text such as 'Conv -> Relu', a code, a file of either (one a line), a census, a sample, a small .onnx model"


@dataclass(frozen=True)
class Given:
    """A pattern or a query, with its name where it was given one."""

    pattern: Pattern | Query
    name: str = ""


def read_patterns(
    place: str,
    node_vocabulary: Sequence[str],
    edge_vocabulary: Sequence[str],
    top: int | None = None,
    induced: bool = True,
) -> list[Given]:
    """The patterns that a text stands for: a pattern itself, or where to find some.

    The types of texts are names, those of codes numbers of the vocabularies. ``top`` takes the most frequent patterns
    of a census, or the first of a file. Those that need not be ``induced`` become queries.

    >>> [str(given.pattern) for given in read_patterns("conv -> relu", ["conv", "relu"], ["none", "edge"])]
    ['conv -> relu']
    >>> [type(given.pattern).__name__ for given in read_patterns("* -> relu", ["conv", "relu"], ["none", "edge"])]
    ['Query']
    """
    if top is not None and top < 1:
        raise InputError(f"The number of patterns to take is {top}; give 1 or more, or leave it out.")
    path = Path(place)
    if place.startswith("torch:") or (path.suffix.lower() == ".onnx" and is_file(path)):
        found = [Given(pattern) for pattern in patterns_of_graphs(read_models(place))]
    elif path.suffix.lower() in CENSUS_SUFFIXES:
        census = Census.load(path)
        found = [Given(p) for p in census.patterns.take(np.argsort(~census.counts, kind="stable")[:top])]
    elif is_folder(path):
        found = [Given(pattern) for pattern in load_sample(path).patterns]
    elif not is_file(path) and is_pattern(place, node_vocabulary):
        given = read_one(place, node_vocabulary, edge_vocabulary)
        if isinstance(given.pattern, Query) or given.pattern.node_vocabulary != tuple(node_vocabulary):
            refuse_unknown(Query(place), node_vocabulary, edge_vocabulary)
        found = [given]
    else:
        found = []
        for number, line in lines_of(path):
            try:
                found.append(read_one(line, node_vocabulary, edge_vocabulary))
            except InputError as error:
                raise InputError(f"{path}, line {number}: {error}") from None
    if not induced:
        found = [Given(Query(str(given.pattern), induced=False), given.name) for given in found]
    return found[:top]


def read_table(place: str, node_vocabulary: Sequence[str], edge_vocabulary: Sequence[str]) -> PatternTable:
    """The same as a table of patterns of one size; queries are refused."""
    path = Path(place)
    if path.suffix.lower() in CENSUS_SUFFIXES:
        return Census.load(path).patterns
    if is_folder(path):
        return load_sample(path).patterns
    patterns = []
    for given in read_patterns(place, node_vocabulary, edge_vocabulary):
        if isinstance(given.pattern, Query):
            raise InputError(
                f"{place}: the pattern {str(given.pattern)!r} stands for several; give it without wildcards."
            )
        if node_vocabulary and given.pattern.node_vocabulary != tuple(node_vocabulary):
            raise InputError(
                f"{place}: the pattern {str(given.pattern)!r} has a type that the model was not fitted to; score"
                " patterns of the same graph set."
            )
        patterns.append(given.pattern)
    if len({pattern.size for pattern in patterns}) > 1:
        raise InputError(f"{place}: the patterns are of different sizes; give those of one size at a time.")
    return PatternTable.canonical(
        [pattern.node_types for pattern in patterns],
        [pattern.edges for pattern in patterns],
        patterns[0].node_vocabulary,
        patterns[0].edge_vocabulary,
    )


def read_one(line: str, node_vocabulary: Sequence[str], edge_vocabulary: Sequence[str]) -> Given:
    """A pattern as text or code, after its name if it has one: ``conv-relu: Conv -> Relu``."""
    match = NAMED.fullmatch(line)
    name, text = match.groups() if match else ("", line)
    if is_code(text):
        table = PatternTable.from_keys([text], node_vocabulary, edge_vocabulary)
        if node_vocabulary and table.node_types.max() >= len(node_vocabulary):
            raise InputError(
                f"The pattern {text!r} has node type {table.node_types.max()}, but there are {len(node_vocabulary)}"
                " node types; give a pattern of this set."
            )
        if not are_connected(table.edges)[0]:
            raise InputError(f"The pattern {text!r} is not connected; give a connected one.")
        return Given(table[0], name)
    query = Query(text)
    if not query.connected:
        raise InputError(f"The pattern {text[:80]!r} is not connected; give a connected one.")
    return Given(query.pattern(node_vocabulary, edge_vocabulary) or query, name)


def is_pattern(text: str, node_vocabulary: Sequence[str]) -> bool:
    """Whether a text that names no file is meant as a pattern."""
    return "->" in text or is_code(text) or text.strip('"') in node_vocabulary


def refuse_unknown(query: Query, node_vocabulary: Sequence[str], edge_vocabulary: Sequence[str]) -> None:
    """A type that the set lacks is an error in a pattern that was typed in; elsewhere it has no occurrence."""
    for name in query.unknown(node_vocabulary, edge_vocabulary):
        near = difflib.get_close_matches(name, [*node_vocabulary, *edge_vocabulary[1:]], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "'grade graphs info' lists its types."
        raise InputError(f"The set has no type that matches {name!r} of the pattern {query.text!r}; {hint}")


def lines_of(path: Path) -> list[tuple[int, str]]:
    """The patterns of a file with the numbers of their lines, without empty ones and those that begin with ``#``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as patterns; give {FORMS}.") from error
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not lines:
        raise InputError(f"{path} holds no patterns; write one per line, such as Conv -> Relu.")
    return lines


def read_models(place: str) -> GraphSet:
    """Models as patterns: without the operators that compute on weights alone, which a set may have or not."""
    folded = load(place, ReadSettings(fold=True))
    return folded if folded.node_counts.all() else load(place)


def patterns_of_graphs(graphs: GraphSet) -> list[Pattern]:
    """Each graph of a set as one pattern."""
    found = []
    for graph, size in enumerate(graphs.node_counts.tolist()):
        name = graphs.graph_names[graph]
        if not 1 <= size <= MAX_SIZE:
            raise InputError(f"{name} has {size} operators; as a pattern it may have 1 to {MAX_SIZE}.")
        edges = np.zeros((size, size), np.int64)
        source, target = graphs.edge_list(graph).T
        edges[source, target] = graphs.edge_types_of(graph)
        begin = graphs.node_offsets[graph]
        types = graphs.node_types[begin : begin + size]
        found.append(Pattern.of(types, edges, graphs.node_vocabulary, graphs.edge_vocabulary))
    return found

"""Files of supports, and supports as lines."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from grade.errors import InputError
from grade.files import whole_file, writable_target
from grade.graphs import GraphSet, Pattern
from grade.graphs.queries import Query
from grade.support import Support, marked
from grade.text import table

SUFFIXES = (".csv", ".json")


def check_target(path: Path) -> None:
    """Refuse a file that supports cannot be written to; worth calling before a long verification."""
    writable_target(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path} must end in {' or '.join(SUFFIXES)} to hold supports.")


def support_data(
    pattern: Pattern | Query, support: Support, graphs: GraphSet, most_common: int
) -> dict[str, Any]:
    """A pattern with its supports, as JSON has it; the graphs where it is most common by name.

    The key of a query is its text.
    """
    if isinstance(pattern, Query):
        nodes, edges = pattern.parsed.nodes, pattern.parsed.edges
        structure: dict[str, Any] = {
            "key": str(pattern),
            "node_types": [node.name for node in nodes],
            "edges": [[i, j, kind.name if kind else None] for i, j, kind in edges],
        }
    else:
        structure = {
            "key": pattern.key,
            "node_types": list(pattern.type_names),
            "edges": [list(edge) for edge in pattern.edge_list],
        }
    return {
        **structure,
        **support.numbers(),
        "seconds": support.seconds,
        "most_common": [[graphs.graph_names[g], count] for g, count in support.most_common(most_common)],
    }


def support_lines(
    patterns: Sequence[Pattern | Query], supports: Sequence[Support], graphs: GraphSet
) -> Iterator[str]:
    """Columns for a person, the most frequent first; ``>=`` stands before a lower bound, ``~`` before an estimate."""
    titles = ("occurrences", "graphs", "disjoint", "coverage", "pattern")
    order = sorted(range(len(patterns)), key=lambda i: -supports[i].occurrences)
    rows: list[tuple[str, ...]] = []
    for support, pattern in ((supports[i], patterns[i]) for i in order):
        share = 100 * (support.coverage or 0) / max(graphs.nodes, 1)
        rows.append(
            (
                *(support.shown(name) for name in titles[:3]),
                marked(f"{share:.2f} %", support.coverage_quality),
                str(pattern),
            )
        )
    return table(titles, rows)


def support_columns(patterns: Sequence[Pattern | Query], supports: Sequence[Support]) -> dict[str, list[Any]]:
    """The supports column by column; the key of a query is its text."""
    rows = [
        {"key": str(pattern), **support.numbers()}
        for pattern, support in zip(patterns, supports, strict=True)
    ]
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}


def write_supports(
    path: Path, patterns: Sequence[Pattern | Query], supports: Sequence[Support], graphs: GraphSet
) -> None:
    """Write one row for each pattern: .csv with the numbers, .json also with all graphs that contain it."""
    check_target(path)
    rows = [
        support_data(pattern, support, graphs, len(graphs))
        for pattern, support in zip(patterns, supports, strict=True)
    ]
    with whole_file(path) as temporary:
        if path.suffix.lower() == ".json":
            temporary.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
            return
        columns = [name for name in rows[0] if name not in ("node_types", "edges", "most_common")]
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)

"""Where patterns to verify come from, and files of supports."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from grade.errors import InputError
from grade.files import whole_file, writable_target
from grade.graphs import GraphSet, Pattern, PatternTable
from grade.sampling.census import Census
from grade.verify.supports import ESTIMATE, EXACT, LOWER_BOUND, Quality, Support

SUFFIXES = (".csv", ".json")
CENSUS_SUFFIXES = (".npz", ".parquet")


def read_patterns(place: str, graphs: GraphSet, top: int | None = None) -> list[Pattern]:
    """The patterns of a census (.npz, .parquet), of a text file with one key per line, or of a key itself.

    The types of a census have names; those of keys are numbers of the graph set's vocabulary. ``top`` takes the most
    frequent patterns of a census, or the first keys.

    >>> graphs = GraphSet.from_edges(node_counts=[1], node_types=[0], edge_counts=[0], edges=[],
    ...                              node_vocabulary=["conv", "relu"])
    >>> [str(pattern) for pattern in read_patterns("0.1/0>1", graphs)]
    ['conv -> relu']
    """
    if top is not None and top < 1:
        raise InputError(f"The number of patterns to verify is {top}; give 1 or more, or leave it out.")
    path = Path(place)
    if path.suffix.lower() in CENSUS_SUFFIXES:
        census = Census.load(path)
        return list(census.patterns.take(np.argsort(~census.counts, kind="stable")[:top]))
    keys = [place] if looks_like_key(place) and not path.exists() else read_keys(path)
    return [
        PatternTable.from_keys([key], graphs.node_vocabulary, graphs.edge_vocabulary)[0] for key in keys[:top]
    ]


def looks_like_key(text: str) -> bool:
    """Whether a text can only be meant as a key: it starts with node types and a slash.

    >>> looks_like_key("0.1.1/0>1"), looks_like_key("runs/patterns.txt")
    (True, False)
    """
    return re.match(r"\d+(\.\d+)*/(\d+>|$)", text) is not None


def read_keys(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read; give a census (.npz, .parquet), a text file with one pattern key per line, or a"
            " key such as 0.1.1/0>1.1>2."
        ) from error
    keys = [line.strip() for line in lines if line.strip()]
    if not keys:
        raise InputError(f"{path} holds no pattern keys; write one per line, such as 0.1.1/0>1.1>2.")
    return keys


def check_target(path: Path) -> None:
    """Refuse a file that supports cannot be written to; worth calling before a long verification."""
    writable_target(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path} must end in {' or '.join(SUFFIXES)} to hold supports.")


def support_data(pattern: Pattern, support: Support, graphs: GraphSet, most_common: int) -> dict[str, Any]:
    """A pattern with its supports, as JSON has it; the graphs where it is most common by name."""
    data = asdict(support)
    del data["per_graph"], data["examples"]
    return {
        "key": pattern.key,
        "pattern": str(pattern),
        "node_types": list(pattern.type_names),
        "edges": [list(edge) for edge in pattern.edge_list],
        **data,
        "most_common": [[graphs.graph_names[g], count] for g, count in support.most_common(most_common)],
    }


def support_lines(
    patterns: Sequence[Pattern], supports: Sequence[Support], graphs: GraphSet
) -> Iterator[str]:
    """Columns for a person, the most frequent first; ``>=`` stands before a lower bound, ``~`` before an estimate."""
    titles = ("occurrences", "graphs", "disjoint", "coverage", "pattern")
    order = sorted(range(len(patterns)), key=lambda i: -supports[i].occurrences)
    table = [titles]
    for support, pattern in ((supports[i], patterns[i]) for i in order):
        share = 100 * (support.coverage or 0) / max(graphs.nodes, 1)
        table.append(
            (
                marked(f"{support.occurrences:,.0f}", support.quality),
                marked(f"{support.graphs:,}", support.graphs_quality),
                marked(f"{support.disjoint or 0:,}", support.disjoint_quality),
                marked(f"{share:.2f} %", support.coverage_quality),
                str(pattern),
            )
        )
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    for row in table:
        yield "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[4]])


def marked(text: str, quality: Quality) -> str:
    return {EXACT: "", LOWER_BOUND: ">= ", ESTIMATE: "~ "}[quality] + text


def write_supports(
    path: Path, patterns: Sequence[Pattern], supports: Sequence[Support], graphs: GraphSet
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

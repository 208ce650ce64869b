"""Runs made by hand, to show what no small search finds."""

from collections.abc import Sequence
from pathlib import Path

from grade.graphs import GraphSet, Pattern
from grade.runs import Catalogue, Motif, RunFolder
from grade.support import ESTIMATE, EXACT, LOWER_BOUND, Support


def make_run(
    folder: Path,
    graphs: GraphSet,
    patterns: Sequence[tuple[Pattern, int]],
    spec: str = "zoo-mini",
    stopped_before: int | None = None,
) -> Path:
    """The folder of a run that found these patterns, and was perhaps to go on to larger ones."""
    largest = max(p.size for p, _ in patterns)
    settings = {
        "graphs": spec,
        "k": stopped_before or largest,
        "rank_by": "occurrences",
        "top": len(patterns),
        "min_mni": 1,
    }
    run = RunFolder.begin(folder, settings, graphs)
    motifs = [
        Motif(
            number,
            pattern,
            Support(
                occurrences=count,
                occurrences_quality=(EXACT, ESTIMATE, LOWER_BOUND)[number % 3],
                standard_error=0.1 * count if number % 3 == 1 else None,
                graphs=1 + number % len(graphs),
                disjoint=max(count // 2, 1),
                coverage=number,
                per_graph=[(number % len(graphs), count)],
            ),
            score=float(count),
        )
        for number, (pattern, count) in enumerate(patterns, start=1)
    ]
    level = {"size": largest, "candidates": 7, "kept": 5, "instances": 99, "best": 9.0}
    described = {
        **run.description(),
        "constraints": [],
        "partial": stopped_before is not None,
        "complete": True,
        "left_out": [],
        "notes": [],
        "distinct": None,
    }
    first = patterns[0][0]
    Catalogue(
        described, [level], motifs, first.node_vocabulary, first.edge_vocabulary, tuple(graphs.graph_names)
    ).save(run.catalogue)
    return folder

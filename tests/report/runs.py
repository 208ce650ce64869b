"""Runs made by hand, to show what no small search finds."""

from collections.abc import Sequence
from pathlib import Path

from grade.graphs import GraphSet, Pattern
from grade.runs import Catalogue, Motif, RunFolder


def make_run(
    folder: Path, graphs: GraphSet, patterns: Sequence[tuple[Pattern, int]], spec: str = "zoo-mini"
) -> Path:
    """The folder of a run that found these patterns."""
    settings = {
        "graphs": spec,
        "k": max(p.size for p, _ in patterns),
        "rank_by": "occurrences",
        "top": len(patterns),
    }
    run = RunFolder.begin(folder, settings, graphs)
    motifs = [
        Motif(
            id=number,
            key=pattern.key,
            size=pattern.size,
            text=str(pattern),
            score=float(count),
            occurrences=count,
            occurrences_quality=("exact", "estimate", "lower bound")[number % 3],
            standard_error=0.1 * count if number % 3 == 1 else None,
            graphs=1 + number % len(graphs),
            graphs_quality="exact",
            disjoint=max(count // 2, 1),
            disjoint_quality="exact",
            coverage=number,
            coverage_quality="exact",
            most_common=[(graphs.graph_names[number % len(graphs)], count)],
            examples=[],
        )
        for number, (pattern, count) in enumerate(patterns, start=1)
    ]
    level = {"size": settings["k"], "candidates": 7, "kept": 5, "instances": 99, "best": 9.0}
    described = {**run.description(), "constraints": [], "partial": False}
    Catalogue(
        described, [level], motifs, patterns[0][0].node_vocabulary, patterns[0][0].edge_vocabulary
    ).save(run.catalogue)
    return folder

"""Levels and patterns as the catalogue keeps them."""

from grade.graphs import GraphSet
from grade.runs import Motif
from grade.search import Level
from grade.verify import Support


def level_entry(level: Level) -> dict[str, object]:
    """A level as the catalogue keeps it."""
    return {
        "size": level.size,
        "candidates": level.candidates,
        "kept": len(level.lists),
        "instances": level.instances,
        "best": float(level.lists.counts.max(initial=0.0)),
    }


def motif_entry(number: int, level: Level, row: int, support: Support, graphs: GraphSet) -> Motif:
    """A pattern with its supports as the catalogue keeps it."""
    pattern = level.lists.patterns[row]
    return Motif(
        id=number,
        key=pattern.key,
        size=pattern.size,
        text=str(pattern),
        score=float(level.scores[row]),
        occurrences=support.occurrences,
        occurrences_quality=support.quality,
        standard_error=support.standard_error,
        graphs=support.graphs,
        graphs_quality=support.graphs_quality,
        disjoint=support.disjoint or 0,
        disjoint_quality=support.disjoint_quality,
        coverage=support.coverage or 0,
        coverage_quality=support.coverage_quality,
        most_common=[(graphs.graph_names[graph], count) for graph, count in support.most_common(10)],
        examples=support.examples,
    )

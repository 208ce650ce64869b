"""Motifs as text for a terminal."""

from collections.abc import Iterator, Sequence

from grade.runs import Catalogue, Motif
from grade.support import amount, marked


def motif_lines(
    run: str, catalogue: Catalogue, motifs: Sequence[Motif], seconds: float | None
) -> Iterator[str]:
    """A heading and one row for each motif."""
    settings, graphs = catalogue.run["settings"], catalogue.run["set"]
    took = f", {seconds:.1f} s" if seconds is not None else ""
    yield (
        f"{run}: {len(catalogue.motifs)} motifs of {settings['graphs']} ({graphs['graphs']:,} graphs,"
        f" {graphs['nodes']:,} nodes), k = {settings['k']}, by {settings['rank_by']}{took}"
    )
    if catalogue.run["constraints"]:
        yield "constraints: " + ", ".join(catalogue.run["constraints"])
    if catalogue.run["partial"]:
        yield f"stopped early by the time budget at k = {catalogue.levels[-1]['size']}: the best found so far"
    head = ("rank", "occurrences", "graphs", "disjoint", "cover %", "most common in", "pattern")
    rows = [
        (
            str(motif.id),
            *(amount(motif.support.value(name), motif.support.quality(name)) for name in head[1:4]),
            marked(
                f"{100 * motif.support.value('coverage') / max(graphs['nodes'], 1):.1f}",
                motif.support.coverage_quality,
            ),
            "".join(f"{name} ({count:,})" for name, count in catalogue.most_common(motif, 1)),
            motif.text,
        )
        for motif in motifs
    ]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head) - 1)]
    for row in [head, *rows]:
        left = [f"{cell:>{width}}" for cell, width in zip(row[:5], widths, strict=False)]
        yield "  ".join([*left, f"{row[5]:<{widths[5]}}", row[6]])
    if any(not motif.support.complete for motif in motifs):
        yield ">= at least this many; ~ an unbiased estimate (its standard error is in the catalogue)"

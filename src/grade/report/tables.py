"""Motifs as text for a terminal."""

from collections.abc import Iterator, Sequence

from grade.runs import Catalogue, Motif
from grade.support import amount, marked
from grade.text import table


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
    yield from table(head, rows, left=["most common in"])
    if any(not motif.support.complete for motif in motifs):
        yield ">= at least this many; ~ an unbiased estimate (its standard error is in the catalogue)"

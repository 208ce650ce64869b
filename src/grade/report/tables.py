"""Motifs as text for a terminal."""

from collections.abc import Iterator, Sequence

from grade.runs import Catalogue, Motif

MARKS = {"exact": "", "lower bound": "+", "estimate": "~"}


def amount(value: float, quality: str) -> str:
    """A number with the mark of its quality: ``1,234``, ``1,234+`` (at least), ``~1.2e+10``.

    >>> amount(1234, "exact"), amount(1234, "lower bound"), amount(1.23e10, "estimate")
    ('1,234', '1,234+', '~1.23e+10')
    """
    text = f"{value:,.0f}" if value < 1e9 else f"{value:.2e}"
    mark = MARKS[quality]
    return mark + text if mark == "~" else text + mark


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
    rows = [
        (
            str(motif.id),
            amount(motif.occurrences, motif.occurrences_quality),
            amount(motif.graphs, motif.graphs_quality),
            amount(motif.disjoint, motif.disjoint_quality),
            f"{100 * motif.coverage / max(graphs['nodes'], 1):.1f}{MARKS[motif.coverage_quality]}",
            f"{motif.most_common[0][0]} ({motif.most_common[0][1]:,})" if motif.most_common else "",
            motif.text,
        )
        for motif in motifs
    ]
    head = ("rank", "occurrences", "graphs", "disjoint", "cover %", "most common in", "pattern")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head) - 1)]
    for row in [head, *rows]:
        left = [f"{cell:>{width}}" for cell, width in zip(row[:5], widths, strict=False)]
        yield "  ".join([*left, f"{row[5]:<{widths[5]}}", row[6]])
    qualities = {motif.occurrences_quality for motif in motifs}
    if qualities - {"exact"}:
        yield "+ at least this many; ~ an unbiased estimate (its standard error is in the catalogue)"

"""Censuses and catalogues as HTML for a notebook."""

from collections.abc import Iterable
from html import escape

from grade.graphs.patterns import Pattern
from grade.report.drawing import svg
from grade.runs import Catalogue
from grade.sampling.census import Census
from grade.support import amount

SHOWN = 10


def census_html(census: Census) -> str:
    """The most frequent patterns of a census with their pictures."""
    rows = [
        (pattern, [f"{count:,}", f"{100 * count / census.instances:.2f} %"])
        for pattern, count in census.top(SHOWN)
    ]
    title = (
        f"{census.set}: {census.instances:,} instances of {len(census.patterns):,} patterns, k = {census.k}"
    )
    return table(title, ["count", "share"], rows)


def catalogue_html(catalogue: Catalogue) -> str:
    """The first motifs of a run with their pictures and supports."""
    rows = [
        (
            pattern,
            [
                amount(motif.support.value(name), motif.support.quality(name))
                for name in ("occurrences", "graphs", "disjoint")
            ],
        )
        for motif, pattern in zip(catalogue.motifs[:SHOWN], catalogue.patterns[:SHOWN], strict=True)
    ]
    settings = catalogue.run["settings"]
    title = f"{len(catalogue.motifs)} motifs of {settings['graphs']}, k = {settings['k']}"
    return table(title, ["occurrences", "graphs", "disjoint"], rows)


def table(title: str, columns: list[str], rows: Iterable[tuple[Pattern, list[str]]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in ["", "pattern", *columns])
    body = "".join(
        f"<tr><td>{rank}</td><td>{svg(pattern)}</td>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for rank, (pattern, cells) in enumerate(rows, start=1)
    )
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{body}</table>"

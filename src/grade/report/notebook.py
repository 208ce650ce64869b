"""Graph sets, censuses, samples, counts and catalogues as HTML for a notebook."""

from collections.abc import Iterable
from html import escape

import numpy as np

from grade.graphs import GraphSet, SubgraphSample
from grade.graphs.patterns import Pattern
from grade.graphs.queries import Query
from grade.report.drawing import svg
from grade.runs import Catalogue
from grade.sampling.census import Census
from grade.support import Support

SHOWN = 10
SUPPORTS = ("occurrences", "graphs", "disjoint")


def graphs_html(graphs: GraphSet) -> str:
    """The largest graphs of a set with their sizes, and its most frequent node types."""
    types = np.bincount(graphs.node_types, minlength=len(graphs.node_vocabulary))
    frequent = [row for row in np.argsort(-types, kind="stable")[:SHOWN].tolist() if types[row]]
    words = ", ".join(f"{graphs.node_vocabulary[row]} ({types[row]:,})" for row in frequent)
    largest = np.argsort(-graphs.node_counts, kind="stable")[:SHOWN].tolist()
    sizes = zip(graphs.node_counts[largest], graphs.edge_counts[largest], strict=True)
    rows = [
        (graphs.graph_names[graph], [f"{nodes:,}", f"{edges:,}"])
        for graph, (nodes, edges) in zip(largest, sizes, strict=True)
    ]
    return table(f"{graphs!r}: {words}", ["nodes", "edges"], rows, "graph")


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


def sample_html(sample: SubgraphSample) -> str:
    """The patterns that were drawn most with their pictures."""
    order = np.argsort(-sample.weighted_counts, kind="stable")[:SHOWN].tolist()
    rows = [(sample.patterns[row], [f"{sample.counts[row]:,}"]) for row in order]
    return table(repr(sample), ["drawn"], rows)


def catalogue_html(catalogue: Catalogue) -> str:
    """The motifs that a run shows first with their pictures and supports."""
    rows = [(motif.pattern, shown_supports(motif.support)) for motif in catalogue.shown[:SHOWN]]
    settings = catalogue.run["settings"]
    whole = (
        "complete"
        if catalogue.run["complete"]
        else f"perhaps not complete: {'; '.join(catalogue.run['left_out'])}"
    )
    title = f"{len(catalogue.shown)} motifs of {settings['graphs']}, k = {settings['k']} ({whole})"
    return table(title, list(SUPPORTS), rows)


def counted_html(counted: Iterable[tuple[Pattern | Query, Support]]) -> str:
    """Patterns that were counted with their pictures and supports."""
    rows = [(pattern, shown_supports(support)) for pattern, support in counted]
    return table(f"{len(rows)} patterns", list(SUPPORTS), rows)


def shown_supports(support: Support) -> list[str]:
    return [support.shown(name) for name in SUPPORTS]


def table(
    title: str,
    columns: list[str],
    rows: Iterable[tuple[Pattern | Query | str, list[str]]],
    first: str = "pattern",
) -> str:
    """Numbered rows of a picture (or a text, for a query) and cells."""
    head = "".join(f"<th>{escape(name)}</th>" for name in ["", first, *columns])
    body = "".join(
        f"<tr><td>{rank}</td><td>{svg(pattern) if isinstance(pattern, Pattern) else escape(str(pattern))}</td>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for rank, (pattern, cells) in enumerate(rows, start=1)
    )
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{body}</table>"

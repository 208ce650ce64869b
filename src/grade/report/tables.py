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
    found = f"{len(catalogue.motifs)} motifs"
    if catalogue.run["distinct"] and catalogue.run["distinct"]["motifs"]:
        found = f"{len(catalogue.shown)} distinct motifs"
    yield (
        f"{run}: {found} of {settings['graphs']} ({graphs['graphs']:,} graphs,"
        f" {graphs['nodes']:,} nodes), k = {settings['k']}, by {settings['rank_by']}{took}"
    )
    if catalogue.run["constraints"]:
        yield "constraints: " + ", ".join(catalogue.run["constraints"])
    if catalogue.run["partial"]:
        yield f"stopped early by the time budget at k = {catalogue.levels[-1]['size']}: the best found so far"
    nodes = max(graphs["nodes"], 1)
    distinct = catalogue.run["distinct"]
    supports = ("occurrences", "graphs", "disjoint")
    rows = []
    for motif in motifs:
        numbers = [amount(motif.support.value(name), motif.support.quality(name)) for name in supports]
        cover = marked(f"{100 * motif.support.value('coverage') / nodes:.1f}", motif.support.coverage_quality)
        common = "".join(f"{name} ({count:,})" for name, count in catalogue.most_common(motif, 1))
        if motif.choice is None:
            rows.append((str(motif.id), *numbers, cover, common, motif.text))
            continue
        variants = len(catalogue.variants(motif))
        gain, covered = (f"{100 * share / nodes:.1f}" for share in (motif.choice.gain, motif.choice.covered))
        folded = f"{motif.text}  ({variants} variant{'s' * (variants != 1)})" if variants else motif.text
        rows.append((str(motif.id), gain, covered, *numbers, str(motif.size), folded))
    if distinct and motifs and motifs[0].choice is not None:
        head: tuple[str, ...] = ("motif", "adds %", "covered %", *supports, "nodes", "pattern")
    else:
        head = ("rank", *supports, "cover %", "most common in", "pattern")
    yield from table(head, rows, left=["most common in"])
    if any(not motif.support.complete for motif in motifs):
        yield ">= at least this many; ~ an unbiased estimate (its standard error is in the catalogue)"
    if distinct and not distinct["motifs"]:
        yield "No pattern has two occurrences that share no node, so all patterns are shown."
    elif distinct:
        yield (
            f"{distinct['motifs']} distinct motifs cover {100 * distinct['covered'] / nodes:.1f} % of the nodes; no"
            f" choice of as many of the {distinct['candidates']:,} patterns that the search kept covers more than"
            f" {100 * distinct['bound'] / nodes:.1f} %. --all shows the plain ranking."
        )

"""Motifs as text for a terminal."""

from collections.abc import Iterator, Sequence
from typing import Any

from grade.graphs import GraphSet
from grade.report.surroundings import name_of
from grade.runs import Catalogue, Motif
from grade.support import marked
from grade.text import counted, table


def motif_lines(
    run: str | None, catalogue: Catalogue, motifs: Sequence[Motif], seconds: float | None
) -> Iterator[str]:
    """A heading, which begins with the name of the run if it has one, and one row for each motif."""
    settings, graphs = catalogue.run["settings"], catalogue.run["set"]
    took = f", {seconds:.1f} s" if seconds is not None else ""
    chosen = bool(catalogue.run["distinct"] and catalogue.run["distinct"]["motifs"])
    count = len(catalogue.shown if chosen else catalogue.motifs)
    found = f"{count}{' distinct' * chosen} motif{'s' * (count != 1)}"
    yield (
        f"{run + ': ' if run else ''}{found} of {settings['graphs']} ({counted(graphs['graphs'], 'graph')},"
        f" {counted(graphs['nodes'], 'node')}), k = {settings['k']}, by {settings['rank_by']}{took}"
    )
    if catalogue.run["constraints"]:
        yield "constraints: " + ", ".join(catalogue.run["constraints"])
    if catalogue.run["partial"]:
        yield f"stopped early by the time budget at k = {catalogue.levels[-1]['size']}: the best found so far"
    yield from catalogue.run["notes"]
    if catalogue.run["complete"]:
        yield "complete: no pattern that satisfies the constraints was left out"
    else:
        yield f"perhaps not complete: {'; '.join(catalogue.run['left_out'])}"
    nodes = max(graphs["nodes"], 1)
    distinct = catalogue.run["distinct"]
    asked = ("mni",) if settings["rank_by"] == "mni" or settings["min_mni"] > 1 else ()
    supports: tuple[str, ...] = ("occurrences", "graphs", "disjoint", *asked)
    several = len({motif.size for motif in motifs}) > 1
    saving = any(motif.saving is not None for motif in motifs)
    rows: list[tuple[str, ...]] = []
    for motif in motifs:
        numbers = [motif.support.shown(name) for name in supports]
        numbers += ["-" if motif.saving is None else str(motif.saving)] * saving
        cover = share_of(motif, nodes)
        common = "".join(f"{name} ({count:,})" for name, count in catalogue.most_common(motif, 1))
        if motif.choice is None:
            size = [str(motif.size)] if several else []
            rows.append((str(motif.id), *size, *numbers, cover, common, motif.text))
            continue
        variants = len(catalogue.variants(motif))
        gain, covered = (f"{100 * share / nodes:.1f}" for share in (motif.choice.gain, motif.choice.covered))
        folded = f"{motif.text}  ({counted(variants, 'variant')})" if variants else motif.text
        rows.append((str(motif.id), gain, covered, *numbers, str(motif.size), folded))
    supports += ("saving",) * saving
    if distinct and motifs and motifs[0].choice is not None:
        head: tuple[str, ...] = ("motif", "adds %", "covered %", *supports, "nodes", "pattern")
    else:
        head = ("rank", *["nodes"] * several, *supports, "cover %", "most common in", "pattern")
    yield from table(head, rows, left=["most common in"])
    if motifs:
        yield legend(motifs, supports)
    if saving:
        yield saving_note(motifs)
    if distinct and not distinct["motifs"]:
        yield "No pattern has two occurrences that share no node, so all patterns are shown."
    elif distinct:
        if distinct["motifs"] < settings["top"]:
            yield "Every other pattern is a variant of one of these, or has fewer than two occurrences beside them."
        even = ", each graph counting the same" * (settings["weighting"] == "graphs")
        yield (
            f"Together they cover {100 * distinct['covered'] / nodes:.1f} % of the nodes{even}; no choice of as many"
            f" of the {distinct['candidates']:,} patterns that the search kept covers more than"
            f" {100 * distinct['bound'] / nodes:.1f} %. Set `all` for the plain ranking."
        )


def named_examples(motif: Motif, graphs: GraphSet | None) -> list[dict[str, Any]] | None:
    """Some occurrences of a motif for JSON: graph, names of the nodes. None where the set is not at hand."""
    if graphs is None:
        return None
    return [
        {
            "graph": graphs.graph_names[graphs.graph_of(nodes[0])],
            "nodes": [name_of(graphs, node) for node in nodes],
        }
        for nodes in motif.support.examples
    ]


def legend(motifs: Sequence[Motif], supports: Sequence[str]) -> str:
    """The meaning of the columns, and how good their numbers are."""
    said = []
    if motifs[0].choice is not None:
        said.append("adds %: nodes that its occurrences cover beside the motifs above, none of them twice")
    if "disjoint" in supports:
        said.append("disjoint: occurrences that share no node, chosen greedily")
    if any(not motif.support.complete for motif in motifs):
        said.append(">= at least this many; ~ an unbiased estimate, ± half of its 95 % interval")
    else:
        said.append("all supports are exact")
    return "; ".join(said)


def saving_note(motifs: Sequence[Motif]) -> str:
    """The meaning and the quality of the column of savings."""
    savings = [motif.saving for motif in motifs if motif.saving is not None]
    measured = sum(saving.measured for saving in savings)
    unit = "memory traffic" if savings[0].unit == "bytes" else "time"
    bases = [saving.basis for saving in savings if not saving.measured]
    exact = f"{measured} of {len(savings)} measured" if measured else "none measured"
    estimated = f"; ~ an estimate, the most that fusing can save, from {bases[0]}" if bases else ""
    return f"saving: {unit} that fusing the disjoint occurrences saves, {exact}{estimated}"


def share_of(motif: Motif, nodes: int) -> str:
    """The percentage of nodes that lie in an occurrence."""
    if motif.support.coverage is None:
        return "-"
    return marked(f"{100 * motif.support.coverage / nodes:.1f}", motif.support.coverage_quality)

"""Two runs side by side: motifs gained, lost, and changed in frequency."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from grade import __version__
from grade.files import whole_file
from grade.graphs import Pattern
from grade.report.drawing import svg
from grade.report.page import check_page
from grade.report.rendering import render
from grade.runs import Catalogue, Motif, RunFolder
from grade.support import amount


@dataclass(frozen=True)
class Pair:
    """A motif that the first run shows, the second, or both; where one does not, as it lists it, if it does."""

    pattern: Pattern
    before: Motif | None
    after: Motif | None

    @property
    def change(self) -> float:
        """Occurrences after by occurrences before."""
        assert self.before is not None
        assert self.after is not None
        return self.after.support.occurrences / max(self.before.support.occurrences, 1e-9)


@dataclass(frozen=True)
class Comparison:
    """The motifs gained, lost and changed between two runs: those that a run shows, so variants aside."""

    gained: list[Pair]  # by their rank in the second run
    lost: list[Pair]  # by their rank in the first
    changed: list[Pair]  # the largest change first
    same: list[Pair]


def compare(first: Catalogue, second: Catalogue) -> Comparison:
    """Match the motifs of two runs by their patterns; types are the same where their names are."""
    before, after = by_pattern([first, second])
    shown_before, shown_after = (
        {key: pattern for key, (pattern, motif) in listed.items() if motif in catalogue.shown}
        for listed, catalogue in ((before, first), (after, second))
    )

    def pair(key: str, pattern: Pattern) -> Pair:
        return Pair(pattern, before.get(key, (None, None))[1], after.get(key, (None, None))[1])

    both = [pair(key, pattern) for key, pattern in shown_before.items() if key in shown_after]
    changed = [
        pair
        for pair in both
        if pair.before and pair.after and pair.before.support.occurrences != pair.after.support.occurrences
    ]
    changed.sort(key=lambda pair: -max(pair.change, 1 / max(pair.change, 1e-9)))
    return Comparison(
        gained=[pair(key, pattern) for key, pattern in shown_after.items() if key not in shown_before],
        lost=[pair(key, pattern) for key, pattern in shown_before.items() if key not in shown_after],
        changed=changed,
        same=[pair for pair in both if pair not in changed],
    )


def by_pattern(catalogues: Sequence[Catalogue]) -> list[dict[str, tuple[Pattern, Motif]]]:
    """For each catalogue: key in a shared vocabulary -> (pattern, motif)."""
    names = tuple(dict.fromkeys(name for c in catalogues for name in c.node_vocabulary))
    kinds = tuple(dict.fromkeys(name for c in catalogues for name in c.edge_vocabulary[1:]))
    found = []
    for catalogue in catalogues:
        shared = {}
        for pattern, motif in zip(catalogue.patterns, catalogue.motifs, strict=True):
            types = [names.index(name) for name in pattern.type_names]
            edges = [
                [1 + kinds.index(pattern.edge_vocabulary[t]) if t else 0 for t in row]
                for row in pattern.edges
            ]
            renamed = Pattern.of(types, edges, names, ("none", *kinds))
            shared[renamed.key] = (renamed, motif)
        found.append(shared)
    return found


def write_comparison(first: Path, second: Path, out: Path) -> dict[str, int]:
    """Write the page on two runs, whole or not at all; returns how many motifs were gained, lost ..."""
    check_page(out)
    catalogues = [RunFolder.open(run).load_catalogue() for run in (first, second)]
    comparison = compare(*catalogues)
    groups = {
        "gained": ("Gained: motifs of the second run only", comparison.gained),
        "lost": ("Lost: motifs of the first run only", comparison.lost),
        "changed": ("Changed in frequency, the largest change first", comparison.changed),
        "unchanged": ("As frequent in both", comparison.same),
    }
    page = render(
        "comparison.html",
        data={},
        runs=[about(run, catalogue) for run, catalogue in zip((first, second), catalogues, strict=True)],
        groups=[
            (title, [row(pair, catalogues) for pair in pairs]) for title, pairs in groups.values() if pairs
        ],
        version=__version__,
    )
    with whole_file(out) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace")
    return {name: len(pairs) for name, (_, pairs) in groups.items()}


def about(run: Path, catalogue: Catalogue) -> dict[str, Any]:
    """A run as the head of the page tells it."""
    distinct = catalogue.run["distinct"] or {}
    covered = distinct.get("covered", 0) / max(catalogue.run["set"]["nodes"], 1)
    return {
        "name": run.resolve().name,
        "weighting": "occurrences",
        **catalogue.run["settings"],
        "motifs": len(catalogue.shown),
        "covered": f"{100 * covered:.1f} %" if distinct.get("motifs") else "",
    }


def row(pair: Pair, catalogues: Sequence[Catalogue]) -> dict[str, Any]:
    """A pair as the template shows it."""
    both = pair.before is not None and pair.after is not None
    numbers = [
        numbers_of(motif, catalogue)
        for motif, catalogue in zip((pair.before, pair.after), catalogues, strict=True)
    ]
    return {
        "picture": Markup(svg(pair.pattern)),  # its texts are escaped
        "text": str(pair.pattern),
        "numbers": [
            (name, *(of.get(name, "-") for of in numbers))
            for name in ("rank", "adds", "occurrences", "graphs")
            if any(name in of for of in numbers)
        ],
        "change": f"{pair.change:.2f} times" if both else "",
        "direction": "" if not both or pair.change == 1 else "up" if pair.change > 1 else "down",
    }


def numbers_of(motif: Motif | None, catalogue: Catalogue) -> dict[str, str]:
    """The numbers of a motif in one run; none where the run does not list it."""
    if motif is None:
        return {}
    variant = "" if motif.variant_of is None else f" (a variant of #{motif.variant_of})"
    found = {
        "rank": f"#{motif.id}{variant}",
        "occurrences": amount(motif.support.occurrences, motif.support.occurrences_quality),
        "graphs": amount(motif.support.graphs, motif.support.graphs_quality),
    }
    if motif.choice is not None:
        found["adds"] = f"{100 * motif.choice.gain / max(catalogue.run['set']['nodes'], 1):.1f} %"
    return found

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
    """A motif in the first run, in the second, or in both."""

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
    """The motifs gained, lost and changed between two runs."""

    gained: list[Pair]  # by their rank in the second run
    lost: list[Pair]  # by their rank in the first
    changed: list[Pair]  # the largest change first
    same: list[Pair]


def compare(first: Catalogue, second: Catalogue) -> Comparison:
    """Match the motifs of two runs by their patterns; types are the same where their names are."""
    before, after = by_pattern([first, second])
    both = [
        Pair(pattern, before[key][1], after[key][1]) for key, (pattern, _) in before.items() if key in after
    ]
    changed = [
        pair
        for pair in both
        if pair.before and pair.after and pair.before.support.occurrences != pair.after.support.occurrences
    ]
    changed.sort(key=lambda pair: -max(pair.change, 1 / max(pair.change, 1e-9)))
    return Comparison(
        gained=[Pair(pattern, None, motif) for key, (pattern, motif) in after.items() if key not in before],
        lost=[Pair(pattern, motif, None) for key, (pattern, motif) in before.items() if key not in after],
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
        runs=[
            {"name": run.resolve().name, **catalogue.run["settings"], "motifs": len(catalogue.motifs)}
            for run, catalogue in zip((first, second), catalogues, strict=True)
        ],
        groups=[(title, [row(pair) for pair in pairs]) for title, pairs in groups.values() if pairs],
        sizes=sorted({motif.size for catalogue in catalogues for motif in catalogue.motifs}),
        version=__version__,
    )
    with whole_file(out) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace")
    return {name: len(pairs) for name, (_, pairs) in groups.items()}


def row(pair: Pair) -> dict[str, Any]:
    """A pair as the template shows it."""
    both = pair.before is not None and pair.after is not None
    return {
        "picture": Markup(svg(pair.pattern)),  # its texts are escaped
        "text": str(pair.pattern),
        "before": numbers(pair.before),
        "after": numbers(pair.after),
        "change": f"{pair.change:.2f} times" if both else "",
        "direction": "" if not both or pair.change == 1 else "up" if pair.change > 1 else "down",
    }


def numbers(motif: Motif | None) -> list[str]:
    """Rank, occurrences and graphs."""
    if motif is None:
        return ["-"] * 3
    return [
        f"#{motif.id}",
        amount(motif.support.occurrences, motif.support.occurrences_quality),
        amount(motif.support.graphs, motif.support.graphs_quality),
    ]

"""A run as one self-contained HTML file: pictures, style and program included, without requests.

Names come from files of any origin. The templates escape them, the embedded data hide every ``<`` and ``&`` from the
HTML parser, the page's program writes them as text only, and a content security policy allows this one program and no
requests.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from grade import __version__
from grade.errors import InputError
from grade.files import whole_file
from grade.graphs import GraphSet
from grade.report.overlap import contained_in, one_node_apart
from grade.report.pictures import Palette, pattern_picture
from grade.report.prediction import prediction
from grade.report.rendering import render
from grade.report.significance_page import shown_test
from grade.report.stored_significance import kept, scores_by_key
from grade.report.surroundings import Places
from grade.runs import Catalogue, Motif, RunFolder
from grade.runs.searched import searched_set
from grade.search.ranking import needs_estimator
from grade.support import SUPPORTS

MANY, PLACES = 200, 3  # with this many motifs, each shows one place instead of several
STAGES = {
    "sampling": "Sampling",
    "training": "Fitting",
    "search": "Search",
    "selection": "Choice",
    "verification": "Verification",
}
SAMPLED = ("sampler", "samples", "estimator", "preset")  # settings that matter where something is sampled
HIDDEN = (
    "graphs",
    "k",
    "rank_by",
    "out",
    "threads",
)  # settings that the page's head has already, or that are of no interest


def write_page(run: Path, out: Path, graphs: GraphSet | None = None) -> dict[str, int]:
    """Write the page of a run, whole or not at all; returns the numbers of its motifs, of their variants, and of
    the other patterns that it lists on request.
    """
    check_page(out)
    folder = RunFolder.open(run)
    catalogue = folder.load_catalogue()
    with whole_file(out) as temporary:
        temporary.write_text(page(folder, catalogue, graphs), encoding="utf-8", errors="replace")
    variants = sum(motif.variant_of is not None for motif in catalogue.motifs)
    shown = len(catalogue.shown)
    return {"motifs": shown, "variants": variants, "others": len(catalogue.motifs) - shown - variants}


def check_page(out: Path) -> None:
    """Refuse a name without the right suffix."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{out} must end in .html to hold a page.")


def page(folder: RunFolder, catalogue: Catalogue, graphs: GraphSet | None = None) -> str:
    """The page of a run as text. Its graph set is loaded by the name that the run knows unless it is given."""
    missing = ""
    if graphs is None:
        try:
            graphs = searched_set(catalogue)
        except InputError as error:
            missing = f"Occurrences are not shown. {error}"
    timings = folder.timings()
    settings = catalogue.run["settings"]
    size = catalogue.levels[-1]["size"] if catalogue.run["partial"] and catalogue.levels else settings["k"]
    tests = kept(folder, catalogue)
    numbers = {motif.key: motif.id for motif in catalogue.motifs}
    return render(
        "page.html",
        data=page_data(folder, catalogue, graphs, scores_by_key(tests)),
        program_file="page.js+significance.js" if tests else "page.js",
        tests=[shown_test(test, f"test-{number}", numbers) for number, test in enumerate(tests, 1)],
        run=catalogue.run,
        name=folder.path.resolve().name,
        settings=settings_used(settings),
        levels=level_rows(catalogue.levels),
        size=size,
        scored=has_scores(catalogue),
        motifs=len(catalogue.shown),
        all_motifs=len(catalogue.motifs),
        distinct=catalogue.run["distinct"] or {},
        prediction=prediction(catalogue),
        qualities=qualities(catalogue.motifs),
        stages=[(STAGES.get(stage, stage), seconds) for stage, seconds in timings.items()],
        seconds=sum(timings.values()),
        missing=missing,
        data_latencies=any(latency_cell(folder, motif) for motif in catalogue.motifs),
        savings=any(motif.saving is not None for motif in catalogue.motifs),
        unnamed=graphs is not None and graphs.node_names is None,
        version=__version__,
    )


def settings_used(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that the run used: without those left out, and those for sampling or estimators if there were
    none.
    """
    sampled = settings.get("method") == "sampling" or settings.get("rank_by") in ("estimator", "probability")
    unused = HIDDEN if sampled else HIDDEN + SAMPLED
    return {
        name: value
        for name, value in settings.items()
        if name not in unused
        and value is not None
        and value is not False
        and value != []
        and (name, value) not in (("min_graphs", 1), ("min_mni", 1))
    }


def page_data(
    folder: RunFolder, catalogue: Catalogue, graphs: GraphSet | None, scores: Mapping[str, list[Any]]
) -> dict[str, Any]:
    """The data of the page's program."""
    palette, names = Palette(), Names()
    code: dict[int, dict[str, Any]] = {}
    listed: dict[int, list[list[Any]]] = {}
    if graphs is not None:
        export, files = (
            import_module("grade.export.on_page"),
            import_module("grade.export.occurrences").Files(),
        )
        code, listed = export.code_of(catalogue, graphs, files), export.listed_of(catalogue, graphs, files)
    motifs = motif_data(catalogue, graphs, palette)
    for motif, row in zip(catalogue.motifs, motifs, strict=True):
        row["listed"] = [[graph, *map(names.numbers, texts)] for graph, *texts in listed.get(motif.id, [])]
        row["latency"] = latency_cell(folder, motif)
        row["z"] = scores.get(motif.key)
    return {
        "run": folder.path.resolve().name,
        "nodes": catalogue.run["set"]["nodes"],
        "distinct": catalogue.run["distinct"],
        "motifs": motifs,
        "palette": palette.data(),
        "graphs": list(catalogue.graph_names),
        "names": names.texts,
        "code": code,
    }


class Names:
    """Names of nodes and tensors, each written once."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def numbers(self, texts: Sequence[str] | None) -> list[int] | None:
        """The numbers of names in `texts`; None for None."""
        return None if texts is None else [self.known.setdefault(text, len(self.known)) for text in texts]

    @property
    def texts(self) -> list[str]:
        return list(self.known)


def motif_data(catalogue: Catalogue, graphs: GraphSet | None, palette: Palette) -> list[dict[str, Any]]:
    """The data of each motif for the page."""
    patterns = catalogue.patterns
    near, inner = one_node_apart(patterns), contained_in(patterns, patterns)
    fusible = bool(catalogue.run["settings"].get("fusible"))
    places = None if graphs is None else Places(graphs, palette, fusible)
    most = PLACES if len(patterns) <= MANY else 1
    scored = has_scores(catalogue)
    rows = []
    for row, motif in enumerate(catalogue.motifs):
        support = motif.support
        rows.append(
            {
                "id": motif.id,
                "key": motif.key,
                "nodes": motif.size,
                "edges": len(motif.pattern.edge_list),
                "types": sorted({palette.number(name) for name in motif.pattern.type_names}),
                "picture": pattern_picture(motif.pattern, palette),
                "score": motif.score if scored and math.isfinite(motif.score) else None,
                "occurrences": [support.occurrences, support.occurrences_quality, support.standard_error],
                **{
                    name: [support.value(name), support.quality(name)]
                    for name in SUPPORTS
                    if name != "occurrences" and getattr(support, name) is not None
                },
                "saving": saving_cell(motif),
                "choice": None if motif.choice is None else list(asdict(motif.choice).values()),
                "variant": motif.variant_of,
                "common": [list(pair) for pair in support.most_common()],
                "places": [asdict(place) for place in places.of(motif, most)] if places else [],
                "near": [catalogue.motifs[other].id for other in near[row]],
                "contains": [catalogue.motifs[other].id for other, _ in inner[row]],
            }
        )
    return rows


def latency_cell(folder: RunFolder, motif: Motif) -> list[Any] | None:
    """The measurements of `grade time` of a motif: [seconds that fusing saves over the set, apart, fused, device,
    threads, [strategy, seconds, title or why it was left out] of each]. None where it did not.
    """
    try:
        found = folder.json(f"latencies/pattern-{motif.id:04}.json")
        if found is None or found["text"] != motif.text:
            return None
        rows = [
            [r["strategy"], r["seconds"], r["title"] if r["seconds"] else r["reason"]]
            for r in found["latencies"]
        ]
        seconds = {name: value for name, value, _ in rows}
        saved = found["saved_seconds"]
        total = None if saved is None else saved * (motif.support.disjoint or 0)
        apart, fused = (seconds.get(found[key]) for key in ("apart", "fused"))
        return [total, apart, fused, found["device"], found["threads"], rows]
    except (LookupError, TypeError):  # another file in its place
        return None


def saving_cell(motif: Motif) -> list[Any] | None:
    """The saving by fusing a motif: [total, unit, of one occurrence, where it comes from, whether it was measured]."""
    saving = motif.saving
    if saving is None:
        return None
    return [saving.total, saving.unit, saving.per_occurrence, saving.basis, saving.measured]


def has_scores(catalogue: Catalogue) -> bool:
    """Whether the search ranked by something that is no support or saving, which the page shows anyway."""
    settings = catalogue.run["settings"]
    return needs_estimator(settings["rank_by"]) or settings.get("weighting") == "graphs"


def level_rows(levels: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The levels with the length of their bars: the logarithm of the best count, as a share of the largest."""
    logarithms = [math.log10(max(level["best"], 1.0)) for level in levels]
    longest = max(logarithms, default=0.0) or 1.0
    return [
        {**level, "bar": round(100 * log / longest, 1)} for level, log in zip(levels, logarithms, strict=True)
    ]


def qualities(motifs: Sequence[Motif]) -> dict[str, dict[str, int]]:
    """Support -> quality -> number of motifs."""
    names = [name for name in SUPPORTS if any(getattr(motif.support, name) is not None for motif in motifs)]
    counts: dict[str, dict[str, int]] = {name: {} for name in names}
    for motif in motifs:
        for name in names:
            quality = motif.support.quality(name)
            counts[name][quality] = counts[name].get(quality, 0) + 1
    return counts

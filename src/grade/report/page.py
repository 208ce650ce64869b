"""A run as one HTML file that can be mailed: it holds its pictures, style and program, and asks nothing of anyone.

Names come from files of any origin. The templates escape them, the embedded data hide every ``<`` and ``&`` from the
HTML parser, the page's program writes them as text only, and a content security policy allows this one program and no
requests.
"""

import base64
import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from grade import __version__
from grade.errors import InputError
from grade.files import whole_file
from grade.graphs import GraphSet, Pattern
from grade.report.drawing import svg
from grade.report.overlap import contained_in, one_node_apart
from grade.report.surroundings import Places
from grade.runs import Catalogue, Motif, RunFolder
from grade.runs.searched import searched_set
from grade.support import SUPPORTS, amount

MANY = 200  # motifs from which on each shows one place, not several
PLACES = 3
BLOCKS, CANDIDATES = 6, 500  # small patterns of each size that are shown, and those they are chosen from
STAGES = {
    "sampling": "Sampling",
    "training": "Fitting",
    "search": "Search",
    "selection": "Choice",
    "verification": "Verification",
}


def write_page(run: Path, out: Path, graphs: GraphSet | None = None) -> int:
    """Write the page of a run, whole or not at all; returns the number of its motifs."""
    folder = RunFolder.open(run)
    catalogue = Catalogue.load(folder.catalogue)
    with whole_file(out) as temporary:
        temporary.write_text(page(folder, catalogue, graphs), encoding="utf-8", errors="replace")
    return len(catalogue.motifs)


def page(folder: RunFolder, catalogue: Catalogue, graphs: GraphSet | None = None) -> str:
    """The page of a run as text. Its graph set is loaded by the name that the run knows unless it is given."""
    missing = ""
    if graphs is None:
        try:
            graphs = searched_set(catalogue)
        except InputError as error:
            missing = f"Occurrences are not drawn. {error}"
    timings = folder.timings()
    patterns = catalogue.patterns
    blocks, inside = building_blocks(folder, catalogue, patterns)
    data = {
        "motifs": motif_data(catalogue, graphs, patterns, inside),
        "blocks": blocks,
    }
    chosen = catalogue.run["settings"].items()
    settings = {name: value for name, value in chosen if value is not None and value is not False}
    return render(
        "page.html",
        data=data,
        run=catalogue.run,
        name=folder.path.resolve().name,
        settings=settings,
        levels=level_rows(catalogue.levels),
        size=catalogue.levels[-1]["size"] if catalogue.run["partial"] else catalogue.run["settings"]["k"],
        motifs=len(catalogue.motifs),
        qualities=qualities(catalogue.motifs),
        stages=[(STAGES.get(stage, stage), seconds) for stage, seconds in timings.items()],
        seconds=sum(timings.values()),
        missing=missing,
        unnamed=graphs is not None and graphs.node_names is None,
        version=__version__,
    )


def render(template: str, data: dict[str, Any], program_file: str = "page.js", **values: Any) -> str:
    """Fill a template of this folder; what it is given is escaped."""
    folder = files("grade.report") / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text("utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    program = (folder / program_file).read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    environment.filters["amount"] = lambda pair: amount(*pair)
    return environment.get_template(template).render(
        data=Markup(embedded(data)),
        program=Markup(program),
        style=Markup((folder / "page.css").read_text("utf-8")),
        program_hash=digest,
        **values,
    )


def embedded(data: Any) -> str:
    """JSON that can stand in a script element: nothing in it can end the element or begin a comment.

    >>> embedded({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def motif_data(
    catalogue: Catalogue,
    graphs: GraphSet | None,
    patterns: Sequence[Pattern],
    blocks: Sequence[list[tuple[int, int]]],
) -> list[dict[str, Any]]:
    """All that the page shows of each motif."""
    nodes = max(catalogue.run["set"]["nodes"], 1)
    near, inner = one_node_apart(patterns), contained_in(patterns, patterns)
    places = Places(graphs, bool(catalogue.run["settings"].get("fusible"))) if graphs is not None else None
    most = PLACES if len(patterns) <= MANY else 1
    return [
        {
            "id": motif.id,
            "key": motif.key,
            "text": motif.text,
            "nodes": motif.size,
            "edges": len(pattern.edge_list),
            "types": sorted(set(pattern.type_names)),
            "picture": svg(pattern),
            "score": motif.score if math.isfinite(motif.score) else None,
            "occurrences": [
                motif.support.occurrences,
                motif.support.occurrences_quality,
                motif.support.standard_error,
            ],
            "graphs": [motif.support.graphs, motif.support.graphs_quality],
            "disjoint": [motif.support.value("disjoint"), motif.support.disjoint_quality],
            "coverage": [
                round(100 * motif.support.value("coverage") / nodes, 2),
                motif.support.coverage_quality,
            ],
            "common": catalogue.most_common(motif, 10),
            "places": [asdict(place) for place in places.of(motif, most)] if places else [],
            "near": [catalogue.motifs[other].id for other in near[row]],
            "contains": [catalogue.motifs[other].id for other, _ in inner[row]],
            "blocks": blocks[row],
        }
        for row, (motif, pattern) in enumerate(zip(catalogue.motifs, patterns, strict=True))
    ]


def building_blocks(
    folder: RunFolder, catalogue: Catalogue, patterns: Sequence[Pattern]
) -> tuple[list[dict[str, Any]], list[list[tuple[int, int]]]]:
    """The patterns of three and four nodes that lie in the most motifs; and for each motif which, and how often."""
    blocks: list[dict[str, Any]] = []
    inside: list[list[tuple[int, int]]] = [[] for _ in patterns]
    for size in range(3, min([5, *(pattern.size for pattern in patterns)])):
        known = folder.level_patterns(size, catalogue.node_vocabulary, catalogue.edge_vocabulary)[:CANDIDATES]
        found = contained_in([pattern for pattern, _ in known], patterns)
        motifs = Counter(number for row in found for number, _ in row)
        for number, count in sorted(motifs.items(), key=lambda item: (-item[1], item[0]))[:BLOCKS]:
            for row, contained in enumerate(found):
                inside[row] += [(len(blocks), times) for other, times in contained if other == number]
            pattern = known[number][0]
            blocks.append({"text": str(pattern), "picture": svg(pattern), "motifs": count})
    return blocks, inside


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

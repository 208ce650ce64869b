"""From a pattern and the name of a format to a file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grade.errors import InputError
from grade.export.graph_formats import as_json, dot, graphml
from grade.export.occurrences import Occurrence, Occurrences
from grade.export.onnx_model import onnx_model
from grade.export.plan import Operands
from grade.export.pytorch import source_code
from grade.export.translation import translate
from grade.files import whole_file
from grade.graphs import GraphSet, Pattern
from grade.report.drawing import png, svg
from grade.runs import Catalogue, Motif, RunFolder
from grade.runs.searched import searched_set

TRIED = 20  # occurrences tried until one can be cut out of its file


def as_pytorch(pattern: Pattern, name: str, about: str, places: Operands = None) -> bytes:
    return source_code(pattern, class_name(name), about, places).encode()


def as_onnx(pattern: Pattern, name: str, about: str, places: Operands = None) -> bytes:
    return bytes(onnx_model(pattern, name, about, places).SerializeToString())


FORMATS: dict[str, tuple[str, Callable[[Pattern, str, str], bytes]]] = {  # name -> (suffix, writer)
    "pytorch": (".py", as_pytorch),
    "onnx": (".onnx", as_onnx),
    "graphml": (".graphml", lambda pattern, name, about: graphml(pattern).encode(errors="replace")),
    "dot": (".dot", lambda pattern, name, about: dot(pattern).encode(errors="replace")),
    "json": (".json", lambda pattern, name, about: as_json(pattern).encode()),
    "svg": (".svg", lambda pattern, name, about: svg(pattern).encode(errors="replace")),
    "png": (".png", lambda pattern, name, about: png(pattern)),
}


@dataclass(frozen=True)
class Exported:
    """The file written, and its origin."""

    file: Path
    occurrence: Occurrence | None = None  # that attributes, operand order and shapes come from
    reason: str = ""  # why there is none
    unknown: tuple[str, ...] = ()  # operators that have no counterpart
    weights: Path | None = None


def export(
    run: Path,
    number: int,
    to: str,
    out: Path | None = None,
    values: bool = False,
    pattern_only: bool = False,
    graphs: GraphSet | None = None,
) -> Exported:
    """Write motif ``number`` of a run in a format.

    As PyTorch and ONNX it is equivalent to an occurrence in a model of the set, if the model's file is at hand;
    otherwise it is made from the pattern alone, with example shapes.
    """
    if to not in FORMATS:
        raise InputError(f"There is no format {to!r}; known: {', '.join(FORMATS)}.")
    catalogue = RunFolder.open(run).load_catalogue()
    motif = catalogue.motif(number, run)
    suffix, write = FORMATS[to]
    target = out or Path(f"motif-{number}{suffix}")
    name, reason, places = f"motif-{number}", "", None
    if to in ("pytorch", "onnx") and not pattern_only:
        try:
            graphs = graphs or searched_set(catalogue)
            found = Occurrences(graphs, motif.pattern, TRIED, bool(catalogue.run["settings"].get("fusible")))
            places = operands_of(found)
            return of_occurrence(found, to, target, values, name, about(motif, catalogue))
        except InputError as error:
            reason = str(error)
    if places is not None:
        content = (as_onnx if to == "onnx" else as_pytorch)(
            motif.pattern, name, about(motif, catalogue), places
        )
    else:
        content = write(motif.pattern, name, about(motif, catalogue))
    with whole_file(target) as temporary:
        temporary.write_bytes(content)
    return Exported(target, reason=reason)


def of_occurrence(
    found: Occurrences, to: str, target: Path, values: bool, name: str, sentence: str
) -> Exported:
    """Write the first occurrence that can be cut out of its model; for PyTorch rather one without unknown operators."""
    made, occurrence = found.first_cut(values)
    sentence += f", as in {occurrence.graph} at {', '.join(occurrence.nodes)}"
    if to == "onnx":
        made.model.doc_string = sentence
        with whole_file(target) as temporary:
            temporary.write_bytes(made.model.SerializeToString())
        return Exported(target, occurrence)
    translated = translate(made.model, set(made.weights), class_name(name), sentence)
    weights = target.with_suffix(".safetensors") if values and translated.parameters else None
    if weights is not None:
        with whole_file(weights) as temporary:
            temporary.write_bytes(translated.weights(made.model))
    with whole_file(target) as temporary:
        temporary.write_text(translated.source, encoding="utf-8")
    return Exported(target, occurrence, unknown=translated.unknown, weights=weights)


def operands_of(found: Occurrences) -> dict[tuple[int, int], list[int]] | None:
    """Operand places of the pattern's edges as in its first occurrence: (source, target) -> places; None: not known."""
    if len(found) == 0 or found.graphs.in_operands is None:
        return None
    row = found.rows[0]
    nodes = [int(row[place]) for place in found.order(row)]
    return {
        (nodes.index(source), target): [
            arc.operand for arc, other in found.graphs.operands(node) if other == source
        ]
        for target, node in enumerate(nodes)
        for _, source in found.graphs.operands(node)
        if source in nodes
    }


def class_name(name: str) -> str:
    return name.title().replace("-", "")


def about(motif: Motif, catalogue: Catalogue) -> str:
    """One sentence on where a motif comes from."""
    return f"Motif {motif.id} of {catalogue.run['settings']['graphs']}: {motif.text}"

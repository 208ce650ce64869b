"""From a pattern and the name of a format to a file."""

from collections.abc import Callable
from pathlib import Path

from grade.errors import InputError
from grade.export.graph_formats import as_json, dot, graphml
from grade.export.onnx_model import onnx_model
from grade.export.pytorch import source_code
from grade.files import whole_file
from grade.graphs import Pattern
from grade.report.drawing import png, svg
from grade.runs import Catalogue, Motif, RunFolder


def as_pytorch(pattern: Pattern, name: str, about: str) -> bytes:
    return source_code(pattern, name.title().replace("-", ""), about).encode()


def as_onnx(pattern: Pattern, name: str, about: str) -> bytes:
    return bytes(onnx_model(pattern, name, about).SerializeToString())


FORMATS: dict[str, tuple[str, Callable[[Pattern, str, str], bytes]]] = {  # name -> (suffix, writer)
    "pytorch": (".py", as_pytorch),
    "onnx": (".onnx", as_onnx),
    "graphml": (".graphml", lambda pattern, name, about: graphml(pattern).encode(errors="replace")),
    "dot": (".dot", lambda pattern, name, about: dot(pattern).encode(errors="replace")),
    "json": (".json", lambda pattern, name, about: as_json(pattern).encode()),
    "svg": (".svg", lambda pattern, name, about: svg(pattern).encode(errors="replace")),
    "png": (".png", lambda pattern, name, about: png(pattern)),
}


def export(run: Path, number: int, to: str, out: Path | None = None) -> Path:
    """Write motif ``number`` of a run in a format; returns where it is."""
    if to not in FORMATS:
        raise InputError(f"There is no format {to!r}; known: {', '.join(FORMATS)}.")
    catalogue = Catalogue.load(RunFolder.open(run).catalogue)
    if not 1 <= number <= len(catalogue.motifs):
        raise InputError(f"--pattern is {number}, but {run} has patterns 1 to {len(catalogue.motifs)}.")
    suffix, write = FORMATS[to]
    target = out or Path(f"motif-{number}{suffix}")
    motif, pattern = catalogue.motifs[number - 1], catalogue.patterns[number - 1]
    content = write(pattern, f"motif-{number}", about(motif, catalogue))
    with whole_file(target) as temporary:
        temporary.write_bytes(content)
    return target


def about(motif: Motif, catalogue: Catalogue) -> str:
    """One sentence on where a motif comes from."""
    return f"Motif {motif.id} of {catalogue.run['settings']['graphs']}: {motif.text}"

"""Reports of commands and of runs: tables, pages, files."""

from dataclasses import dataclass
from pathlib import Path

from grade.settings.parameters import Settings, argument, option


@dataclass(frozen=True, kw_only=True)
class OutputSettings(Settings):
    """How a command reports."""

    json: bool = option(
        "Print one JSON object on standard output and nothing else there.", "--json", default=False
    )


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """Showing a run."""

    run: Path = argument("The folder of a run that 'grade mine' made.", metavar="RUN")
    top: int = option("Number of patterns to show.", "--top", default=20, metavar="N", least=0)


@dataclass(frozen=True, kw_only=True)
class ReportSettings(Settings):
    """Writing a page on a run, or on two."""

    runs: list[Path] = argument("The folder of a run, or the folders of two to compare.", metavar="RUN [RUN]")
    out: Path | None = option(
        "The file to write; by default report.html in the folder of the run, or comparison.html here.",
        "--out",
        default=None,
        metavar="FILE",
    )
    open: bool = option("Open the page in the browser.", "--open", default=False)


@dataclass(frozen=True, kw_only=True)
class ExportSettings(Settings):
    """A pattern of a run for use elsewhere."""

    run: Path = argument("The folder of a run that 'grade mine' made.", metavar="RUN")
    pattern: int = option("Number of the pattern in the run; 1 is the best.", "--pattern", metavar="I")
    to: str = option(
        "pytorch (source code of a module), onnx (a model), graphml, dot, json, svg or png.",
        "--to",
        metavar="FORMAT",
    )
    out: Path | None = option(
        "The file to write; by default motif-I with the usual ending, here.",
        "--out",
        default=None,
        metavar="FILE",
    )
    values: bool = option(
        "Export the values of the weights as well (onnx: in the model; pytorch: in a .safetensors file beside it).",
        "--values",
        default=False,
    )
    pattern_only: bool = option(
        "For pytorch and onnx: use example shapes even if a model file with an occurrence is at hand.",
        "--pattern-only",
        default=False,
    )


@dataclass(frozen=True, kw_only=True)
class OccurrencesSettings(Settings):
    """Where a pattern of a run occurs."""

    run: Path = argument(
        "The folder of a run that 'grade mine' made; for a pattern as text also a graph set.",
        metavar="RUN",
    )
    pattern: str = option(
        "Number of the pattern in the run (1 is the best), or a pattern as text, such as 'Conv* -> Relu'.",
        "--pattern",
        metavar="PATTERN",
    )
    non_induced: bool = option(
        "Allow further edges between the nodes of an occurrence.",
        "--non-induced",
        default=False,
    )
    to: str | None = option(
        "jsonl or csv (one line for each occurrence), or onnx (a model for each, cut out of its file).",
        "--to",
        default=None,
        metavar="FORMAT",
    )
    out: Path | None = option(
        "The file to write, or the folder for models; by default occurrences-I (of a text: occurrences) with the"
        " usual ending, here.",
        "--out",
        default=None,
        metavar="PATH",
    )
    limit: int = option("Most occurrences to list.", "--limit", default=1000, metavar="N", least=1)
    values: bool = option(
        "Keep the values of all weights in the models, not only their shapes.", "--values", default=False
    )

"""Building, reading, describing and comparing graph sets."""

from dataclasses import dataclass
from pathlib import Path

from grade.settings.parameters import Settings, argument, option, set_argument, threads_option


@dataclass(frozen=True, kw_only=True)
class BuildSettings(Settings):
    """Building a graph set and saving it."""

    sources: list[str] = argument(
        "Files, folders, globs ('models/**/*.onnx'), saved sets or built-in names.", metavar="SOURCE"
    )
    out: Path = argument("The folder to write.", metavar="OUT")
    overwrite: bool = option("Replace OUT if it is a graph set already.", "--force", default=False)
    strict: bool = option(
        "Stop at the first input that cannot be read, instead of skipping it.", "--strict", default=False
    )
    merge_duplicates: bool = option(
        "Keep only one of several graphs with exactly the same structure.",
        "--merge-duplicates",
        default=False,
    )
    workers: int | None = option(
        "Processes that read files; by default one for each available core.",
        "--workers",
        default=None,
        metavar="N",
    )
    seconds: float = option(
        "Time limit for each input, in seconds.", "--seconds", default=300.0, metavar="S", above=0
    )
    memory: float = option(
        "Memory limit for each input, in GiB.",
        "--memory",
        default=4.0,
        metavar="GIB",
        above=0,
    )


@dataclass(frozen=True, kw_only=True)
class ReadSettings(Settings):
    """How a model is read as a graph."""

    constants: bool = option("Keep Constant operators as nodes.", "--constants", default=False)
    initializers: bool = option(
        "Keep weights (ONNX initializers, PyTorch parameters) as nodes.", "--initializers", default=False
    )
    drop: str = option(
        "Remove operators of these types that pass their first input on, and connect their consumers to its producer;"
        " wildcards may be used, '' keeps all. For ONNX and PyTorch models and Younger's graphs.",
        "--drop",
        default="Identity,Dropout",
        metavar="TYPES",
        may_be_empty=True,
    )
    fold: bool = option("Drop operators that compute on constants and weights only.", "--fold", default=False)
    positions: bool = option(
        "Type each edge by the input that it feeds: 0, 1, 0+1 ...", "--positions", default=False
    )
    parallel: bool = option(
        "Type merged parallel edges by their number: edge, edge x2 ...",
        "--parallel",
        default=False,
    )
    attributes: list[str] | None = option(
        "Put an ONNX attribute into the node type: kernel_shape, or Conv.kernel_shape for one operator only; may be"
        " given several times.",
        "--attribute",
        default=None,
        metavar="NAME",
    )
    names: str = option(
        "Names of PyTorch operators: aten (aten.conv2d) or onnx (Conv, where there is such an operator).",
        "--names",
        default="aten",
        metavar="NAME",
    )
    type_key: str = option(
        "The attribute of a node that holds its type in GraphML and JSON lines.",
        "--type-key",
        default="type",
        metavar="NAME",
    )


@dataclass(frozen=True, kw_only=True)
class InfoSettings(Settings):
    """Describing a graph set."""

    graphs: str = set_argument()


@dataclass(frozen=True, kw_only=True)
class DiffSettings(Settings):
    """Comparing two graph sets."""

    graphs: str = set_argument()
    other: str = argument("The set to compare it with.", metavar="OTHER")
    k: int = option(
        "Number of nodes of the patterns, 2 to 16.", "-k", default=4, metavar="K", least=2, most=16
    )
    threads: int | None = threads_option()
    top: int = option(
        "Number of types and patterns to show, those that differ most first.",
        "--top",
        default=15,
        metavar="N",
        least=0,
    )

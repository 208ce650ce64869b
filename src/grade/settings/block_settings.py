"""Repeated regions of any size, and models written with them."""

from dataclasses import dataclass
from pathlib import Path

from grade.settings.parameters import Settings, argument, option, set_argument


@dataclass(frozen=True, kw_only=True)
class BlocksSettings(Settings):
    """Finding blocks: regions that repeat, whatever their size."""

    graphs: str = set_argument()
    min_count: int = option("Fewest occurrences of a block.", "--min-count", default=2, metavar="N", least=2)
    min_graphs: int = option(
        "Fewest graphs that a block occurs in.", "--min-graphs", default=1, metavar="N", least=1
    )
    max_size: int | None = option(
        "Most nodes of a block; its repetitions may have more.",
        "--max-size",
        default=None,
        metavar="N",
        least=2,
    )
    outputs: int = option(
        "Most outputs of a block. With more than 1 it may contain values that are read elsewhere or are graph outputs,"
        " such as a cache of keys.",
        "--outputs",
        default=1,
        metavar="M",
        least=1,
    )
    ignore_operands: bool = option(
        "Treat blocks as equal if their operators read the same inputs in another order.",
        "--ignore-operands",
        default=False,
    )
    blocks: Path | None = option(
        "Find only the blocks of this folder, which 'grade blocks --out' made, and no new ones.",
        "--blocks",
        default=None,
        metavar="RUN",
    )
    top: int = option("Number of blocks to list.", "--top", default=20, metavar="N", least=0)
    model: str | None = option(
        "The graph whose outline to print; by default all graphs of a small set.",
        "--model",
        default=None,
        metavar="NAME",
    )
    out: Path | None = option(
        "Keep the result in this folder: blocks.json, grammar.npz, the page blocks.html, and names.json, where blocks"
        " can be given other names before the command is repeated.",
        "--out",
        default=None,
        metavar="RUN",
    )


@dataclass(frozen=True, kw_only=True)
class OutlineSettings(Settings):
    """Writing a model with its blocks as functions or modules."""

    model: Path = argument("An ONNX model.", metavar="MODEL.onnx")
    out: Path = option(
        "The file to write: a model, or source code with --to pytorch.", "--out", metavar="FILE"
    )
    to: str = option(
        "onnx (local functions) or pytorch (source, one module class per block).",
        "--to",
        default="onnx",
        metavar="FORMAT",
    )
    flat: bool = option("Write no functions that call functions.", "--flat", default=False)
    min_count: int = option("Fewest occurrences of a block.", "--min-count", default=2, metavar="N", least=2)
    max_size: int | None = option(
        "Most operators of a block.", "--max-size", default=None, metavar="N", least=2
    )
    blocks: Path | None = option(
        "Find only the blocks of this folder, which 'grade blocks --out' made; each one that is found"
        " becomes a function of its name.",
        "--blocks",
        default=None,
        metavar="RUN",
    )

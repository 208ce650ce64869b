"""The blocks of a folder that `grade blocks --out` made, as a library for other sets."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from grade.blocks.grammar import NOTHING, Grammar, Wiring
from grade.blocks.keeping import ARRAYS, GRAMMAR, read_result
from grade.errors import InputError
from grade.sealed import arrays_in
from grade.settings import BlocksSettings


@dataclass(frozen=True, eq=False)
class Library:
    """Blocks to look for: the one that saved most first."""

    folder: Path
    grammar: Grammar  # its symbols; it has no units
    symbols: list[int]
    names: list[str]

    @property
    def operands(self) -> bool:
        """Whether edges say which operands they feed."""
        return any(word for _, word in self.grammar.wiring.label_names)


def read_library(folder: Path) -> Library:
    """Read the rules, their types and their names."""
    rows: list[dict[str, Any]] = read_result(folder)["blocks"]
    try:
        names = [str(row["name"]) for row in rows]
        with np.load(folder / GRAMMAR, allow_pickle=False) as file:
            stored = arrays_in(file)
        arrays = {name: stored[name].astype(np.int64) for name in ARRAYS}
        symbols = stored["block_symbols"].astype(np.int64)
        type_names = tuple(map(str, stored["type_names"].tolist()))
        labels = tuple((str(edge), str(word)) for edge, word in stored["label_names"].tolist())
        library = Library(folder, symbols_only(arrays, type_names, labels), symbols.tolist(), names)
        check(library)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, BadZipFile):
        raise InputError(
            f"The blocks in {folder} cannot be read; find them again with 'grade blocks SET --out {folder}'."
        ) from None
    return library


def symbols_only(
    arrays: dict[str, Any], type_names: tuple[str, ...], label_names: tuple[tuple[str, str], ...]
) -> Grammar:
    """A grammar without a graph."""
    nothing = np.zeros(0, np.uint32)
    wiring = Wiring(
        np.zeros(1, np.int64),
        nothing,
        nothing,
        nothing,
        nothing,
        np.zeros(0, np.bool_),
        type_names,
        label_names,
        (),
    )
    none = np.zeros(0, np.int64)
    return Grammar(
        wiring,
        types=int((arrays["first"] == NOTHING).sum()),
        labels=none,
        offsets=np.zeros(1, np.int64),
        order=nothing,
        levels=nothing,
        **arrays,
    )


def check(library: Library) -> None:
    """Refuse numbers that point at nothing: files can be damaged."""
    grammar = library.grammar
    symbols = np.arange(grammar.symbols)
    rules = symbols[grammar.types :]
    parts = [grammar.first[rules], np.where(grammar.copies[rules] > 0, 0, grammar.second[rules])]
    sizes = np.where(
        grammar.copies[rules] > 0,
        grammar.copies[rules] * grammar.sizes[parts[0]],
        grammar.sizes[parts[0]] + grammar.sizes[parts[1]],
    )
    places, labels = grammar.reads[:, :2], grammar.reads[:, 2]
    readers = np.repeat(symbols, np.diff(grammar.read_offsets))
    if not (
        len(library.symbols) == len(library.names)
        and grammar.types <= len(grammar.wiring.type_names)
        and (grammar.first[: grammar.types] == NOTHING).all()
        and all(grammar.types <= symbol < grammar.symbols for symbol in library.symbols)
        and all(((part >= 0) & (part < rules)).all() for part in parts)
        and (grammar.sizes[: grammar.types] == 1).all()
        and (grammar.sizes[rules] == sizes).all()
        and ((grammar.roots >= 0) & (grammar.roots < grammar.sizes)).all()
        and len(readers) == len(grammar.reads)
        and ((labels >= 0) & (labels < len(grammar.wiring.label_names))).all()
        and ((places >= 0) & (places < grammar.sizes[readers][:, None])).all()
    ):
        raise ValueError("damaged")


def refuse_limits(settings: BlocksSettings) -> None:
    """Blocks of a library are taken as they are."""
    for field in fields(settings):
        limits = field.name in ("min_count", "min_graphs", "max_size", "outputs")
        if limits and getattr(settings, field.name) != field.default:
            raise InputError(
                f"`{field.name}` limits the search for new blocks; leave it out or leave out `blocks`."
            )

"""The folder of a result: blocks.json for people and programs, grammar.npz with every rule and unit, names.json.

names.json maps the name that a block got to the one that it should have. It is written when there is none, and read
when the command is repeated. The other two carry checksums.
"""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grade import __version__
from grade.errors import InputError
from grade.files import whole_file, writable_target
from grade.sealed import checksum_of, damaged_file, sealed_description

if TYPE_CHECKING:
    from grade.blocks.finding import Blocks

# Of every symbol: see `grade.blocks.grammar.Grammar`.
ARRAYS = ("first", "second", "copies", "sizes", "roots", "read_offsets", "reads")
RESULT, GRAMMAR, NAMES = "blocks.json", "grammar.npz", "names.json"
FORMAT = 2
MOST_DRAWN = 400  # nodes of a block whose structure is written out


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else, before long work starts."""
    writable_target(folder)
    if folder.exists() and (
        not folder.is_dir() or (any(folder.iterdir()) and not (folder / RESULT).is_file())
    ):
        raise InputError(f"{folder} exists and holds no blocks; choose another folder.")


def names_in(folder: Path) -> dict[str, str]:
    """The names that a person gave in names.json."""
    path = folder / NAMES
    if not path.is_file():
        return {}
    try:
        names = json.loads(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read as JSON ({error}); mend it or remove it.") from None
    if not isinstance(names, dict) or not all(isinstance(name, str) and name for name in names.values()):
        raise InputError(f"{path} must map names to names; mend it or remove it.")
    return {old: new for old, new in names.items() if old != new}


def keep(found: "Blocks", folder: Path) -> None:
    """Write all of it; where that fails, a new folder is removed."""
    new = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        write_files(found, folder)
    except BaseException:
        if new:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def write_files(found: "Blocks", folder: Path) -> None:
    grammar, wiring = found.grammar, found.grammar.wiring
    with whole_file(folder / GRAMMAR) as path, path.open("wb") as file:
        np.savez_compressed(
            file,
            **{name: getattr(grammar, name) for name in ARRAYS},
            block_symbols=np.array([block.symbol for block in found.blocks], np.int64),
            type_names=np.array(wiring.type_names, np.str_),
            label_names=np.array(wiring.label_names, np.str_).reshape(-1, 2),
            labels=grammar.labels,
            offsets=grammar.offsets,
            order=grammar.order,
            kept=found.kept,
            sources=wiring.sources[grammar.between],
            targets=wiring.targets[grammar.between],
            edge_labels=wiring.labels[grammar.between],
        )
    with whole_file(folder / RESULT) as path:
        files = {GRAMMAR: checksum_of(folder / GRAMMAR)}
        path.write_text(sealed_description(description(found), files), "utf-8")
    if not (folder / NAMES).is_file():
        with whole_file(folder / NAMES) as path:
            path.write_text(json.dumps({block.name: block.name for block in found.blocks}, indent=1), "utf-8")


def read_result(folder: Path) -> dict[str, Any]:
    """The content of blocks.json, once it and the grammar are known to be as they were written."""
    if not (folder / RESULT).is_file():
        raise InputError(f"{folder} holds no blocks; make it with 'grade blocks SET --out {folder}'.")
    try:
        result: dict[str, Any] = json.loads((folder / RESULT).read_text("utf-8"))
        old = result["format"] != FORMAT
        damaged = None if old else damaged_file(folder, RESULT, result)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        old, damaged = False, RESULT
    again = f"find the blocks again with 'grade blocks SET --out {folder}'"
    if old:
        raise InputError(f"{folder} was written by an earlier version of GraDE; {again}.")
    if damaged is not None:
        raise InputError(f"{folder / damaged} is damaged; {again}.")
    return result


def description(found: "Blocks") -> dict[str, Any]:
    """The content of blocks.json: the table with the parts of each block, and its structure unless it is large."""
    wiring = found.grammar.wiring
    data = {"format": FORMAT, "version": __version__, **found.data()}
    data |= {"graphs": found.settings.graphs, "digest": found.graphs.digest}
    for row, block in zip(data["blocks"], found.blocks, strict=True):
        row["parts"] = [found.text(unit) for unit in found.inside(block.symbol)]
        if block.nodes > MOST_DRAWN:
            continue
        types, edges = found.grammar.structure(block.symbol)
        row["example"] = found.occurrences(block)[0].tolist()  # global node ids, in the order of the types
        row["node_types"] = [wiring.type_names[t] for t in types]
        row["edges"] = [
            [source, target, *(word for word in wiring.label_names[label] if word not in ("", "edge"))]
            for source, target, label in edges.tolist()
        ]
    return data

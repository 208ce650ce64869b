"""Graph sets on disk: a folder of memory-mapped .npy files and one JSON.

    graph-set.json      format, version, counts, vocabularies, origin, and of every array its length and checksum
    node_offsets.npy    the arrays of a GraphSet, each under its name (`grade.graphs.stored_arrays`): those that
    node_types.npy ...  every set has, and those of the annotations that this one has
    graph_names.data.npy graph_names.offsets.npy       tables of strings are two arrays each

Opening compares the JSON with its own checksum, and the header and size of every file with the JSON. A set of up
to 64 MiB is then checked in full: every array against its SHA-256, every index. A larger one opens in
milliseconds whatever its size; its arrays are checked in full by `GraphSet.check`, which building from it,
comparing it and ``grade graphs info`` call, and every index is checked before the native core works on it. Every 65,536
entries have a CRC-32 beside it, so that opening a slice of a set checks that
slice only. Sets
of version 1 have no checksums and none of the annotations but node names.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.files import whole_folder, writable_target
from grade.graphs.graph_set import GraphSet
from grade.graphs.operands import UNKNOWN, is_operand_word
from grade.graphs.origins import Origins
from grade.graphs.stored_arrays import (
    DTYPES,
    STRUCTURE,
    TABLES,
    arrays_of,
    checksum,
    checksums,
    digest_of,
    lengths,
    stretch_that_differs,
)
from grade.graphs.strings import StringTable
from grade.sealed import FolderKind

DESCRIPTION = "graph-set.json"
KIND = FolderKind(
    "graph set",
    DESCRIPTION,
    "grade-graph-set",
    2,
    "grade graphs build",
    "build it again with 'grade graphs build'",
)
CHECKED_AT_ONCE = 64 << 20  # bytes of a set that is checked in full when it is opened
FILE_TABLES = ("file_paths", "file_digests")


def save_graph_set(graphs: GraphSet, folder: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a set to a folder, whole or not at all.

    A folder that exists is replaced only with ``overwrite``, and only when it is empty or a graph set itself.

    >>> import tempfile
    >>> graphs = GraphSet.from_edges(node_counts=[2], node_types=[0, 0], edge_counts=[1], edges=[[0, 1]],
    ...                              node_vocabulary=["conv"])
    >>> folder = Path(tempfile.mkdtemp()) / "set"
    >>> save_graph_set(graphs, folder)
    >>> load_graph_set(folder).successors(0), load_graph_set(folder).digest == graphs.digest
    (array([1], dtype=uint32), True)
    """
    check_target(folder, overwrite)
    arrays = arrays_of(graphs)
    files = 0
    if graphs.origins is not None:
        files = len(graphs.origins.paths)
        paths = graphs.origins.relative_to(writable_target(folder)).paths
        arrays |= {"file_paths.data": paths.data, "file_paths.offsets": paths.offsets}
    with whole_folder(folder) as temporary:
        for name, array in arrays.items():
            np.save(temporary / f"{name}.npy", np.asarray(array, DTYPES[name]), allow_pickle=False)
        write_description(
            temporary,
            graphs.origin,
            (len(graphs), graphs.nodes, graphs.edges, files),
            {name: (len(array), *checksums(array, DTYPES[name])) for name, array in arrays.items()},
            graphs.vocabularies,
        )


def write_description(
    folder: Path,
    origin: str,
    counts: tuple[int, int, int, int],
    arrays: dict[str, tuple[int, str, str]],
    vocabularies: dict[str, tuple[str, ...]],
) -> None:
    """The JSON of a set with these numbers of graphs, nodes, edges and files.

    ``arrays`` has of every array its length, its checksum, and those of its stretches.
    """
    content = {
        "format": KIND.format,
        "version": KIND.version,
        "origin": origin,
        **dict(zip(("graphs", "nodes", "edges", "files"), counts, strict=True)),
        "digest": digest_of({name: value for name, (_, value, _) in arrays.items()}, vocabularies),
        "arrays": {
            name: {"length": length, "sha256": value, "crc32": stretches}
            for name, (length, value, stretches) in arrays.items()
        },
        **vocabularies,
    }
    content["checksum"] = checksum_of(content)
    (folder / DESCRIPTION).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def checksum_of(description: dict[str, Any]) -> str:
    """SHA-256 of a description, without the checksum in it."""
    content = {name: value for name, value in description.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def load_graph_set(folder: str | os.PathLike[str], graphs: tuple[int, int] | None = None) -> GraphSet:
    """Open a saved set; its arrays stay on disk until used. A damaged or foreign folder is refused.

    ``graphs`` = (first, last) opens a slice of it, graphs first .. last - 1, and reads no edge of the others. Its
    structure is compared with the checksums that every few entries have.
    """
    opened = open_graph_set(Path(folder))
    if graphs is not None:
        first, last = graphs
        if not 0 <= first <= last <= len(opened):
            raise InputError(f"{folder} has graphs 0 to {len(opened) - 1}, not all of {first} to {last - 1}.")
        check_slice(Path(folder), opened, first, last)
        return opened.slice(first, last)
    size = sum((Path(folder) / f"{name}.npy").stat().st_size for name in arrays_of(opened))
    return opened.check() if size <= CHECKED_AT_ONCE else opened


def check_slice(folder: Path, opened: GraphSet, first: int, last: int) -> None:
    """Refuse a slice whose arrays do not match their checksums. (Sets of older versions have none.)"""
    known = read_description(folder)["arrays"]

    def check(name: str, begin: int, end: int) -> None:
        stretches = known[name].get("crc32")
        if stretches is not None and stretch_that_differs(getattr(opened, name), stretches, begin, end):
            raise KIND.damaged(folder, f"{name}.npy does not match its checksum")

    check("node_offsets", first, last + 1)
    nodes = int(opened.node_offsets[first]), int(opened.node_offsets[last])
    check("node_types", *nodes)
    if opened.graph_outputs is not None:
        check("graph_outputs", *nodes)
    for offsets, ends, types in (
        ("out_offsets", "out_targets", "out_types"),
        ("in_offsets", "in_sources", "in_types"),
    ):
        check(offsets, nodes[0], nodes[1] + 1)
        edges = [int(getattr(opened, offsets)[node]) for node in nodes]
        check(ends, *edges)
        check(types, *edges)


def digest_at(folder: str | os.PathLike[str]) -> str:
    """The digest of a saved set, as it stands beside its arrays; empty where it does not."""
    return str(read_description(Path(folder)).get("digest", ""))


def open_graph_set(place: Path) -> GraphSet:
    """A saved set of which only the outlines were checked."""
    description = read_description(place)
    graphs, nodes, edges, files = (description[name] for name in ("graphs", "nodes", "edges", "files"))
    expected = lengths(graphs, nodes, edges, files)
    parts: dict[str, Any] = {
        name: map_array(place, name, DTYPES[name], expected[name]) for name in description["arrays"]
    }
    for name, last in (("node_offsets", nodes), ("out_offsets", edges), ("in_offsets", edges)):
        check_ends(place, name, parts[name], last)
    if (np.diff(parts["node_offsets"]) < 0).any():
        raise KIND.damaged(place, "node_offsets.npy does not ascend")
    for name in TABLES:
        if f"{name}.data" in parts:
            data, offsets = parts.pop(f"{name}.data"), parts.pop(f"{name}.offsets")
            check_ends(place, f"{name}.offsets", offsets, len(data))
            parts[name] = StringTable(data, offsets)
    if "file_of" in parts:
        paths, digests = (parts.pop(name) for name in FILE_TABLES)
        file_of = parts.pop("file_of")
        if len(file_of) and not (file_of.min() >= -1 and file_of.max() < len(paths)):
            raise KIND.damaged(place, "file_of.npy names a file that is not there")
        for name, array in (("data", paths.data), ("offsets", paths.offsets)):
            if checksum(array, array.dtype) != description["arrays"][f"file_paths.{name}"]["sha256"]:
                raise KIND.damaged(place, f"file_paths.{name}.npy does not match its checksum")
        parts["origins"] = Origins(paths, digests, file_of).seen_from(place)
    parts |= {name: tuple(words) for name, words in vocabularies_in(description).items()}
    opened = GraphSet(**parts, origin=description["origin"], folder=str(place))
    stored = {name: entry["sha256"] for name, entry in description["arrays"].items() if entry["sha256"]}
    object.__setattr__(opened, "stored", stored)
    return opened


def is_graph_set(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder says that it is a graph set, of any version and in any state."""
    return KIND.is_at(Path(folder))


def check_target(folder: str | os.PathLike[str], overwrite: bool) -> None:
    """Refuse a place where a set cannot be saved; worth calling before a long build."""
    place = writable_target(folder)
    if not os.path.lexists(place) or (place.is_dir() and not any(place.iterdir())):
        return
    if not is_graph_set(place):
        raise InputError(
            f"{folder} exists and is not a graph set, so it is not replaced; choose another name."
        )
    if not overwrite:
        raise InputError(f"{folder} exists already; choose another name, or set `overwrite` to replace it.")


def read_description(folder: Path) -> dict[str, Any]:
    """The JSON of a saved set of any version as of the present one, every value of the type that it must have."""
    description = KIND.description(folder)
    if description["version"] == 1:
        description = of_version_1(description)
    elif description.get("checksum") != checksum_of(description):
        raise KIND.damaged(folder, f"{DESCRIPTION} does not match its checksum")
    check_description(folder, description)
    return dict(description)


def of_version_1(description: dict[str, Any]) -> dict[str, Any]:
    """A description of version 1, which had neither checksums nor operands, outputs and files."""
    names = [*STRUCTURE, "graph_names.data", "graph_names.offsets"]
    if description.get("named_nodes"):
        names += ["node_names.data", "node_names.offsets"]
    arrays = {name: {"sha256": ""} for name in names}
    return {**description, "files": 0, "operand_vocabulary": [UNKNOWN], "arrays": arrays}


def vocabularies_in(description: dict[str, Any]) -> dict[str, Any]:
    return {
        name: description.get(name) for name in ("node_vocabulary", "edge_vocabulary", "operand_vocabulary")
    }


def check_description(folder: Path, description: dict[str, Any]) -> None:
    """Refuse values of the wrong type."""
    for name in ("graphs", "nodes", "edges", "files"):
        if type(description.get(name)) is not int or description[name] < 0:
            raise KIND.damaged(folder, f"{DESCRIPTION} has no number of {name}")
    for name, words in vocabularies_in(description).items():
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise KIND.damaged(folder, f"{DESCRIPTION} has no {name}")
    operands = description["operand_vocabulary"]
    if operands[:1] != [UNKNOWN] or not all(map(is_operand_word, operands)):
        raise KIND.damaged(folder, f"{DESCRIPTION} has no operand_vocabulary")
    if not isinstance(description.get("origin"), str):
        raise KIND.damaged(folder, f"{DESCRIPTION} lacks the origin")
    arrays = description.get("arrays")
    if (
        not isinstance(arrays, dict)
        or not all(
            isinstance(entry, dict)
            and isinstance(entry.get("sha256"), str)
            and isinstance(entry.get("crc32", ""), str)
            for entry in arrays.values()
        )
        or not {*STRUCTURE, "graph_names.data", "graph_names.offsets"} <= arrays.keys() <= DTYPES.keys()
        or any((f"{name}.data" in arrays) != (f"{name}.offsets" in arrays) for name in TABLES)
        or len({name in arrays for name in ("file_of", *(f"{table}.data" for table in FILE_TABLES))}) > 1
    ):
        raise KIND.damaged(folder, f"{DESCRIPTION} does not name the arrays of a set")


def map_array(folder: Path, name: str, dtype: np.dtype[Any], length: int | None) -> NDArray[Any]:
    """A memory-mapped read-only array of this type and (where it is known) length."""
    path = folder / f"{name}.npy"
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")  # never a pickle, unlike what np.load might find
    except FileNotFoundError:
        raise KIND.damaged(folder, f"{path.name} is missing") from None
    except Exception:  # numpy has no class of its own for a header or a length that is wrong
        raise KIND.damaged(folder, f"{path.name} cannot be read or ends too early") from None
    if mapped.dtype != dtype or mapped.ndim != 1:
        raise KIND.damaged(folder, f"{path.name} is not a list of {dtype}")
    if length is not None and len(mapped) != length:
        raise KIND.damaged(folder, f"{path.name} has {len(mapped)} entries instead of {length}")
    return np.asarray(mapped)


def check_ends(folder: Path, name: str, offsets: NDArray[np.int64], last: int) -> None:
    if offsets[0] != 0 or offsets[-1] != last:
        raise KIND.damaged(folder, f"{name}.npy does not run from 0 to {last}")

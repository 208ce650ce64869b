"""The arrays of a set by name, to be stored, checked and digested."""

import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from grade.graphs.graph_set import GraphSet

STRUCTURE: dict[str, np.dtype[Any]] = {  # arrays of every set, which the native core works on
    "node_offsets": np.dtype(np.int64),
    "node_types": np.dtype(np.uint16),
    "out_offsets": np.dtype(np.int64),
    "out_targets": np.dtype(np.uint32),
    "out_types": np.dtype(np.uint8),
    "in_offsets": np.dtype(np.int64),
    "in_sources": np.dtype(np.uint32),
    "in_types": np.dtype(np.uint8),
}
ANNOTATIONS: dict[str, np.dtype[Any]] = {  # optional arrays
    "in_operands": np.dtype(np.uint16),
    "graph_outputs": np.dtype(np.bool_),
    "node_places": np.dtype(np.uint32),
    "file_of": np.dtype(np.int32),
}
TABLES = ("graph_names", "node_names", "file_paths", "file_digests")
DTYPES: dict[str, np.dtype[Any]] = {
    **STRUCTURE,
    **ANNOTATIONS,
    **{f"{name}.data": np.dtype(np.uint8) for name in TABLES},
    **{f"{name}.offsets": np.dtype(np.int64) for name in TABLES},
}
STRETCH = 2**16  # entries of an array that share a checksum
PLACES = ("file_paths.data", "file_paths.offsets")  # places of files, not their content


def lengths(graphs: int, nodes: int, edges: int, files: int) -> dict[str, int | None]:
    """The number of entries of every array; None where only its offsets tell."""
    return {
        "node_offsets": graphs + 1,
        "node_types": nodes,
        "out_offsets": nodes + 1,
        "out_targets": edges,
        "out_types": edges,
        "in_offsets": nodes + 1,
        "in_sources": edges,
        "in_types": edges,
        "in_operands": edges,
        "graph_outputs": nodes,
        "node_places": nodes,
        "file_of": graphs,
        **{f"{name}.data": None for name in TABLES},
        "graph_names.offsets": graphs + 1,
        "node_names.offsets": nodes + 1,
        "file_paths.offsets": files + 1,
        "file_digests.offsets": files + 1,
    }


def arrays_of(graphs: "GraphSet") -> dict[str, NDArray[Any]]:
    """All arrays that a set has."""
    arrays = {name: getattr(graphs, name) for name in STRUCTURE}
    for name in ("in_operands", "graph_outputs", "node_places"):
        if getattr(graphs, name) is not None:
            arrays[name] = getattr(graphs, name)
    tables = {"graph_names": graphs.graph_names, "node_names": graphs.node_names}
    if graphs.origins is not None:
        arrays["file_of"] = graphs.origins.file_of
        tables |= {"file_paths": graphs.origins.paths, "file_digests": graphs.origins.digests}
    for name, table in tables.items():
        if table is not None:
            arrays[f"{name}.data"], arrays[f"{name}.offsets"] = table.data, table.offsets
    return arrays


def checksum(array: NDArray[Any], dtype: np.dtype[Any]) -> str:
    """SHA-256 of an array's bytes.

    >>> checksum(np.arange(3), np.dtype(np.uint8))[:8]
    'ae4b3280'
    """
    return hashlib.sha256(np.ascontiguousarray(array, dtype).data).hexdigest()


def checksums(array: NDArray[Any], dtype: np.dtype[Any]) -> tuple[str, str]:
    """(the checksum of an array, those of its stretches)."""
    return checksum(array, dtype), checksum_by_stretch(array, dtype)


def checksum_by_stretch(array: NDArray[Any], dtype: np.dtype[Any]) -> str:
    """The CRC-32 of every `STRETCH` entries, eight hexadecimal digits each: enough to check a slice by itself.

    >>> checksum_by_stretch(np.arange(STRETCH + 1), np.dtype(np.uint8))
    'b11de6a1d202ef8d'
    """
    whole = np.ascontiguousarray(array, dtype)
    pieces = (whole[begin : begin + STRETCH] for begin in range(0, len(whole), STRETCH))
    return "".join(f"{zlib.crc32(piece.data):08x}" for piece in pieces)


def stretch_that_differs(array: NDArray[Any], known: str, begin: int, end: int) -> bool:
    """Whether entries begin .. end - 1, or others near them, are not those whose checksums are known.

    >>> array = np.arange(10, dtype=np.uint8)
    >>> stretch_that_differs(array, checksum_by_stretch(array, array.dtype), 3, 5)
    False
    >>> stretch_that_differs(array[::-1], checksum_by_stretch(array, array.dtype), 3, 5)
    True
    """
    first = begin // STRETCH
    last = -(-max(end, begin) // STRETCH)
    near = array[first * STRETCH : last * STRETCH]
    return checksum_by_stretch(near, array.dtype) != known[8 * first : 8 * last]


def digest_of(checksums: Mapping[str, str], vocabularies: Mapping[str, tuple[str, ...]]) -> str:
    """SHA-256 over the checksums of all arrays and the vocabularies; where files lie does not count."""
    content = {
        "arrays": {name: value for name, value in checksums.items() if name not in PLACES},
        "vocabularies": {name: list(words) for name, words in vocabularies.items()},
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

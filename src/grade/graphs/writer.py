"""Writing a graph set piece by piece, in memory bounded by one piece, resumable after a kill.

Graphs lie one after the other in every array of a stored set (`grade.graphs.storage`), and edges stay within a
graph; so a set grows by appending to files. They grow in a hidden folder beside the target:

    .NAME.building/ARRAY.npy     room for a header, then the array as far as it has got
    .NAME.building/state.json    how far each array had got at the last checkpoint, and the caller's own notes

A writer that finds such a folder with its own key cuts every file back to the checkpoint and goes on there, if the
files are as they were then, by their CRC-32, and starts from nothing otherwise; at the end the headers are filled in
and the folder is renamed to its target.
"""

import fcntl
import os
import shutil
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.files import put_in_place, refuse_writing, writable_target
from grade.graphs.checks import MAX_NODES
from grade.graphs.concatenation import (
    edge_vocabulary,
    names_of,
    node_vocabulary,
    operand_vocabulary,
    operands_of,
    origins_of,
    places_of,
    reindex,
)
from grade.graphs.graph_set import GraphSet
from grade.graphs.origins import NO_FILE
from grade.graphs.storage import check_target, write_description
from grade.graphs.stored_arrays import DTYPES, TABLES, checksums
from grade.graphs.strings import StringTable
from grade.progress import Stopped
from grade.sealed import DamagedError, load_json, save_json

BLOCK = 1 << 22  # bytes that are read at a time
HEADER = 128  # bytes for the header of an .npy file: room for any length
STATE, LOCK = "state.json", "lock"
OFFSETS = ("node_offsets", "out_offsets", "in_offsets", *(f"{table}.offsets" for table in TABLES))
OPTIONAL = {  # the annotations of a set, and the files of each
    "node_names": ("node_names.data", "node_names.offsets"),
    "in_operands": ("in_operands",),
    "graph_outputs": ("graph_outputs",),
    "node_places": ("node_places",),
    "origins": (
        "file_of",
        *(f"file_{part}.{end}" for part in ("paths", "digests") for end in ("data", "offsets")),
    ),
}


class GraphSetWriter:
    """Writes a set to a folder; use it in a ``with`` block and call `finish` at its end.

    ``key`` says what is being built (any text): a writer with another key starts from nothing. ``notes`` are
    those of the last checkpoint, empty at a new start.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from grade.graphs.storage import load_graph_set
    >>> graphs = GraphSet.from_edges(node_counts=[2], node_types=[0, 0], edge_counts=[1], edges=[[0, 1]],
    ...                              node_vocabulary=["conv"])
    >>> folder = Path(tempfile.mkdtemp()) / "set"
    >>> with GraphSetWriter(folder, origin="example", key="any") as writer:
    ...     for _ in range(3):
    ...         writer.append(graphs)
    ...     writer.finish()
    >>> len(load_graph_set(folder)), load_graph_set(folder).nodes
    (3, 6)
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, origin: str, key: str, overwrite: bool = False
    ) -> None:
        check_target(folder, overwrite)
        self.target, self.origin, self.key = writable_target(folder), origin, key
        self.working = self.target.with_name(f".{self.target.name}.building")
        self.nodes, self.edges, self.operands = node_vocabulary(), edge_vocabulary(), operand_vocabulary()
        self.lengths = dict.fromkeys(DTYPES, 0)  # entries of each array
        self.crc32 = dict.fromkeys(DTYPES, 0)
        self.known: list[str] = []  # annotations that some graph has
        self.last = dict.fromkeys(OFFSETS, 0)
        self.notes: dict[str, Any] = {}
        self.files: dict[str, BinaryIO] = {}

    def __enter__(self) -> Self:
        try:
            self.working.mkdir(exist_ok=True)
            self.lock = (self.working / LOCK).open("wb")
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.lock.close()
            raise InputError(
                f"{self.target} is being built by another process; wait for it, or choose another name."
            ) from None
        except OSError as error:
            raise refuse_writing(self.target, error) from error
        state = self.saved_state()
        if state is None:
            for path in self.working.iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.name != LOCK:
                    path.unlink()
        for name in DTYPES:
            path = self.working / f"{name}.npy"
            self.files[name] = path.open("r+b" if state is not None else "w+b")
        if state is not None:
            self.notes = state["notes"]
            self.nodes = node_vocabulary(state["node_vocabulary"])
            self.edges = edge_vocabulary(state["edge_vocabulary"])
            self.operands = operand_vocabulary(state["operand_vocabulary"])
            self.rewind(state["position"])
        else:
            for file in self.files.values():
                file.write(bytes(HEADER))
            for name in OFFSETS:
                self.write(name, np.zeros(1, np.int64))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the files. After an error nothing is left; after an interrupt the work can go on later."""
        for file in self.files.values():
            file.close()
        self.lock.close()
        if kind is not None and issubclass(kind, Exception) and not issubclass(kind, Stopped):
            shutil.rmtree(self.working, ignore_errors=True)
            if isinstance(error, OSError):
                raise refuse_writing(self.target, error) from error

    def saved_state(self) -> dict[str, Any] | None:
        """The last checkpoint, if it belongs to the same work and the files still hold what they held then."""
        try:
            state: dict[str, Any] | None = load_json(self.working / STATE, self.label)
            if state is not None:
                position = state["position"]
                for name, dtype in DTYPES.items():
                    size = position["lengths"][name] * dtype.itemsize
                    if crc32_of(self.working / f"{name}.npy", size) != position["crc32"][name]:
                        return None
        except (DamagedError, OSError, LookupError):
            return None
        return state

    @property
    def label(self) -> str:
        """The label of the checkpoint's checksum."""
        return f"building {self.key}"

    def write(self, name: str, array: NDArray[Any]) -> None:
        content = np.ascontiguousarray(array, DTYPES[name]).tobytes()
        self.files[name].write(content)
        self.crc32[name] = zlib.crc32(content, self.crc32[name])
        self.lengths[name] += len(array)

    def write_offsets(self, name: str, offsets: NDArray[np.int64]) -> None:
        """Append offsets [n + 1] that start from 0, moved to where the last ones ended."""
        self.write(name, offsets[1:] + self.last[name])
        self.last[name] += int(offsets[-1])

    def append(self, graphs: GraphSet) -> None:
        """Add all graphs of a set; types are joined by name."""
        shift = self.lengths["node_types"]
        if shift + graphs.nodes > MAX_NODES:
            raise InputError(f"{self.target} would have more than {MAX_NODES:,} nodes; build several sets.")
        self.known += [
            name for name in OPTIONAL if name not in self.known and getattr(graphs, name) is not None
        ]
        part = reindex(graphs, self.nodes, self.edges, self.operands)
        for name in ("node_offsets", "out_offsets", "in_offsets"):
            self.write_offsets(name, getattr(part, name))
        for name in ("out_targets", "in_sources"):
            self.write(name, getattr(part, name) + np.uint32(shift))
        for name in ("node_types", "out_types", "in_types"):
            self.write(name, getattr(part, name))
        self.write("in_operands", operands_of(part))
        self.write("graph_outputs", part.outputs)
        self.write("node_places", places_of(part))
        origins, files = origins_of(part).relative_to(self.target), self.lengths["file_paths.offsets"] - 1
        self.write("file_of", np.where(origins.file_of == NO_FILE, NO_FILE, origins.file_of + files))
        self.write_strings("graph_names", part.graph_names)
        self.write_strings("node_names", names_of(part))
        self.write_strings("file_paths", origins.paths)
        self.write_strings("file_digests", origins.digests)

    def write_strings(self, name: str, strings: StringTable) -> None:
        self.write(f"{name}.data", strings.data[strings.offsets[0] : strings.offsets[-1]])
        self.write_offsets(f"{name}.offsets", strings.offsets - strings.offsets[0])

    @property
    def size(self) -> tuple[int, int, int]:
        """Graphs, nodes and edges so far."""
        return self.lengths["node_offsets"] - 1, self.lengths["node_types"], self.lengths["out_targets"]

    def position(self) -> dict[str, Any]:
        """Where the set ends now, to `rewind` to."""
        return {
            "lengths": dict(self.lengths),
            "crc32": dict(self.crc32),
            "last": dict(self.last),
            "known": list(self.known),
            "words": [len(self.nodes.words), len(self.edges.words), len(self.operands.words)],
        }

    def rewind(self, position: dict[str, Any]) -> None:
        """Take back all that was appended since a position."""
        self.lengths, self.last = dict(position["lengths"]), dict(position["last"])
        self.known, self.crc32 = list(position["known"]), dict(position["crc32"])
        for vocabulary, length in zip(
            (self.nodes, self.edges, self.operands), position["words"], strict=True
        ):
            vocabulary.cut(length)
        for name, file in self.files.items():
            file.flush()
            file.truncate(HEADER + self.lengths[name] * DTYPES[name].itemsize)
            file.seek(0, os.SEEK_END)

    def checkpoint(self, notes: dict[str, Any]) -> None:
        """Save the state, so that all so far survives a kill."""
        self.notes = notes
        for file in self.files.values():
            file.flush()
            os.fsync(file.fileno())
        state = {
            "notes": notes,
            "position": self.position(),
            "node_vocabulary": self.nodes.words,
            "edge_vocabulary": self.edges.words,
            "operand_vocabulary": self.operands.words,
        }
        save_json(self.working / STATE, state, self.label)

    def finish(self) -> None:
        """Make it a graph set and put it under its name."""
        if len(self.edges.words) == 1:
            self.edges.places(("edge",))
        for annotation, names in OPTIONAL.items():
            for name in names if annotation not in self.known else ():
                self.files.pop(name).close()
                (self.working / f"{name}.npy").unlink()
        arrays = {}
        for name, file in self.files.items():
            file.seek(0)
            file.write(npy_header(DTYPES[name], self.lengths[name]))
            file.close()
            whole = np.lib.format.open_memmap(self.working / f"{name}.npy", mode="r")
            arrays[name] = self.lengths[name], *checksums(whole, DTYPES[name])
        files = self.lengths["file_paths.offsets"] - 1 if "origins" in self.known else 0
        write_description(
            self.working,
            self.origin,
            (*self.size, files),
            arrays,
            {
                "node_vocabulary": tuple(self.nodes.words),
                "edge_vocabulary": tuple(self.edges.words),
                "operand_vocabulary": tuple(self.operands.words),
            },
        )
        for name in (STATE, LOCK):
            (self.working / name).unlink(missing_ok=True)
        put_in_place(self.working, self.target)


def npy_header(dtype: np.dtype[Any], length: int) -> bytes:
    """The header of an .npy file with a list of this length, padded to a fixed size.

    >>> len(npy_header(np.dtype(np.int64), 0)) == len(npy_header(np.dtype(np.uint8), 10**15)) == HEADER
    True
    """
    text = str({"descr": dtype.str, "fortran_order": False, "shape": (length,)}).encode("ascii")
    room = HEADER - 10  # magic, version and length of the header come first
    return b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little") + text.ljust(room - 1) + b"\n"


def crc32_of(path: Path, size: int) -> int | None:
    """CRC-32 of so many bytes behind the header; None where the file ends before."""
    found = 0
    with path.open("rb") as file:
        file.seek(HEADER)
        for place in range(0, size, BLOCK):
            content = file.read(min(BLOCK, size - place))
            found = zlib.crc32(content, found)
        return found if file.tell() == HEADER + size else None

"""Origins of the graphs of a set: files, and the places of nodes in them."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grade.graphs.strings import StringTable

NO_FILE = -1
WHOLE, END = 256 << 20, 32 << 20  # bytes of a file that is digested whole, and of each end of a larger one


@dataclass(frozen=True, eq=False)
class Origins:
    """The files of a set, and which graph came from which of them.

    Paths are relative to the working directory, or absolute; on disk they are relative to the set's own folder,
    so that a project can be moved as a whole.

    >>> origins = Origins.of_one("models/a.onnx", "ab12", graphs=2)
    >>> origins.file(1)
    ('models/a.onnx', 'ab12')
    """

    paths: StringTable  # [files]
    digests: StringTable  # [files] `file_digest` of each file
    file_of: NDArray[np.int32]  # [graphs], NO_FILE where nothing is known

    @classmethod
    def of_one(cls, path: str | os.PathLike[str], digest: str, graphs: int) -> "Origins":
        """The origins of this many graphs of one file."""
        tables = StringTable.from_strings([str(path)]), StringTable.from_strings([digest])
        return cls(*tables, np.zeros(graphs, np.int32))

    @classmethod
    def unknown(cls, graphs: int) -> "Origins":
        empty = StringTable.from_strings([])
        return cls(empty, empty, np.full(graphs, NO_FILE, np.int32))

    def file(self, graph: int) -> tuple[str, str] | None:
        """Path and digest of the file that a graph came from; None where it is not known."""
        number = int(self.file_of[graph])
        return None if number == NO_FILE else (self.paths[number], self.digests[number])

    def take(self, graphs: NDArray[np.int64]) -> "Origins":
        """The origins of these graphs; files of none of them are left out."""
        chosen = self.file_of[graphs]
        used = np.unique(chosen[chosen != NO_FILE])
        place = np.searchsorted(used, chosen)
        files = used.astype(np.int64)
        file_of = np.where(chosen == NO_FILE, NO_FILE, place).astype(np.int32)
        return Origins(self.paths.take(files), self.digests.take(files), file_of)

    def relative_to(self, folder: Path) -> "Origins":
        """The same with paths as they are written from this folder."""
        return replace(self, paths=StringTable.from_strings(os.path.relpath(p, folder) for p in self.paths))

    def seen_from(self, folder: Path) -> "Origins":
        """The opposite of `relative_to`."""
        return replace(
            self,
            paths=StringTable.from_strings(os.path.normpath(folder / p) for p in self.paths),
        )


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file in hexadecimal digits; empty where it cannot be read.

    Gigabytes of weights are not read: for a file of more than 256 MiB the digest covers the size and both ends, and
    begins with "ends-".
    """
    try:
        with Path(path).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            if size <= WHOLE:
                return hashlib.file_digest(file, "sha256").hexdigest()
            digest = hashlib.sha256(size.to_bytes(8, "little") + file.read(END))
            file.seek(size - END)
            digest.update(file.read(END))
            return f"ends-{digest.hexdigest()}"
    except OSError:
        return ""


def join_origins(parts: Sequence[Origins]) -> Origins:
    """The origins of several sets, one after the other."""
    shifts = np.cumsum([0, *(len(part.paths) for part in parts)])
    file_of = [
        np.where(part.file_of == NO_FILE, NO_FILE, part.file_of + shift).astype(np.int32)
        for part, shift in zip(parts, shifts[:-1], strict=True)
    ]
    return Origins(
        StringTable.joined([part.paths for part in parts]),
        StringTable.joined([part.digests for part in parts]),
        np.concatenate([np.zeros(0, np.int32), *file_of]),
    )

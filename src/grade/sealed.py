"""Files that carry a checksum, which is verified whenever they are read.

The checksum covers the content and a label: the name of the file and of its owner. So a file that was put in the place
of another one counts as damaged, too.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.files import whole_file

CHECKSUM = "sha256"


class DamagedError(InputError):
    """A stored file of a run has changed."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is damaged; start the run again with 'grade mine' to rebuild it.")
        self.path = path


def save_json(path: Path, data: Any, label: str) -> None:
    """Write JSON data, whole or not at all."""
    sealed = {CHECKSUM: digest_of_json([label, data]), "data": data}
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(sealed, indent=1) + "\n")


def load_json(path: Path, label: str) -> Any:
    """The data that `save_json` wrote under the same label; None where there is no such file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "numbers.json"
    >>> save_json(file, [1, 2], "numbers")
    >>> load_json(file, "numbers")
    [1, 2]
    >>> _ = file.write_text(file.read_text().replace("2\\n", "3\\n"))
    >>> load_json(file, "numbers")
    Traceback (most recent call last):
        ...
    grade.sealed.DamagedError: ...
    """
    try:
        sealed = json.loads(path.read_text())
        if sealed[CHECKSUM] == digest_of_json([label, sealed["data"]]):
            return sealed["data"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise DamagedError(path) from error
    raise DamagedError(path)


def digest_of_json(data: Any) -> str:
    """SHA-256 of JSON data, whatever the spaces and the order of names."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def save_arrays(path: Path, arrays: dict[str, NDArray[Any]], label: str) -> None:
    """Write arrays to an .npz file, whole or not at all."""
    sealed = {**arrays, CHECKSUM: np.frombuffer(digest_of_arrays(arrays, label), np.uint8)}
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **sealed)  # type: ignore[arg-type]  # its keywords are named too narrowly


def load_arrays(path: Path, label: str) -> dict[str, NDArray[Any]] | None:
    """The arrays that `save_arrays` wrote under the same label; None where there is no such file."""
    try:
        with np.load(path, allow_pickle=False) as data:
            arrays = arrays_in(data)
        if arrays.pop(CHECKSUM).tobytes() == digest_of_arrays(arrays, label):
            return arrays
    except FileNotFoundError:
        return None
    except Exception as error:  # zipfile, zlib and numpy have many ways to fail on other bytes
        raise DamagedError(path) from error
    raise DamagedError(path)


def arrays_in(archive: Any, names: Iterable[str] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of an open .npz, or those of these names that it has; a member that is no array is a `ValueError`.

    (NumPy gives a member without the mark of an array as bytes.)
    """
    arrays = {name: archive[name] for name in (names or archive.files) if name in archive.files}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{name} is no array")
    return arrays


def digest_of_arrays(arrays: dict[str, NDArray[Any]], label: str = "") -> bytes:
    """SHA-256 of a label, and of arrays with their names, types and shapes."""
    digest = hashlib.sha256(label.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.digest()


def seal_folder(folder: Path, label: str) -> None:
    """Write the checksums of a folder's files beside it; only then the folder counts as complete."""
    save_json(seal_of(folder), checksums_of(folder), label)


def is_sealed(folder: Path, label: str) -> bool:
    """Whether a folder exists as sealed under this label; `DamagedError` if its files have changed."""
    sealed = load_json(seal_of(folder), label)
    if sealed is None or not folder.is_dir():
        return False
    if sealed != checksums_of(folder):
        raise DamagedError(folder)
    return True


def seal_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".json")


def checksums_of(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a folder, by its place in it."""
    found = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        found[file.relative_to(folder).as_posix()] = checksum_of(file)
    return found


def checksum_of(file: Path) -> str:
    """SHA-256 of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def write_description(folder: Path, name: str, content: dict[str, Any]) -> None:
    """Write the JSON that describes a folder, with the checksums of its other files and one of its own."""
    (folder / name).write_text(sealed_description(content, checksums_of(folder)), encoding="utf-8")


def sealed_description(content: dict[str, Any], files: dict[str, str]) -> str:
    """JSON with the checksums of the files that belong to it, and one of its own."""
    sealed = {**content, "files": files}
    sealed[CHECKSUM] = digest_of_json(sealed)
    return json.dumps(sealed, indent=1) + "\n"


def damaged_file(folder: Path, name: str, description: dict[str, Any]) -> str | None:
    """The first file of a folder that does not match its description; None if all do.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "data").write_text("as written")
    >>> write_description(folder, "about.json", {"size": 10})
    >>> description = json.loads((folder / "about.json").read_text())
    >>> damaged_file(folder, "about.json", description)
    >>> damaged_file(folder, "about.json", {**description, "size": 11})
    'about.json'
    >>> _ = (folder / "data").write_text("as changed")
    >>> damaged_file(folder, "about.json", description)
    'data'
    """
    content = {key: value for key, value in description.items() if key != CHECKSUM}
    if description.get(CHECKSUM) != digest_of_json(content):
        return name
    for file, checksum in content["files"].items():
        try:
            if checksum_of(folder / file) != checksum:
                return str(file)
        except OSError:
            return str(file)
    return None


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder that a JSON describes: its format, and its words in messages."""

    name: str  # "sample"
    file: str  # the JSON
    format: str
    version: int  # the newest that is read
    command: str  # that makes one
    remedy: str  # "draw it again with 'grade sample'"

    def damaged(self, folder: Path, reason: str) -> InputError:
        return InputError(f"The {self.name} {folder} is damaged ({reason}); {self.remedy}.")

    def is_at(self, folder: Path) -> bool:
        """Whether a folder says that it is of this kind, in any version and state."""
        try:
            description = json.loads((folder / self.file).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(description, dict) and description.get("format") == self.format

    def description(self, folder: Path) -> dict[str, Any]:
        """The JSON, of a version that can be read; its checksum is for the caller to compare."""
        instead = f"make one with '{self.command}'"
        try:
            description = json.loads((folder / self.file).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(
                f"{folder} is not a {self.name}, for it has no {self.file}; {instead}."
            ) from None
        except OSError as error:
            raise InputError(
                f"The {self.name} {folder} cannot be read ({error.strerror}); check its permissions."
            ) from error
        except (ValueError, RecursionError):
            raise self.damaged(folder, f"{self.file} is not JSON") from None
        if not isinstance(description, dict) or description.get("format") != self.format:
            raise InputError(
                f"{folder} is not a {self.name}, for its {self.file} is of another format; {instead}."
            )
        version = description.get("version")
        if type(version) is int and version > self.version:
            raise InputError(
                f"The {self.name} {folder} has format version {version}, newer than the {self.version} that this"
                f" GraDE reads; install a newer GraDE, or {self.remedy}."
            )
        if type(version) is not int or version < 1:
            raise self.damaged(folder, f"{self.file} names no known version")
        return description

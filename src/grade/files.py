"""Files and folders that are written whole or not at all.

Everything GraDE writes goes to a temporary name beside its target and is renamed at the end, so that a run
that is killed, or a disk that is full, never leaves half a file under the name that the user asked for.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grade.errors import FileError, InputError

MACHINE = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
)  # errors of the disk, not of the place


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to; it becomes ``path`` (replacing it) when the block ends without an error.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with whole_file(target) as temporary:
    ...     _ = temporary.write_text("all of it")
    >>> target.read_text()
    'all of it'
    """
    target = writable_target(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file to write.")
    if target.exists() and not target.is_file():  # the rename would replace a device or a pipe
        raise InputError(f"{target} is no regular file; give the name of a file to write.")
    temporary = beside(target)
    try:
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise refuse_writing(target, error) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder to fill; it becomes ``path`` (replacing it) when the block ends without an error.

    Whether an existing folder may be replaced is for the caller to check.
    """
    target = writable_target(path)
    temporary = beside(target)
    try:
        temporary.mkdir()
        yield temporary
        put_in_place(temporary, target)
    except OSError as error:
        raise refuse_writing(target, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def put_in_place(folder: Path, target: Path) -> None:
    """Rename a finished folder to its target, replacing an existing one."""
    retired = beside(target)
    try:
        if target.is_dir():  # a folder with content cannot be renamed over: move it aside first
            target.replace(retired)
        folder.replace(target)
    except OSError:
        if retired.exists() and not target.exists():
            retired.replace(target)
        raise
    shutil.rmtree(retired, ignore_errors=True)


def writable_target(path: str | os.PathLike[str]) -> Path:
    """The path; an `InputError` if its parent folder does not exist. Worth calling before long work."""
    target = Path(os.path.abspath(path))  # noqa: PTH100 (Path.resolve would follow links)
    if not target.parent.is_dir():
        raise InputError(
            f"{path} cannot be written: the folder {target.parent} does not exist; create it first."
        )
    return target


def beside(target: Path) -> Path:
    """A new hidden name in the same folder, with the same suffix."""
    return target.with_name(f".{secrets.token_hex(6)}-{target.name}")


def refuse_writing(target: Path, error: OSError) -> InputError | FileError:
    """The exception to raise: a `FileError` if the disk is full or fails, an `InputError` if the place is wrong."""
    if isinstance(error, FileError):
        return error
    reason = error.strerror or str(error)
    kind = FileError if error.errno is None or error.errno in MACHINE else InputError
    return kind(f"{target} cannot be written ({reason}); free space or choose another place.")


def is_file(path: Path) -> bool:
    """Whether there is such a file; no for text that is too long to name one."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; no for text that is too long to name one."""
    try:
        return path.is_dir()
    except OSError:
        return False

"""Members of archives. Whatever is wrong with an archive is one `InputError`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from grade.errors import InputError

Member = TypeVar("Member")


def archived(path: str | Path, members: Iterator[Member]) -> Iterator[Member]:
    """The members as they are read; the archive is refused where that fails.

    Damage, encryption and unknown compression end in exceptions of many classes, and no list of them lasts. What
    the caller does with a member is not covered.
    """
    try:
        yield from members
    except (InputError, FileNotFoundError, MemoryError):
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"{path} cannot be read ({reason}); check that it is whole.") from None

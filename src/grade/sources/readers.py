"""Readers of one file or one model, and their registry by name and by the suffix of files."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.origins import Origins, file_digest
from grade.registry import Registry
from grade.settings import ReadSettings

Read = Callable[[str, ReadSettings], Iterator[GraphSet]]


@dataclass(frozen=True)
class Reader:
    """Reads one input as a sequence of sets of one or a few graphs, so that its size does not matter. An `InputError`
    skips the whole input, with the sets that came before.
    """

    name: str
    summary: str
    read: Read
    suffixes: tuple[str, ...] = ()
    prepare: Callable[[], None] = lambda: None  # slow imports, made once for many inputs
    isolated: bool = False  # runs foreign code: always in a child process


@dataclass(frozen=True)
class Item:
    """One input: a file, or a model by its name."""

    reader: str
    place: str  # the reader's argument, and the name in messages

    def read(self, settings: ReadSettings) -> Iterator[GraphSet]:
        """Its graphs, which know the file that they came from."""
        digest = ""
        for graphs in readers[self.reader].read(self.place, settings):
            if not digest and Path(self.place).is_file():
                digest = file_digest(self.place)
            origins = Origins.of_one(self.place, digest, len(graphs)) if digest else None
            yield replace(graphs, origins=origins)


readers = Registry[Reader]("reader")


def reader(
    name: str,
    summary: str,
    *,
    suffixes: tuple[str, ...] = (),
    prepare: Callable[[], None] = lambda: None,
    isolated: bool = False,
) -> Callable[[Read], Read]:
    """Register a function that reads one input."""

    def add(read: Read) -> Read:
        readers.register(name)(Reader(name, summary, read, suffixes, prepare, isolated))
        return read

    return add


def known_suffixes() -> dict[str, str]:
    """The reader of each suffix."""
    return {suffix: name for name in readers for suffix in readers[name].suffixes}


def item_of(path: str | Path) -> Item:
    """A file as an input, by its suffix.

    >>> item_of("models/resnet50.onnx")
    Item(reader='onnx', place='models/resnet50.onnx')
    """
    suffix = Path(path).suffix.lower()
    if suffix not in known_suffixes():
        raise InputError(
            f"{path} is not a graph set and has no suffix that GraDE reads ({', '.join(sorted(known_suffixes()))});"
            " rename it, or convert it."
        )
    return Item(known_suffixes()[suffix], str(path))

"""Loading a graph set by a path, a glob or a name."""

import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.concatenation import join
from grade.graphs.storage import DESCRIPTION, is_graph_set, load_graph_set
from grade.settings import ReadSettings
from grade.sources.cache import cached
from grade.sources.readers import Item, item_of, known_suffixes, readers
from grade.sources.source_registry import Source, sources
from grade.sources.worker_pool import Failure, Limits, read_in_workers


def load(spec: str | Path, settings: ReadSettings | None = None) -> GraphSet:
    """The graph set of a spec: a folder saved by GraDE, a built-in ``NAME`` or ``NAME:ARGUMENT``, or a file, a
    folder or a glob of files that GraDE reads.

    A saved set in a folder that is named like a built-in one comes before it. Many files are better built into
    a saved set first (`grade.sources.building`), which also skips those that are damaged; here they are refused.

    >>> load("zoo-mini")
    GraphSet('zoo-mini': 12 graphs, 4,187 nodes, 4,966 edges)
    """
    parts = find(spec)
    if len(parts) == 1 and isinstance(parts[0], GraphSet):
        return parts[0]
    read = [
        graphs
        for part in parts
        for graphs in ([part] if isinstance(part, GraphSet) else read_item(part, settings or ReadSettings()))
    ]
    return read[0] if len(read) == 1 else join(read, str(spec))


def load_stored(spec: str) -> GraphSet:
    """The graph set of a spec that stands in a file. The file may be anybody's, so its words run no code."""
    name = spec.partition(":")[0]
    if name in sources and sources[name].runs_code and not is_graph_set(Path(spec)):
        raise InputError(
            f"{spec} names code, and code that a file names is not run; keep its graphs with 'grade graphs build"
            f" {spec} FOLDER' and use the folder."
        )
    return load(spec)


def read_item(item: Item, settings: ReadSettings) -> Iterator[GraphSet]:
    """One input: here, or in a child process where foreign code has to run."""
    if not readers[item.reader].isolated:
        yield from item.read(settings)
        return
    for _, message in read_in_workers([item], settings, 1, Limits()):
        if isinstance(message, Failure):
            raise InputError(message.reason)
        if message is not None:
            yield message


def find(spec: str | Path) -> list[Item | GraphSet]:
    """The inputs of a spec: loaded sets, and files and models to read."""
    if not str(spec):
        raise InputError("The name of the graph set is empty; give a folder, files, or a built-in name.")
    path = Path(spec)
    name, colon, argument = str(spec).partition(":")
    if name in sources and not is_graph_set(path):
        return find_named(sources[name], argument if colon else None)
    if (path / DESCRIPTION).is_file():
        return [load_graph_set(path)]
    if path.is_file():
        return [item_of(spec)]
    if path.is_dir():
        return list(files_in(path))
    if glob.has_magic(str(spec)):
        matches = glob.glob(str(spec), recursive=True)  # noqa: PTH207 (takes absolute patterns, too)
        files = sorted(file for file in matches if Path(file).is_file())
        if not files:
            raise InputError(f"No file matches {str(spec)!r}; check the pattern, and quote it for the shell.")
        return [item_of(file) for file in files]
    raise InputError(f"There is no file, folder or built-in set named {str(spec)!r}; known names: {known()}.")


def files_in(folder: Path) -> list[Item]:
    """All files below a folder that GraDE reads, in the order of their names; links to folders are not followed."""
    files = [Path(place) / name for place, _, names in os.walk(folder) for name in names]
    readable = sorted(str(f) for f in files if f.suffix.lower() in known_suffixes() and f.is_file())
    if not readable:
        raise InputError(
            f"{folder} is not a graph set, for it has no {DESCRIPTION}, nor does it hold files that GraDE reads"
            f" ({', '.join(sorted(known_suffixes()))}); make a set with 'grade graphs build'."
        )
    return [item_of(file) for file in readable]


def find_named(source: Source, argument: str | None) -> list[Item | GraphSet]:
    """The inputs of a named source, or the set that it builds or has in the cache."""
    if argument is None and source.needs_argument:
        raise InputError(f"The source {source.name} needs something to read: write {source.spec}.")
    if argument is not None and not source.argument:
        raise InputError(f"The source {source.name} takes nothing after a colon; write {source.spec}.")
    arguments = [] if argument is None else [argument]
    found = build(source, arguments)
    return [found] if isinstance(found, GraphSet) else list(found)


def build(source: Source, arguments: list[str]) -> GraphSet | list[Item]:
    """Build a set, or fetch it from the cache."""
    if source.cache_version is None:
        return source.build(*arguments)
    # Only plain words reach the name of a cache folder; anything else is built afresh (and refused by the
    # source).
    if not all(re.fullmatch(r"\w{1,40}", argument, re.ASCII) for argument in arguments):
        return source.build(*arguments)
    key = "-".join([source.name, *arguments, str(source.cache_version)])
    return cached(key, lambda: whole_set(source.build(*arguments)))


def whole_set(built: GraphSet | list[Item]) -> GraphSet:
    assert isinstance(built, GraphSet), "a source of files cannot be cached"
    return built


def known() -> str:
    """The built-in names, as they are written."""
    return ", ".join(sources[name].spec for name in sources)

"""From what a user writes to a graph set."""

import re
from pathlib import Path

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.storage import is_graph_set, load_graph_set
from grade.sources.base import Source, sources
from grade.sources.cache import cached
from grade.sources.npz_files import read_npz


def load(spec: str | Path) -> GraphSet:
    """The graph set of a spec: a folder saved by GraDE, an .npz file, or a built-in ``NAME`` or
    ``NAME:ARGUMENT``.

    A saved set in a folder that is named like a built-in one comes before it.

    >>> load("zoo-mini")
    GraphSet('zoo-mini': 12 graphs, 4,187 nodes, 4,966 edges)
    """
    path = Path(spec)
    name, colon, argument = str(spec).partition(":")
    if name in sources and not is_graph_set(path):
        return build(sources[name], argument if colon else None)
    if path.is_dir():
        return load_graph_set(path)
    if path.is_file():
        if path.suffix.lower() == ".npz":
            return read_npz(path)
        raise InputError(
            f"{path} is not a graph set; give a folder that GraDE saved, an .npz file, or {known()}."
        )
    raise InputError(f"There is no file, folder or built-in set named {str(spec)!r}; known names: {known()}.")


def build(source: Source, argument: str | None) -> GraphSet:
    """Build a set, or fetch it from the cache."""
    if argument is None and source.needs_argument:
        raise InputError(f"The source {source.name} needs something to read: write {source.spec}.")
    if argument is not None and not source.argument:
        raise InputError(f"The source {source.name} takes nothing after a colon; write {source.spec}.")
    arguments = [] if argument is None else [argument]
    if source.cache_version is None:
        return source.build(*arguments)
    # Only plain words reach the name of a cache folder; anything else is built afresh (and refused by the
    # source).
    if argument is not None and not re.fullmatch(r"\w{1,40}", argument, re.ASCII):
        return source.build(argument)
    key = "-".join([source.name, *arguments, str(source.cache_version)])
    return cached(key, lambda: source.build(*arguments))


def known() -> str:
    """The built-in names, as they are written."""
    return ", ".join(sources[name].spec for name in sources)

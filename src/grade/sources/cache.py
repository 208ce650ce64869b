"""Built-in sets that take a while to build are kept in the user's cache folder, in the format of
`grade.graphs`.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.storage import KIND, load_graph_set, save_graph_set


def cache_folder() -> Path | None:
    """``$XDG_CACHE_HOME/grade/graph-sets`` (by default under ``~/.cache``); None where there is no home."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if Path(named).is_absolute():  # the standard says to ignore a relative one
        base = Path(named)
    else:
        try:
            base = Path.home() / ".cache"
        except RuntimeError:
            return None
    return base / "grade" / "graph-sets"


def cached(key: str, build: Callable[[], GraphSet]) -> GraphSet:
    """The set that was kept under this key, or a newly built one, which is then kept.

    The cache is a convenience: a damaged entry is built again, and a folder that cannot be written is no
    error.
    """
    folder = cache_folder()
    if folder is None:
        return build()
    entry = folder / f"{key}-format-{KIND.version}"
    try:
        kept = load_graph_set(entry)
        _ = kept.core  # checks every index; whoever uses the set needs it anyway
        return kept
    except InputError:
        pass  # not there yet, or damaged
    graphs = build()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if entry.is_dir():
            shutil.rmtree(entry)
        save_graph_set(graphs, entry)
    except (OSError, InputError):
        pass  # read-only, full, or just filled by another process: the set itself is at hand
    return graphs

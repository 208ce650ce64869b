"""Graph sets on disk: a folder of memory-mapped .npy files and one JSON.

    graph-set.json                                  format, version, counts, vocabularies, origin
    node_offsets.npy node_types.npy                 the arrays of a GraphSet, each under its name
    out_offsets.npy out_targets.npy out_types.npy
    in_offsets.npy in_sources.npy in_types.npy
    graph_names.data.npy graph_names.offsets.npy    and the same for node_names, where nodes have names

Opening reads the JSON and the headers only, so a set of any size opens in milliseconds. What it checks are
the lengths and types of all arrays and both ends of all offsets; the native core checks every index before it
uses the arrays.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.files import whole_folder, writable_target
from grade.graphs.graph_set import GraphSet
from grade.graphs.strings import StringTable

FORMAT = "grade-graph-set"
VERSION = 1
DESCRIPTION = "graph-set.json"
DTYPES: dict[str, np.dtype[Any]] = {
    "node_offsets": np.dtype(np.int64),
    "node_types": np.dtype(np.uint16),
    "out_offsets": np.dtype(np.int64),
    "out_targets": np.dtype(np.uint32),
    "out_types": np.dtype(np.uint8),
    "in_offsets": np.dtype(np.int64),
    "in_sources": np.dtype(np.uint32),
    "in_types": np.dtype(np.uint8),
}


def save_graph_set(graphs: GraphSet, folder: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a set to a folder, whole or not at all.

    A folder that exists is replaced only with ``overwrite``, and only when it is empty or a graph set itself.

    >>> import tempfile
    >>> graphs = GraphSet.from_edges(node_counts=[2], node_types=[0, 0], edge_counts=[1], edges=[[0, 1]],
    ...                              node_vocabulary=["conv"])
    >>> folder = Path(tempfile.mkdtemp()) / "set"
    >>> save_graph_set(graphs, folder)
    >>> load_graph_set(folder).successors(0)
    array([1], dtype=uint32)
    """
    check_target(folder, overwrite)
    arrays: dict[str, NDArray[Any]] = {name: getattr(graphs, name) for name in DTYPES}
    for name, strings in (("graph_names", graphs.graph_names), ("node_names", graphs.node_names)):
        if strings is not None:
            arrays[f"{name}.data"] = strings.data
            arrays[f"{name}.offsets"] = strings.offsets
    with whole_folder(folder) as temporary:
        for name, array in arrays.items():
            np.save(temporary / f"{name}.npy", array, allow_pickle=False)
        write_description(
            temporary,
            origin=graphs.origin,
            graphs=len(graphs),
            nodes=graphs.nodes,
            edges=graphs.edges,
            named_nodes=graphs.node_names is not None,
            node_vocabulary=graphs.node_vocabulary,
            edge_vocabulary=graphs.edge_vocabulary,
        )


def write_description(folder: Path, **values: Any) -> None:
    """The JSON of a set."""
    content = {"format": FORMAT, "version": VERSION, **values}
    (folder / DESCRIPTION).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def load_graph_set(folder: str | os.PathLike[str]) -> GraphSet:
    """Open a saved set; its arrays stay on disk until used. A damaged or foreign folder is refused."""
    place = Path(folder)
    description = read_description(place)
    graphs, nodes, edges = description["graphs"], description["nodes"], description["edges"]
    lengths = {
        "node_offsets": graphs + 1,
        "node_types": nodes,
        "out_offsets": nodes + 1,
        "out_targets": edges,
        "out_types": edges,
        "in_offsets": nodes + 1,
        "in_sources": edges,
        "in_types": edges,
    }
    arrays = {name: map_array(place, name, dtype, lengths[name]) for name, dtype in DTYPES.items()}
    for name, last in (("node_offsets", nodes), ("out_offsets", edges), ("in_offsets", edges)):
        check_ends(place, name, arrays[name], last)
    if (np.diff(arrays["node_offsets"]) < 0).any():
        raise damaged(place, "node_offsets.npy does not ascend")
    return GraphSet(
        **arrays,
        node_vocabulary=tuple(description["node_vocabulary"]),
        edge_vocabulary=tuple(description["edge_vocabulary"]),
        graph_names=map_strings(place, "graph_names", graphs),
        node_names=map_strings(place, "node_names", nodes) if description["named_nodes"] else None,
        origin=description["origin"],
        folder=str(place),
    )


def is_graph_set(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder says that it is a graph set, of any version and in any state."""
    try:
        description = json.loads((Path(folder) / DESCRIPTION).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(description, dict) and description.get("format") == FORMAT


def check_target(folder: str | os.PathLike[str], overwrite: bool) -> None:
    """Refuse a place where a set cannot be saved; worth calling before a long build."""
    place = writable_target(folder)
    if not os.path.lexists(place) or (place.is_dir() and not any(place.iterdir())):
        return
    if not is_graph_set(place):
        raise InputError(
            f"{folder} exists and is not a graph set, so it is not replaced; choose another name."
        )
    if not overwrite:
        raise InputError(
            f"{folder} exists already; choose another name, or replace it with --force (overwrite=True)."
        )


def damaged(folder: Path, what: str) -> InputError:
    return InputError(
        f"The graph set {folder} is damaged ({what}); build it again with 'grade graphs build'."
    )


def read_description(folder: Path) -> dict[str, Any]:
    """The JSON of a saved set, with every value of the type that it must have."""
    try:
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{folder} is not a graph set, for it has no {DESCRIPTION}; make one with 'grade graphs build'."
        ) from None
    except OSError as error:
        raise InputError(
            f"The graph set {folder} cannot be read ({error.strerror}); check its permissions."
        ) from error
    except ValueError:
        raise damaged(folder, f"{DESCRIPTION} is not JSON") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise InputError(
            f"{folder} is not a graph set, for its {DESCRIPTION} is of another format; make one with"
            " 'grade graphs build'."
        )
    version = description.get("version")
    if isinstance(version, int) and version > VERSION:
        raise InputError(
            f"The graph set {folder} has format version {version}, newer than the {VERSION} that this"
            " GraDE reads; install a newer GraDE or build the set again."
        )
    if version != VERSION:
        raise damaged(folder, f"{DESCRIPTION} names no known version")
    for name in ("graphs", "nodes", "edges"):
        if type(description.get(name)) is not int or description[name] < 0:
            raise damaged(folder, f"{DESCRIPTION} has no number of {name}")
    for name in ("node_vocabulary", "edge_vocabulary"):
        words = description.get(name)
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise damaged(folder, f"{DESCRIPTION} has no {name}")
    if not isinstance(description.get("origin"), str) or not isinstance(description.get("named_nodes"), bool):
        raise damaged(folder, f"{DESCRIPTION} lacks the origin or whether nodes have names")
    return description


def map_array(folder: Path, name: str, dtype: np.dtype[Any], length: int | None) -> NDArray[Any]:
    """A memory-mapped read-only array of this type and (where it is known) length."""
    path = folder / f"{name}.npy"
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")  # never a pickle, unlike what np.load might find
    except FileNotFoundError:
        raise damaged(folder, f"{path.name} is missing") from None
    except Exception:  # numpy has no class of its own for a header or a length that is wrong
        raise damaged(folder, f"{path.name} cannot be read or ends too early") from None
    if mapped.dtype != dtype or mapped.ndim != 1:
        raise damaged(folder, f"{path.name} is not a list of {dtype}")
    if length is not None and len(mapped) != length:
        raise damaged(folder, f"{path.name} has {len(mapped)} entries instead of {length}")
    return np.asarray(mapped)


def map_strings(folder: Path, name: str, count: int) -> StringTable:
    data = map_array(folder, f"{name}.data", np.dtype(np.uint8), None)
    offsets = map_array(folder, f"{name}.offsets", np.dtype(np.int64), count + 1)
    check_ends(folder, f"{name}.offsets", offsets, len(data))
    return StringTable(data, offsets)


def check_ends(folder: Path, name: str, offsets: NDArray[np.int64], last: int) -> None:
    if offsets[0] != 0 or offsets[-1] != last:
        raise damaged(folder, f"{name}.npy does not run from 0 to {last}")

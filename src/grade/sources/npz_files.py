"""Graph sets in one .npz file, a layout that any numpy program can write.

node_offsets [graphs + 1]   node_types [nodes]     places in op_names
edge_offsets [graphs + 1]   edges [edges, 2]       (source, target), numbered from 0 in each graph
op_names [node types]       names [graphs]
optional:
edge_types [edges], from 1  edge_names [edge types + 1], the first for the absent edge
node_names [nodes]          or bytes: the names in UTF-8, a zero byte after each, which takes little room
operands [edges], from 0    operand_names, the words of grade.graphs.operands, the first one empty
outputs [nodes]             true for graph outputs
node_places [nodes]         where each node stands in its file
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.files import whole_file
from grade.graphs import GraphSet
from grade.graphs.graph_set import NO_EDGE
from grade.graphs.operands import UNKNOWN
from grade.sealed import arrays_in
from grade.settings import ReadSettings
from grade.sources.readers import reader

REQUIRED = ("node_offsets", "node_types", "edge_offsets", "edges", "op_names", "names")
OPTIONAL = (
    "edge_types",
    "edge_names",
    "node_names",
    "operands",
    "operand_names",
    "outputs",
    "node_places",
)
TEXTS = ("op_names", "names", "edge_names", "node_names", "operand_names")


def write_npz(
    graphs: GraphSet, path: str | os.PathLike[str], compressed: bool = True, names_as_bytes: bool = False
) -> None:
    """Write a set as one file, which `read_npz` reads back; files of graphs are not kept.

    Arrays of text give every name the room of the longest one; ``names_as_bytes`` does not.

    >>> import tempfile
    >>> graphs = GraphSet.from_edges(node_counts=[2], node_types=[0, 0], edge_counts=[1], edges=[[0, 1]],
    ...                              node_vocabulary=["conv"])
    >>> path = Path(tempfile.mkdtemp()) / "graphs.npz"
    >>> write_npz(graphs, path)
    >>> read_npz(path).digest == graphs.digest
    True
    """
    first = np.repeat(graphs.node_offsets[:-1], graphs.node_counts)  # [nodes] where its graph begins
    targets = np.repeat(np.arange(graphs.nodes), np.diff(graphs.in_offsets))
    arrays: dict[str, NDArray[Any]] = {
        "node_offsets": graphs.node_offsets,
        "node_types": graphs.node_types,
        "edge_offsets": np.concatenate([[0], np.cumsum(graphs.edge_counts)]),
        "edges": np.stack([graphs.in_sources - first[targets], targets - first[targets]], axis=1).astype(
            np.int32
        ),
        "op_names": np.array(graphs.node_vocabulary, np.str_),
        "names": np.array(list(graphs.graph_names), np.str_),
        "edge_types": graphs.in_types,
        "edge_names": np.array(graphs.edge_vocabulary, np.str_),
    }
    if graphs.node_names is not None:
        names = list(graphs.node_names)
        arrays["node_names"] = closed_by_zeros(names) if names_as_bytes else np.array(names, np.str_)
    if graphs.in_operands is not None:
        arrays["operands"] = graphs.in_operands
        arrays["operand_names"] = np.array(graphs.operand_vocabulary, np.str_)
    if graphs.graph_outputs is not None:
        arrays["outputs"] = graphs.graph_outputs
    if graphs.node_places is not None:
        arrays["node_places"] = graphs.node_places
    with whole_file(path) as temporary, temporary.open("wb") as file:
        (np.savez_compressed if compressed else np.savez)(file, allow_pickle=False, **arrays)


def read_npz(
    path: str | os.PathLike[str], origin: str | None = None, file: BinaryIO | None = None
) -> GraphSet:
    """Read and validate a set; ``origin`` is the name for messages and reports, the path when left out.

    ``file`` is read in place of the path, where the file had to be unpacked first.
    """
    place = Path(path)
    try:
        loaded = np.load(file or place, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise InputError(f"{place} is a single array; a graph set is an .npz with {', '.join(REQUIRED)}.")
        with loaded as archive:
            missing = [name for name in REQUIRED if name not in archive.files]
            if missing:
                raise InputError(f"{place} is not a graph set: it lacks {', '.join(missing)}.")
            arrays = arrays_in(archive, (*REQUIRED, *OPTIONAL))
    except FileNotFoundError:
        raise InputError(f"There is no file {place}.") from None
    except InputError:
        raise
    except Exception as error:  # numpy has no class of its own for a malformed file
        raise InputError(
            f"{place} cannot be read as an .npz of plain arrays ({error}); write it again."
        ) from error

    node_names = None
    if "node_names" in arrays and arrays["node_names"].dtype == np.uint8:
        node_names = split_at_zeros(arrays.pop("node_names"), place)
    for name, array in arrays.items():
        expected = "U" if name in TEXTS else "b" if name == "outputs" else "iu"
        dimensions = 2 if name == "edges" else 1
        if array.ndim != dimensions or (array.size and array.dtype.kind not in expected):
            kind = {"U": "text", "b": "true and false", "iu": "whole numbers"}[expected]
            raise InputError(f"{place}: {name} must be an array of {kind} with {dimensions} dimension(s).")
    if arrays["edges"].shape[1] != 2:
        raise InputError(f"{place}: edges must have the shape [edges, 2], not {list(arrays['edges'].shape)}.")

    if "node_names" in arrays:
        node_names = arrays["node_names"].tolist()
    edge_names: tuple[str, ...] = (NO_EDGE, "edge")
    if "edge_names" in arrays:
        edge_names = tuple(arrays["edge_names"].tolist())
    return GraphSet.from_edges(
        node_counts=counts(arrays, "node_offsets", len(arrays["node_types"]), place),
        node_types=arrays["node_types"],
        edge_counts=counts(arrays, "edge_offsets", len(arrays["edges"]), place),
        edges=arrays["edges"],
        edge_types=arrays.get("edge_types"),
        node_vocabulary=arrays["op_names"].tolist(),
        edge_vocabulary=edge_names,
        graph_names=arrays["names"].tolist(),
        node_names=node_names,
        operands=arrays.get("operands"),
        operand_vocabulary=arrays["operand_names"].tolist() if "operand_names" in arrays else (UNKNOWN,),
        outputs=arrays.get("outputs"),
        node_places=arrays.get("node_places"),
        origin=origin if origin is not None else str(place),
    )


@reader("npz", "arrays of graphs", suffixes=(".npz",))
def read_npz_file(path: str, settings: ReadSettings) -> Iterator[GraphSet]:
    yield read_npz(path)


def closed_by_zeros(names: list[str]) -> NDArray[np.uint8]:
    """Names in UTF-8, a zero byte after each; a name that contains one is cut there."""
    content = b"".join(name.partition("\0")[0].encode() + b"\0" for name in names)
    return np.frombuffer(content, np.uint8)


def split_at_zeros(content: NDArray[np.uint8], path: Path) -> list[str]:
    """The names that `closed_by_zeros` wrote.

    >>> split_at_zeros(closed_by_zeros(["layer/0", ""]), Path("graphs.npz"))
    ['layer/0', '']
    """
    try:
        *names, end = content.tobytes().decode().split("\0")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: node_names are not UTF-8 ({error}); write them again.") from None
    if end:
        raise InputError(
            f"{path}: node_names must end with a zero byte after the last name; write them again."
        )
    return names


def counts(arrays: dict[str, NDArray[Any]], name: str, total: int, path: Path) -> NDArray[np.int64]:
    """Counts of each graph from offsets, which must ascend from 0 to the total."""
    offsets = arrays[name].astype(np.int64)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != total or (np.diff(offsets) < 0).any():
        raise InputError(
            f"{path}: {name} must ascend from 0 to {total}, one entry more than there are graphs."
        )
    return np.diff(offsets)

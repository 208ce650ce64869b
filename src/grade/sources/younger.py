"""Younger: operator graphs of real models as pickled networkx graphs.

    younger:FOLDER     instances (``INSTANCE/network/graph.pkl``) or samples of a task (``sample-7.pkl``), at any depth
    younger:ARCHIVE    the same in a .tar (also compressed) or .zip, read without unpacking it

A pickle is a program. Here it can make nothing but plain containers and inert stand-ins for the few classes that
such a file needs; a file that asks for anything else is refused by name, and nothing of it is run.

Operators become nodes, typed as in ONNX files; inputs, outputs and constants are dropped. The operators of a body
(If, Loop) are put beside the others, and its last ones lead to the operator that owns it.
"""

import io
import pickle
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.strings import storable
from grade.settings import ReadSettings
from grade.sources.base import source
from grade.sources.operator_graph import CONSTANT, OperatorGraph, Value
from grade.sources.readers import Item, reader

ARCHIVES = (".tar", ".tgz", ".gz", ".bz2", ".xz", ".zip")
MAX_MEMBER = 1 << 30  # bytes of one pickle in an archive
MAX_NESTING = 50

# What a pickled networkx graph may ask for. Containers are themselves; all else is replaced by a stand-in.
CONTAINERS = {"dict": dict, "list": list, "set": set, "frozenset": frozenset, "tuple": tuple}
STAND_INS = {
    ("networkx.classes.digraph", "DiGraph"),
    ("networkx.classes.graph", "Graph"),
    ("networkx.classes.reportviews", "NodeView"),
    ("networkx.classes.reportviews", "OutEdgeView"),
    ("networkx.classes.reportviews", "InEdgeView"),
    ("networkx.classes.reportviews", "DiDegreeView"),
    ("networkx.classes.coreviews", "AdjacencyView"),
    ("networkx.classes.coreviews", "AtlasView"),
    ("onnx.onnx_cpp2py_export.defs", "OpSchema.AttrType"),
}


@source(
    "younger",
    "Graphs of the Younger data set: its folders and archives.",
    argument="PATH",
    needs_argument=True,
)
def younger(path: str) -> list[Item]:
    """The pickles below a folder, or one archive."""
    place = Path(path)
    if place.is_file():
        return [Item("younger", path)]
    found = (
        sorted([*place.rglob("network/graph.pkl"), *place.rglob("sample-*.pkl")]) if place.is_dir() else []
    )
    if not found:
        raise InputError(
            f"{path} is neither an archive nor a folder with network/graph.pkl or sample-*.pkl in it; name another."
        )
    return [Item("younger", str(file)) for file in found]


@reader("younger", "Younger's pickled graphs")
def read_younger(path: str, settings: ReadSettings | None = None) -> Iterator[GraphSet]:
    """The graphs of a pickle, or of all pickles in an archive."""
    choices = settings or ReadSettings()
    try:
        members = (
            read_archive(path) if Path(path).suffix.lower() in ARCHIVES else [(path, Path(path).read_bytes())]
        )
        for name, content in members:
            graph = operators_of(unpickle(content, name), name)
            yield graph.graph_set(name, choices, origin=path)
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read ({error}); check that it is whole.") from None


def read_archive(path: str) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every pickle in an archive; nothing is written to disk."""
    if Path(path).suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if wanted(path, entry.filename, entry.file_size):
                    yield f"{path}/{entry.filename}", archive.read(entry)
        return
    with tarfile.open(path, "r|*") as tape:
        for member in tape:
            file = tape.extractfile(member) if member.isreg() else None
            if file is not None and wanted(path, member.name, member.size):
                yield f"{path}/{member.name}", file.read()


def wanted(archive: str, name: str, size: int) -> bool:
    """Whether a member is a pickled graph; one that points out of the archive condemns it."""
    place = PurePosixPath(name.replace("\\", "/"))
    if place.is_absolute() or ".." in place.parts:
        raise InputError(
            f"{archive} is refused, for its member {name[:80]!r} points outside; do not trust it."
        )
    if place.suffix != ".pkl" or not (place.name == "graph.pkl" or place.name.startswith("sample-")):
        return False
    if size > MAX_MEMBER:
        raise InputError(
            f"{archive} is refused, for its member {name[:80]!r} has {size:,} bytes; take it out."
        )
    return True


def unpickle(content: bytes, name: str) -> Any:
    """The object of a pickle that holds plain containers and graphs only.

    Graphs come as stand-ins: objects without behaviour that keep what they are given in ``state``.
    """

    class StandIn:  # made anew for every file, so that none can change it for the next
        def __init__(self, *arguments: Any) -> None:
            self.state: Any = {}

        def __setstate__(self, state: Any) -> None:
            self.state = state

    class Restricted(pickle.Unpickler):
        def find_class(self, module: str, wanted: str) -> Any:
            if module in ("builtins", "__builtin__") and wanted in CONTAINERS:
                return CONTAINERS[wanted]
            if (module, wanted) in STAND_INS:
                return StandIn
            raise InputError(
                f"{name} is refused, for its pickle asks for {f'{module}.{wanted}'[:100]!r}, which a graph does not"
                " need; do not trust it."
            )

        def persistent_load(self, identity: Any) -> Any:
            raise InputError(
                f"{name} is refused, for its pickle refers to something outside; do not trust it."
            )

    try:
        return Restricted(io.BytesIO(content)).load()
    except InputError:
        raise
    except MemoryError:
        raise InputError(
            f"{name} is refused, for its pickle asks for too much memory; do not trust it."
        ) from None
    except Exception as error:  # what pickle meets in a damaged file is of any class
        raise InputError(f"{name} is not a pickled graph, or is damaged ({type(error).__name__}).") from None


def operators_of(graph: Any, name: str) -> OperatorGraph:
    """The operators of a pickled graph."""
    result = OperatorGraph()
    try:
        add_graph(result, graph, "", 0)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        reason = error if isinstance(error, InputError) else f"{type(error).__name__}: {error}"[:100]
        raise InputError(
            f"{name} is not a graph of Younger, for its nodes lack an operator or its edges a node ({reason})."
        ) from None
    return result


def add_graph(result: OperatorGraph, graph: Any, prefix: str, depth: int) -> list[Value]:
    """Add the operators of a graph and of its bodies; returns what nothing in it reads."""
    if depth > MAX_NESTING:
        raise InputError("its graphs are nested too deep")
    state = graph.state
    nodes, successors = state["_node"], state["_succ"] if "_succ" in state else state["_adj"]
    values = {identity: Value() for identity in nodes}
    reads: dict[Any, list[Value]] = {identity: [] for identity in nodes}
    unread = dict.fromkeys(nodes)
    for identity, targets in successors.items():
        for target in targets:
            reads[target].append(values[identity])
            unread.pop(identity, None)
    for identity, attributes in nodes.items():
        if attributes.get("type", "operator") != "operator":
            unread.pop(identity, None)
            continue  # an input, an output or a constant: its value stays without a node
        kind = operator_name(attributes)
        label = f"{prefix}{attributes.get('name') or identity}"
        for body in bodies_in(attributes.get("attributes")):
            reads[identity] += add_graph(result, body, f"{label}/", depth + 1)
        result.add(kind, label, reads[identity], [values[identity]], constant=kind == CONSTANT)
    return [values[identity] for identity in unread]


def operator_name(attributes: dict[str, Any]) -> str:
    """The type of a node: its operator, with the domain before it unless that is the default one."""
    operator = attributes["operator"] if "operator" in attributes else attributes["features"]["operator"]
    if isinstance(operator, str) and operator:
        return storable(operator)
    domain, kind = operator.get("domain") or "", operator["op_type"]
    if not isinstance(domain, str) or not isinstance(kind, str) or not kind:
        raise InputError("an operator has no name")
    return storable(kind if domain in ("", "ai.onnx") else f"{domain}::{kind}")


def bodies_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """All graphs among the attributes of an operator."""
    if isinstance(value, dict | list | tuple) and depth < 4:
        for part in value.values() if isinstance(value, dict) else value:
            if "_node" in getattr(part, "state", ()):
                yield part
            else:
                yield from bodies_in(part, depth + 1)

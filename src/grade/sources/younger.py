"""Younger: operator graphs of real models as pickled networkx graphs.

    younger:FOLDER     instances (``INSTANCE/network/graph.pkl``) or samples of a task (``sample-7.pkl``), at any depth
    younger:ARCHIVE    the same in a .tar (also compressed) or .zip, read without unpacking it

Younger's package writes a pickle in a pickle: ``{"main": the pickled object, "checksum": its SHA-256}``; the object
is a graph, or a tuple with a graph in it. A pickle without that wrapper is read, too.

A pickle is a program. Here it can make nothing but plain containers and inert stand-ins for the few classes that
such a file needs; a file that asks for anything else is refused by name, and nothing of it is run. That holds for
the inner pickle as for the outer one.

Operators become nodes, typed as in ONNX files; inputs, outputs and constants are dropped. The bodies of If, Loop
and Scan are flattened as those of ONNX files are (`grade.sources.onnx_files`). An operand that is read twice by one
operator is known at its last place only: the format keeps no more.
"""

import ast
import hashlib
import io
import pickle
import pickletools
import tarfile
import zipfile
from collections import ChainMap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.strings import storable
from grade.settings import ReadSettings
from grade.sources.archives import archived
from grade.sources.operator_graph import CONSTANT, OperatorGraph, Value, attribute_suffix
from grade.sources.readers import Item, reader
from grade.sources.source_registry import source

ARCHIVES = (".tar", ".tgz", ".gz", ".bz2", ".xz", ".zip")
MAX_MEMBER = 1 << 30  # bytes of one pickle in an archive
MAX_NESTING = 50
MAX_OPERANDS = 1 << 20
MAX_TEXT = 1 << 16

# The classes that a pickled networkx graph may name. Containers are themselves; all else becomes a stand-in.
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
            archived(path, read_archive(path))
            if Path(path).suffix.lower() in ARCHIVES
            else [(path, Path(path).read_bytes())]
        )
        for name, content in members:
            graph = operators_of(unpickle(content, name), name, choices)
            yield graph.graph_set(name, choices, origin=path)
    except OSError as error:
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
    """The object that Younger pickled, without its wrapper."""
    outer = restricted(content, name)
    if not (isinstance(outer, dict) and isinstance(outer.get("main"), bytes)):
        return outer
    if hashlib.sha256(outer["main"]).hexdigest() != outer.get("checksum"):
        raise InputError(f"{name} is damaged (it does not match its checksum); get it again.")
    return restricted(outer["main"], name)


def restricted(content: bytes, name: str) -> Any:
    """The object of a pickle that holds plain containers and graphs only.

    Graphs come as stand-ins: objects without behaviour that keep their content in ``state``.
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
        for operation, argument, _ in pickletools.genops(content):
            # Python makes room for both before it looks whether the file goes on that far.
            wide = operation.name in ("PUT", "BINPUT", "LONG_BINPUT") and (argument or 0) > len(content)
            if wide or operation.name == "BYTEARRAY8":
                raise MemoryError
        return Restricted(io.BytesIO(content)).load()
    except InputError:
        raise
    except MemoryError:
        raise InputError(
            f"{name} is refused, for its pickle asks for too much memory; do not trust it."
        ) from None
    except Exception as error:  # a damaged file can raise an exception of any class
        raise InputError(f"{name} is not a pickled graph, or is damaged ({type(error).__name__}).") from None


def operators_of(content: Any, name: str, settings: ReadSettings) -> OperatorGraph:
    """The operators of a pickled graph, or of the first graph in a pickled sample."""
    walk = Walk(settings.attributes or [])
    try:
        graph = content
        if isinstance(content, tuple | list):  # (hash, graph, boundary) and the like
            graph = next((part for part in content if is_graph(part)), None)
        walk.result.outputs = walk.graph(graph, Scope(), None, "", 0)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{name} is not a graph of Younger, for its nodes lack an operator or its edges a node ({reason[:200]})."
        ) from None
    return walk.result


Scope = ChainMap[str, Value]  # the value of each name; a body sees the names around it


class Walk:
    """Makes one `OperatorGraph` of a graph and of the bodies in it."""

    def __init__(self, wanted: list[str]) -> None:
        self.wanted = wanted
        self.result = OperatorGraph()
        self.place = (
            0  # in the list of nodes of the model; the operators of a body count as the one that has it
        )

    def graph(
        self, graph: Any, outer: Scope, actuals: dict[int, Value] | None, prefix: str, depth: int
    ) -> list[Value] | None:
        """Add the operators of a graph; returns its outputs, None where they are not known.

        The inputs of a body stand for ``actuals``.
        """
        if depth > MAX_NESTING:
            raise InputError("its graphs are nested too deep")
        nodes, successors = graph.state["_node"], graph.state.get("_succ", graph.state.get("_adj"))
        operators = {identity: None for identity, node in nodes.items() if kind_of(node) == "operator"}
        scope = outer.new_child()
        values: dict[Any, dict[int, Value]] = {identity: {} for identity in nodes}  # by number of result
        for identity, node in nodes.items():
            for name, place in named(node, "results"):
                values[identity][place] = scope[name] = Value()
            for name, place in named(node, "graph_inputs"):
                scope[name] = (actuals or {}).get(place) or Value()
            for name, _ in named(node, "graph_constants"):
                scope[name] = Value()
        reads: dict[Any, dict[int, Value]] = {
            identity: {place: scope[name] for name, place in named(node, "operands") if name in scope}
            for identity, node in nodes.items()
        }
        unread, ends = dict(operators), dict[int, Value]()
        for producer, targets in successors.items():
            for target, edge in targets.items():
                unread.pop(producer, None)
                emit, trap = connection(edge)
                if kind_of(nodes[target]) == "output":
                    ends[trap] = values[producer].setdefault(emit, Value())
                elif producer in operators and not known(values[producer], reads[target]):
                    while trap in reads[target]:
                        trap += 1
                    reads[target][trap] = values[producer].setdefault(emit, Value())
        last = [values[identity].setdefault(0, Value()) for identity in unread]
        for identity in operators:
            if depth == 0:
                self.place = int(identity) if str(identity).isdecimal() else 0
            self.operator(nodes[identity], identity, reads[identity], values[identity], scope, prefix, depth)
        outputs = {
            place: scope[name] for node in nodes.values() for name, place in named(node, "graph_outputs")
        }
        if any(kind_of(node) == "output" for node in nodes.values()):
            return [value for _, value in sorted((ends | outputs).items())]
        return last if depth else None

    def operator(
        self,
        node: dict[str, Any],
        identity: Any,
        operands: dict[int, Value],
        results: dict[int, Value],
        scope: Scope,
        prefix: str,
        depth: int,
    ) -> None:
        """Add one operator and the bodies that it has."""
        kind, label = operator_name(node), f"{prefix}{node.get('name') or identity}"
        if not all(0 <= place < MAX_OPERANDS for place in (*operands, *results)):
            raise InputError("an operand or result has an impossible number")
        reads = [operands.get(place, Value(absent=True)) for place in range(max(operands, default=-1) + 1)]
        given = dict(operands)
        if kind == "Loop":
            given.pop(0, None)  # the number of the iteration is not how many there may be
        for body in bodies_in(node.get("attributes")):
            reads += self.graph(body, scope, given, f"{label}/", depth + 1) or []
        if self.wanted:
            kind += attribute_suffix(kind, attribute_texts(node), self.wanted)
        outputs = [results.get(place, Value()) for place in range(max(results, default=-1) + 1)]
        self.result.add(
            kind, label, reads, outputs, constant=operator_name(node) == CONSTANT, place=self.place
        )


def is_graph(value: Any) -> bool:
    return "_node" in getattr(value, "state", ())


def kind_of(node: dict[str, Any]) -> str:
    return str(node.get("type", "operator"))


def named(node: dict[str, Any], what: str) -> list[tuple[str, int]]:
    """(name, place) of the entries that a node lists under this word."""
    listed = node.get(what)
    if not isinstance(listed, dict):
        return []
    return [(name, place) for name, place in listed.items() if isinstance(name, str) and type(place) is int]


def connection(edge: Any) -> tuple[int, int]:
    """(number of the result, place of the operand) of an edge; zeros where it does not say."""
    told = edge.get("connection") if isinstance(edge, dict) else None
    if not isinstance(told, dict):
        return 0, 0
    emit, trap = told.get("emit_index"), told.get("trap_index")
    return (emit if type(emit) is int else 0), (trap if type(trap) is int else 0)


def known(results: dict[int, Value], operands: dict[int, Value]) -> bool:
    """Whether any of these operands is one of these results."""
    return any(operand is result for result in results.values() for operand in operands.values())


def operator_name(node: dict[str, Any]) -> str:
    """The type of a node: its operator, with the domain before it unless that is the default one."""
    operator = node["operator"] if "operator" in node else node["features"]["operator"]
    if isinstance(operator, str) and operator:
        return storable(operator)
    domain, kind = operator.get("domain") or "", operator["op_type"]
    if not isinstance(domain, str) or not isinstance(kind, str) or not kind:
        raise InputError("an operator has no name")
    return storable(kind if domain in ("", "ai.onnx") else f"{domain}::{kind}")


def attribute_texts(node: dict[str, Any]) -> dict[str, str]:
    """Name and value (numbers and texts only) of the attributes of a node, in either of Younger's two forms."""
    attributes = node.get("attributes") or (node.get("features") or {}).get("attributes") or {}
    texts = {}
    for name, entry in attributes.items():
        value = entry["value"] if isinstance(entry, dict) else entry[1]
        if isinstance(value, str) and not isinstance(entry, dict):  # (type, value in the notation of Python)
            with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                value = ast.literal_eval(value[:MAX_TEXT])
        values = value if isinstance(value, list | tuple) else [value]
        if values and all(isinstance(part, int | float | str | bytes) for part in values):
            texts[storable(str(name))] = "x".join(map(value_text, values))
    return texts


def value_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return f"{value:.6g}" if isinstance(value, float) else storable(str(value))


def bodies_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """All graphs among the attributes of an operator."""
    if isinstance(value, dict | list | tuple) and depth < 4:
        for part in value.values() if isinstance(value, dict) else value:
            if is_graph(part):
                yield part
            else:
                yield from bodies_in(part, depth + 1)

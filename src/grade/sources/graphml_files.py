"""Graphs in GraphML, as networkx and igraph write it.

The type of a node is its attribute ``type`` (the setting ``type_key`` names another), that of an edge likewise, else
"edge"; a node is named by its attribute ``name``, else by its id. An attribute ``operands`` of edges (words of
`grade.graphs.operands`) and a true ``output`` of nodes are read, too. The file is parsed as it streams by, graph
after graph, by defusedxml, which refuses document types and entities.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.operands import is_operand_word
from grade.settings import ReadSettings
from grade.sources.from_labels import graph_from_labels
from grade.sources.readers import reader

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_DEPTH = 50
Attributes = dict[str, str]


@reader("graphml", "GraphML", suffixes=(".graphml",))
def read_graphml(path: str, settings: ReadSettings | None = None) -> Iterator[GraphSet]:
    """The graphs of a file, one after the other."""
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    document = Document(path, (settings or ReadSettings()).type_key)
    try:
        with Path(path).open("rb") as file:
            for event, element in iterparse(file, ("start", "end"), forbid_dtd=True):
                if event == "start":
                    document.start(element)
                elif (graphs := document.end(element)) is not None:
                    yield graphs
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); check its name and permissions."
        ) from None
    except ParseError as error:
        raise InputError(f"{path} is not GraphML: {error}; write it again.") from None
    except DefusedXmlException:
        raise InputError(
            f"{path} is refused, for it declares a document type or entities; remove them."
        ) from None
    except (InputError, LookupError, ValueError) as error:  # the latter two: an encoding that Python lacks
        raise InputError(f"{path}: {error}; correct the file.") from None
    if not document.graphs:
        raise InputError(f"{path} is not GraphML, for it holds no graph; write it again.")


def tag(element: "Element") -> str:
    """The name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


class Document:
    """A file as far as it has been read."""

    def __init__(self, path: str, type_key: str) -> None:
        self.path, self.type_key = path, type_key
        self.open: list[Element] = []
        self.keys: dict[str, tuple[str, str]] = {}  # id -> (node, edge or all, name)
        self.defaults: dict[str, str] = {}  # by id of the key
        self.graphs = 0
        self.nodes: dict[str, Attributes] = {}
        self.edges: list[tuple[str, str, Attributes]] = []

    def start(self, element: "Element") -> None:
        """An element begins; it has its attributes only."""
        name = tag(element)
        self.open.append(element)
        if len(self.open) > MAX_DEPTH:
            raise InputError(f"its elements are nested more than {MAX_DEPTH} deep")
        if tag(self.open[0]) != "graphml":
            raise InputError(f"it begins with <{name[:40]}>, not with <graphml>")
        if name == "graph":
            if sum(tag(outer) == "graph" for outer in self.open) > 1:
                raise InputError("it has a graph within a graph; flatten it")
            if element.get("edgedefault") == "undirected":
                raise InputError("its graph is undirected; direct the edges")
            self.nodes, self.edges = {}, []
        elif name == "hyperedge":
            raise InputError("it has a hyperedge; GraDE knows edges of two ends only")

    def end(self, element: "Element") -> GraphSet | None:
        """An element is complete; a graph becomes a set."""
        self.open.pop()
        name, found = tag(element), None
        if name == "key":
            identity = element.get("id", "")
            self.keys[identity] = element.get("for", "all"), element.get("attr.name", identity)
            for child in element:
                self.defaults[identity] = (child.text or "").strip()
        elif name == "node":
            identity = element.get("id", "")
            if not identity or identity in self.nodes:
                raise InputError("a node has no id, or one that another has")
            self.nodes[identity] = self.attributes(element)
        elif name == "edge":
            if element.get("directed") == "false":
                raise InputError("an edge is undirected; direct it")
            source, target = element.get("source"), element.get("target")
            if source is None or target is None:
                raise InputError("an edge has no source or no target")
            self.edges.append((source, target, self.attributes(element)))
        elif name == "graph":
            found = self.graph_set(element.get("id", ""))
            self.graphs += 1
        if name in ("node", "edge", "graph") and self.open:
            self.open[-1].remove(element)  # it has been noted: memory stays bounded by one graph
        return found

    def attributes(self, element: "Element") -> Attributes:
        """The data of a node or an edge by the names of their keys, with the defaults of those that are not there."""
        owners, values = (tag(element), "all"), {}
        for identity, (owner, name) in self.keys.items():
            if owner in owners and identity in self.defaults:
                values[name] = self.defaults[identity]
        for data in element:
            owner, name = self.keys.get(data.get("key", ""), ("all", data.get("key", "")))
            if tag(data) == "data" and owner in owners:
                values[name] = (data.text or "").strip()
        return values

    def graph_set(self, name: str) -> GraphSet:
        """The graph that has just ended."""
        number = {identity: place for place, identity in enumerate(self.nodes)}
        types = []
        for identity, attributes in self.nodes.items():
            if not attributes.get(self.type_key):
                raise InputError(
                    f"the node {identity[:80]!r} has no attribute {self.type_key!r} (name another with `type_key`)"
                )
            types.append(attributes[self.type_key])
        edges: dict[tuple[int, int], str] = {}
        operands: dict[tuple[int, int], str] = {}
        for source, target, attributes in self.edges:
            described = f"the edge from {source[:80]!r} to {target[:80]!r}"
            if source not in number or target not in number:
                raise InputError(f"{described} lacks a node")
            pair = number[source], number[target]
            if pair in edges:
                raise InputError(f"{described} is there twice")
            edges[pair] = attributes.get(self.type_key) or "edge"
            operands[pair] = attributes.get("operands", "")
            if not is_operand_word(operands[pair]):
                raise InputError(f"{described} has operands {operands[pair][:80]!r}, not like 0, 0+1 or 1:0")
        outputs = None
        if any("output" in attributes for attributes in self.nodes.values()):
            outputs = [node.get("output", "").lower() in ("true", "1") for node in self.nodes.values()]
        label = name or (f"{self.path}:{self.graphs + 1}" if self.graphs else self.path)
        names = [attributes.get("name", identity) for identity, attributes in self.nodes.items()]
        known = operands if any(operands.values()) else None
        return graph_from_labels(label, types, edges, names, self.path, operands=known, outputs=outputs)

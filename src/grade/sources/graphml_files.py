"""Graphs in GraphML, as networkx, igraph, Gephi and yEd write it.

The type of a node is its attribute ``type`` (another is named with ``--type-key``), that of an edge likewise, else
"edge"; a node is named by its attribute ``name``, else by its id. The file is parsed as it streams by, graph after
graph. A document type declaration is refused, and with it every entity: neither bombs nor references to other
files can be written without one.
"""

from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.settings import ReadSettings
from grade.sources.readers import reader
from grade.sources.words import graph_of_words

CHUNK = 1 << 20
MAX_TEXT = 1 << 16
MAX_DEPTH = 50
Attributes = dict[str, str]


@reader("graphml", "GraphML", suffixes=(".graphml",))
def read_graphml(path: str, settings: ReadSettings | None = None) -> Iterator[GraphSet]:
    """The graphs of a file, one after the other."""
    document = Document(path, (settings or ReadSettings()).type_key)
    try:
        with Path(path).open("rb") as file:
            last = False
            while not last:
                chunk = file.read(CHUNK)
                last = not chunk
                document.parser.Parse(chunk, last)
                yield from document.finished
                document.finished.clear()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); check its name and permissions."
        ) from None
    except expat.ExpatError as error:
        raise InputError(f"{path} is not GraphML: {error}; write it again.") from None
    except (InputError, LookupError, ValueError) as error:  # the latter two: an encoding that Python lacks
        line = document.parser.CurrentLineNumber
        raise InputError(f"{path}, line {line}: {error}; correct the file.") from None
    if not document.graphs:
        raise InputError(f"{path} is not GraphML, for it holds no graph; write it again.")


class Document:
    """What has been read of a file so far; the parser calls its methods."""

    def __init__(self, path: str, type_key: str) -> None:
        self.path, self.type_key = path, type_key
        self.parser = expat.ParserCreate(namespace_separator="}")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.refuse_declaration
        self.parser.EntityDeclHandler = self.refuse_declaration
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.graphs = 0
        self.finished: list[GraphSet] = []
        self.open: list[str] = []  # names of the elements that are open
        self.keys: dict[str, tuple[str, str]] = {}  # id -> (node or edge or all, name)
        self.defaults: dict[str, str] = {}
        self.key = ""  # of the <data> or <default> that is open
        self.text: list[str] | None = None
        self.nodes: dict[str, Attributes] = {}
        self.edges: list[tuple[str, str, Attributes]] = []
        self.graph_name = ""

    def refuse_declaration(self, *_: object) -> None:
        raise InputError("it declares a document type or entities, which are refused")

    def start(self, name: str, attributes: Attributes) -> None:
        element = name.rpartition("}")[2]
        self.open.append(element)
        if len(self.open) > MAX_DEPTH:
            raise InputError(f"its elements are nested more than {MAX_DEPTH} deep")
        if self.open[0] != "graphml":
            raise InputError(f"it begins with <{self.open[0][:40]}>, not with <graphml>")
        if element == "key":
            identity = attributes.get("id", "")
            self.keys[identity] = attributes.get("for", "all"), attributes.get("attr.name", identity)
            self.key = identity
        elif element == "graph":
            if self.open.count("graph") > 1:
                raise InputError("it has a graph within a graph; flatten it")
            if attributes.get("edgedefault") == "undirected":
                raise InputError("its graph is undirected; direct the edges")
            self.graph_name = attributes.get("id", "")
            self.nodes, self.edges = {}, []
        elif element == "node":
            identity = attributes.get("id", "")
            if not identity or identity in self.nodes:
                raise InputError("a node has no id, or one that another has")
            self.nodes[identity] = {}
        elif element == "edge":
            if attributes.get("directed") == "false":
                raise InputError("an edge is undirected; direct it")
            if "source" not in attributes or "target" not in attributes:
                raise InputError("an edge has no source or no target")
            self.edges.append((attributes["source"], attributes["target"], {}))
        elif element == "hyperedge":
            raise InputError("it has a hyperedge; GraDE knows edges of two ends only")
        elif element in ("data", "default"):
            self.key = attributes.get("key", self.key)
            self.text = []

    def characters(self, text: str) -> None:
        if self.text is not None:
            self.text.append(text)
            if sum(map(len, self.text)) > MAX_TEXT:
                raise InputError(f"a value is longer than {MAX_TEXT:,} characters")

    def end(self, name: str) -> None:
        element = self.open.pop()
        if element in ("data", "default") and self.text is not None:
            value, self.text = "".join(self.text).strip(), None
            owner = self.open[-1] if self.open else ""
            kind, attribute = self.keys.get(self.key, ("all", self.key))
            if element == "default":
                self.defaults[self.key] = value
            elif owner == "node" and kind in ("node", "all") and self.nodes:
                next(reversed(self.nodes.values()))[attribute] = value
            elif owner == "edge" and kind in ("edge", "all") and self.edges:
                self.edges[-1][2][attribute] = value
        elif element == "graph":
            self.finished.append(self.graph_set())
            self.graphs += 1

    def usual_type(self, kind: str) -> str:
        """The type of nodes or edges that say nothing of it, where the file declares one."""
        for key, (owner, name) in self.keys.items():
            if owner in (kind, "all") and name == self.type_key and key in self.defaults:
                return self.defaults[key]
        return ""

    def graph_set(self) -> GraphSet:
        """The graph that has just ended."""
        usual_node, usual_edge = self.usual_type("node"), self.usual_type("edge")
        number = {identity: place for place, identity in enumerate(self.nodes)}
        types = []
        for identity, attributes in self.nodes.items():
            kind = attributes.get(self.type_key, usual_node)
            if not kind:
                raise InputError(
                    f"the node {identity[:80]!r} has no attribute {self.type_key!r} (name another with --type-key)"
                )
            types.append(kind)
        edges: dict[tuple[int, int], str] = {}
        for source, target, attributes in self.edges:
            if source not in number or target not in number:
                raise InputError(f"the edge from {source[:80]!r} to {target[:80]!r} lacks a node")
            pair = number[source], number[target]
            if pair in edges:
                raise InputError(f"the edge from {source[:80]!r} to {target[:80]!r} is there twice")
            edges[pair] = attributes.get(self.type_key, usual_edge or "edge")
        name = self.graph_name or (f"{self.path}:{self.graphs + 1}" if self.graphs else self.path)
        names = [attributes.get("name", identity) for identity, attributes in self.nodes.items()]
        return graph_of_words(name, types, edges, names, self.path)

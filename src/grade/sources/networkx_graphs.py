"""To and from networkx. It is imported where it is used, so GraDE runs without it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.concatenation import operand_vocabulary
from grade.graphs.graph_set import NO_EDGE
from grade.graphs.operands import UNKNOWN
from grade.graphs.origins import Origins, join_origins

if TYPE_CHECKING:
    import networkx


def from_networkx(
    graphs: "Iterable[networkx.DiGraph] | Mapping[str, networkx.DiGraph]",
    node_type: str = "type",
    edge_type: str = "type",
    node_vocabulary: Sequence[str] | None = None,
    edge_vocabulary: Sequence[str] | None = None,
    origin: str = "networkx",
) -> GraphSet:
    """A set from networkx digraphs whose nodes carry their type in the attribute ``node_type``.

    Edges without the attribute ``edge_type`` are of the type "edge". Nodes keep their order and are named by
    their attribute ``name``, else by ``str(node)``; graphs are named by the mapping's keys or by
    ``graph.name``. A vocabulary that is left out holds the types in alphabetical order; give one to keep
    several sets comparable. The attribute ``operands`` of an edge says which operands it feeds (0, or a word of
    `grade.graphs.operands`), the attribute ``output`` of a node that it is an output of its graph; ``place`` of a
    node and ``file`` and ``file_digest`` of a graph say where they come from, as `to_networkx` writes them.

    >>> import networkx
    >>> graph = networkx.DiGraph(name="tiny")
    >>> graph.add_node("a", type="input"); graph.add_node("b", type="conv"); graph.add_edge("a", "b")
    >>> graphs = from_networkx([graph])
    >>> graphs.node_vocabulary, graphs.edge_list(0).tolist(), list(graphs.graph_names)
    (('conv', 'input'), [[0, 1]], ['tiny'])
    """
    if isinstance(graphs, Mapping):
        names, members = [str(name) for name in graphs], list(graphs.values())
    else:
        members = list(graphs)
        names = [str(graph.name) or f"graph-{i}" for i, graph in enumerate(members)]
    types: list[str] = []
    labels: list[str] = []
    edges: list[tuple[int, int]] = []
    kinds: list[str] = []
    fed: list[str] = []
    outputs: list[bool] = []
    places: list[int] = []
    known: set[str] = set()  # attributes that some node has
    for name, graph in zip(names, members, strict=True):
        if not graph.is_directed() or graph.is_multigraph():
            raise InputError(
                f"{origin}: graph {name!r} is not a networkx.DiGraph; direct it and merge parallel edges."
            )
        number: dict[Any, int] = {}
        for node, attributes in graph.nodes(data=True):
            if node_type not in attributes:
                raise InputError(f"{origin}: node {node!r} of graph {name!r} has no attribute {node_type!r}.")
            number[node] = len(number)
            types.append(str(attributes[node_type]))
            labels.append(str(attributes.get("name", node)))
            known |= {"output", "place"} & attributes.keys()
            outputs.append(bool(attributes.get("output", False)))
            places.append(int(attributes.get("place", number[node])))
        for begin, end, attributes in graph.edges(data=True):
            edges.append((number[begin], number[end]))
            kinds.append(str(attributes.get(edge_type, "edge")))
            fed.append(str(attributes.get("operands", UNKNOWN)))
    words = tuple(sorted(set(types)) if node_vocabulary is None else node_vocabulary)
    arrows = tuple([NO_EDGE, *sorted(set(kinds) | {"edge"})] if edge_vocabulary is None else edge_vocabulary)
    words_fed = operand_vocabulary()
    result = GraphSet.from_edges(
        node_counts=[graph.number_of_nodes() for graph in members],
        node_types=numbers(types, words, "node", origin),
        edge_counts=[graph.number_of_edges() for graph in members],
        edges=edges,
        edge_types=numbers(kinds, arrows, "edge", origin),
        node_vocabulary=words,
        edge_vocabulary=arrows,
        graph_names=names,
        node_names=labels,
        operands=words_fed.places(fed) if any(fed) else None,
        operand_vocabulary=words_fed.words,
        outputs=np.array(outputs, np.bool_) if "output" in known else None,
        node_places=places if "place" in known else None,
        origin=origin,
    )
    files = [(graph.graph.get("file"), graph.graph.get("file_digest", "")) for graph in members]
    if not any(path for path, _ in files):
        return result
    parts = [Origins.of_one(str(path), str(d), 1) if path else Origins.unknown(1) for path, d in files]
    return replace(result, origins=join_origins(parts))


def to_networkx(graphs: GraphSet, graph: int) -> "networkx.DiGraph":
    """One graph of a set: nodes 0, 1, ... with ``type`` (and, where known, ``name``, ``output`` and ``place``) and
    edges with ``type`` (and ``operands``); the graph has its ``name`` (and ``file`` and ``file_digest``).

    >>> from grade.sources import load
    >>> graph = to_networkx(load("zoo-mini"), 0)
    >>> graph.name, graph.number_of_nodes(), graph.nodes[0]
    ('tv/vgg11', 28, {'type': 'Conv'})
    """
    try:
        import networkx
    except ImportError:
        raise InputError(
            "networkx is not installed; install it with 'pip install grade-motifs[networkx]'."
        ) from None
    if not 0 <= graph < len(graphs):
        raise InputError(f"{graphs.origin}: graph {graph} is outside 0 to {len(graphs) - 1}.")
    begin, end = int(graphs.node_offsets[graph]), int(graphs.node_offsets[graph + 1])
    result = networkx.DiGraph(name=graphs.graph_names[graph])
    for node in range(begin, end):
        attributes: dict[str, Any] = {"type": graphs.node_vocabulary[graphs.node_types[node]]}
        if graphs.node_names is not None:
            attributes["name"] = graphs.node_names[node]
        if graphs.graph_outputs is not None:
            attributes["output"] = bool(graphs.graph_outputs[node])
        if graphs.node_places is not None:
            attributes["place"] = int(graphs.node_places[node])
        result.add_node(node - begin, **attributes)
    file = None if graphs.origins is None else graphs.origins.file(graph)
    if file is not None:
        result.graph["file"], result.graph["file_digest"] = file
    rows = graphs.edge_list(graph).tolist(), graphs.edge_types_of(graph).tolist(), graphs.operand_words(graph)
    for (source, target), kind, word in zip(*rows, strict=True):
        known = {"operands": word} if word else {}
        result.add_edge(source, target, type=graphs.edge_vocabulary[kind], **known)
    return result


def numbers(words: list[str], vocabulary: tuple[str, ...], what: str, origin: str) -> list[int]:
    """Each word's place in the vocabulary."""
    place = {word: i for i, word in enumerate(vocabulary)}
    unknown = next((word for word in words if word not in place), None)
    if unknown is not None:
        raise InputError(f"{origin}: the {what} type {unknown!r} is not in the vocabulary that was given.")
    return [place[word] for word in words]

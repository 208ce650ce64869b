"""Patterns as files of other graph tools: GraphML, Graphviz (dot), JSON."""

import json

from grade.graphs import Pattern
from grade.report.drawing import clean, colours

GRAPHML = "http://graphml.graphdrawing.org/xmlns"


def graphml(pattern: Pattern) -> str:
    """GraphML with the attribute ``type`` of nodes and edges, which `grade graphs build` reads back.

    >>> print(graphml(Pattern.of([0], [[0]], ["a<b"])).split("directed")[1].split("</graph>")[0])
    "><node id="n0"><data key="node_type">a&lt;b</data></node>
    """
    nodes = "".join(
        f'<node id="n{i}"><data key="node_type">{clean(name)}</data></node>'
        for i, name in enumerate(pattern.type_names)
    )
    edges = "".join(
        f'<edge source="n{i}" target="n{j}"><data key="edge_type">{clean(edge_name(pattern, t))}</data></edge>'
        for i, j, t in pattern.edge_list
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="{GRAPHML}">'
        '<key id="node_type" for="node" attr.name="type" attr.type="string"/>'
        '<key id="edge_type" for="edge" attr.name="type" attr.type="string"/>'
        f'<graph id="pattern" edgedefault="directed">{nodes}{edges}</graph></graphml>\n'
    )


def dot(pattern: Pattern) -> str:
    """The language of Graphviz.

    >>> print(dot(Pattern.of([0, 1], [[0, 1], [0, 0]], ["conv", "re\\"lu"])).splitlines()[3])
      n1 [label="re\\"lu", fillcolor="#bef4db"];
    """
    labelled = len(pattern.edge_vocabulary) > 2
    lines = ["digraph pattern {", '  node [shape=box, style="rounded,filled", fontname="monospace"];']
    lines += [
        f'  n{i} [label={quoted(name)}, fillcolor="{colours(name)[0]}"];'
        for i, name in enumerate(pattern.type_names)
    ]
    lines += [
        f"  n{i} -> n{j}" + (f" [label={quoted(edge_name(pattern, t))}]" if labelled else "") + ";"
        for i, j, t in pattern.edge_list
    ]
    return "\n".join([*lines, "}", ""])


def as_json(pattern: Pattern) -> str:
    """Key, node types and edges as [source, target, type].

    >>> as_json(Pattern.of([0, 1], [[0, 1], [0, 0]], ["conv", "relu"], ["none", "edge"]))
    '{"key": "conv -> relu", "node_types": ["conv", "relu"], "edges": [[0, 1, "edge"]]}\\n'
    """
    edges = [[i, j, edge_name(pattern, t)] for i, j, t in pattern.edge_list]
    return json.dumps({"key": pattern.key, "node_types": list(pattern.type_names), "edges": edges}) + "\n"


def edge_name(pattern: Pattern, kind: int) -> str:
    return pattern.edge_vocabulary[kind] if kind < len(pattern.edge_vocabulary) else str(kind)


def quoted(text: str) -> str:
    """A text as Graphviz reads it: quoted, backslashes taken literally."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\x00", "")
    return f'"{escaped}"'

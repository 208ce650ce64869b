"""Occurrences of a motif in their surroundings: the piece of a model's graph around them, with node names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grade.graphs import GraphSet
from grade.report.drawing import Node
from grade.report.pictures import Palette, picture
from grade.runs import Motif
from grade.verify.counting import Verifier

AROUND = 18  # nodes of the surroundings, at most
SECONDS = 1.0  # to find an occurrence in one graph


@dataclass(frozen=True)
class Place:
    """One occurrence."""

    graph: str
    names: list[str]  # of its nodes
    picture: dict[str, Any]  # `grade.report.pictures.picture`
    left_out: int  # neighbours that the picture does not show


def place_of(graphs: GraphSet, occurrence: Sequence[int], palette: Palette, around: int = AROUND) -> Place:
    """Draw an occurrence (global node ids) with the nodes that its edges lead to and come from."""
    inside = set(occurrence)
    neighbours: dict[int, int] = {}  # outside node -> number of edges between it and the occurrence
    for node in occurrence:
        for other in [*graphs.predecessors(node).tolist(), *graphs.successors(node).tolist()]:
            if other not in inside:
                neighbours[other] = neighbours.get(other, 0) + 1
    shown = sorted(neighbours, key=lambda other: (-neighbours[other], nearness(other, occurrence), other))[
        :around
    ]
    nodes = sorted([*inside, *shown])
    number = {node: i for i, node in enumerate(nodes)}
    # Edges among the surroundings alone are left out: the picture is of the occurrence.
    edges = [
        (number[node], number[other])
        for node in nodes
        for other in graphs.successors(node).tolist()
        if other in number and (node in inside or other in inside)
    ]
    graph = graphs.graph_of(nodes[0])
    boxes = [
        Node(graphs.node_vocabulary[graphs.node_types[node]], name_of(graphs, node), node in inside)
        for node in nodes
    ]
    names = [name_of(graphs, node) for node in sorted(inside)]
    return Place(
        graphs.graph_names[graph], names, picture(boxes, edges, palette), len(neighbours) - len(shown)
    )


def nearness(node: int, occurrence: Sequence[int]) -> int:
    """Distance in the order in which the graph lists its nodes."""
    return min(abs(node - other) for other in occurrence)


def name_of(graphs: GraphSet, node: int) -> str:
    """A node's own name; its number in the graph where the set has none."""
    if graphs.node_names is not None and graphs.node_names[node]:
        return graphs.node_names[node]
    return f"node {node - int(graphs.node_offsets[graphs.graph_of(node)])}"


class Places:
    """Finds occurrences of motifs in the graphs where they are most common."""

    def __init__(self, graphs: GraphSet, palette: Palette, fusible: bool = False) -> None:
        self.graphs, self.palette, self.fusible = graphs, palette, fusible
        self.matchers: dict[int, Verifier] = {}

    def of(self, motif: Motif, most: int) -> list[Place]:
        """One occurrence in each of the first graphs; of the stored examples where those take too long to search."""
        found = []
        for graph, _ in motif.support.most_common(most):
            if graph not in self.matchers:
                self.matchers[graph] = Verifier(self.graphs.subset([graph]), 1, self.fusible)
            rows = self.matchers[graph].occurrences(motif.pattern, 1, SECONDS)
            found += [
                place_of(self.graphs, (row + self.graphs.node_offsets[graph]).tolist(), self.palette)
                for row in rows
            ]
        if not found:
            found = [
                place_of(self.graphs, occurrence, self.palette) for occurrence in motif.support.examples[:1]
            ]
        return found

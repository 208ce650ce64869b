"""Pictures as plain numbers, for a page that draws them itself: a tenth of the size of the same pictures as SVG."""

from collections.abc import Sequence
from typing import Any

from grade.graphs.patterns import Pattern
from grade.report.drawing import (
    MARGIN,
    Node,
    colours,
    coordinates,
    edge_labels,
    line_and_head,
    place,
    shortened,
    tail,
)


class Palette:
    """The labels of all boxes of a page with their colours, stored once and referred to by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, label: str) -> int:
        return self.numbers.setdefault(label, len(self.numbers))

    def data(self) -> list[list[str]]:
        """[label, label as a box shows it, fill, outline] by number."""
        return [[label, shortened(label), *colours(label)] for label in self.numbers]


def pattern_picture(pattern: Pattern, palette: Palette) -> dict[str, Any]:
    """A pattern."""
    nodes = [Node(name) for name in pattern.type_names]
    return picture(nodes, [(i, j) for i, j, _ in pattern.edge_list], palette, edge_labels(pattern))


def picture(
    nodes: Sequence[Node],
    edges: Sequence[tuple[int, int]],
    palette: Palette,
    labels: Sequence[str] = (),
) -> dict[str, Any]:
    """Boxes [label, x, y, width, height, inside, name] and arrows [line, head, inside, label, x, y] of a graph.

    >>> drawn = picture([Node("Conv"), Node("Relu")], [(0, 1)], Palette())
    >>> drawn["b"][0][:3], drawn["a"][0][0]
    ([0, 23, 14], 'M23 28C23 45 23 45 23 57')
    """
    layout = place(nodes, edges)
    boxes: list[list[Any]] = []
    for node, box in zip(nodes, layout.boxes, strict=True):
        numbers = [round(value) for value in (box.x, box.y, box.width, box.height)]
        boxes.append(
            [palette.number(node.label), *numbers, int(node.inside)] + [tail(node.name)] * bool(node.name)
        )
    arrows: list[list[Any]] = []
    for number, arrow in enumerate(layout.arrows):
        curves, head = line_and_head(arrow)
        line = "M" + whole(curves[0][:1]) + "".join("C" + whole(curve[1:]) for curve in curves)
        entry: list[Any] = [
            line,
            f"M{coordinates(head)}z",
            int(nodes[arrow.source].inside and nodes[arrow.target].inside),
        ]
        if labels and labels[number]:
            (x0, y0), _, _, (x1, y1) = arrow.curves[0]
            entry += [shortened(labels[number]), round((x0 + x1) / 2), round((y0 + y1) / 2)]
        arrows.append(entry)
    width, height = (round(side + 2 * MARGIN) for side in (layout.width, layout.height))
    return {"w": width, "h": height, "b": boxes, "a": arrows}


def whole(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.0f} {y:.0f}" for x, y in points)

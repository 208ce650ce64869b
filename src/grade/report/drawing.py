"""Patterns and pieces of graphs as SVG pictures: boxes with the names of types, coloured by type, and arrows.

The colours are readable on light and dark pages alike.
"""

import colorsys
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path

from grade.errors import InputError
from grade.files import whole_file
from grade.graphs.patterns import Pattern
from grade.report.layout import Arrow, Curve, Layout, Point, layered_layout

FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"  # known widths: labels fit
CHARACTER = 0.61  # of the font size, at most, in all of these
MARGIN, LABEL, NAME = 8.0, 12.0, 11.0
LONGEST = 30  # characters of a label
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML


@dataclass(frozen=True)
class Node:
    """The text of a box."""

    label: str
    name: str = ""  # of this very node, in small type below the label
    inside: bool = True  # or part of the surroundings, drawn faintly
    kind: str = ""  # boxes of one kind have one colour; the label when left out


def svg(pattern: Pattern) -> str:
    """A pattern as an SVG picture.

    >>> chain = Pattern.of([0, 1], [[0, 1], [0, 0]], node_vocabulary=("Conv", "Relu"))
    >>> svg(chain).count("<rect"), svg(chain).count("<path")
    (2, 2)
    """
    nodes = [Node(name) for name in pattern.type_names]
    edges = [(i, j) for i, j, _ in pattern.edge_list]
    return draw(nodes, edges, edge_labels(pattern), str(pattern))


def edge_labels(pattern: Pattern) -> list[str]:
    """Names of the edge types, empty for the usual one."""
    names = pattern.edge_vocabulary
    return [
        "" if t == 1 and len(names) < 3 else names[t] if t < len(names) else str(t)
        for _, _, t in pattern.edge_list
    ]


def place(nodes: Sequence[Node], edges: Sequence[tuple[int, int]]) -> Layout:
    """The layout with boxes wide enough for their labels."""
    widths = [
        max(text_width(shortened(n.label), LABEL), text_width(tail(n.name), NAME), 24.0) + 16 for n in nodes
    ]
    return layered_layout(widths, edges, 40.0 if any(n.name for n in nodes) else 28.0)


def draw(
    nodes: Sequence[Node],
    edges: Sequence[tuple[int, int]],
    labels: Sequence[str] | None = None,
    title: str = "",
) -> str:
    """A graph as an SVG picture; boxes come after the arrows, which never run behind them."""
    layout = place(nodes, edges)
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="{-MARGIN:.0f} {-MARGIN:.0f} {width:.0f} {height:.0f}" role="img" font-family="{FONT}"'
        f' text-anchor="middle"><title>{clean(title)}</title>'
    ]
    for number, arrow in enumerate(layout.arrows):
        inner = nodes[arrow.source].inside and nodes[arrow.target].inside
        parts.append(arrow_svg(arrow, inner))
        if labels and labels[number]:
            (x0, y0), _, _, (x1, y1) = arrow.curves[0]
            shift = 8 if number % 2 else -2  # neighbours side by side
            parts.append(
                text_svg((x0 + x1) / 2, (y0 + y1) / 2 + shift, NAME, "#7b828c", shortened(labels[number]))
            )
    for node, box in zip(nodes, layout.boxes, strict=True):
        fill, stroke = colours(node.kind or node.label) if node.inside else ("#eef0f2", "#b4b9c1")
        ink = "#16181d" if node.inside else "#5b626c"
        full = f"{node.label}\n{node.name}" if node.name else node.label
        parts.append(
            f'<g><title>{clean(full)}</title><rect x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}"'
            f' width="{box.width:.1f}" height="{box.height:.1f}" rx="5" fill="{fill}" stroke="{stroke}"'
            f' stroke-width="{1.5 if node.inside else 1}"/>'
        )
        parts.append(text_svg(box.x, box.y + (-3 if node.name else 4), LABEL, ink, shortened(node.label)))
        if node.name:
            parts.append(text_svg(box.x, box.y + 13, NAME, "#5b626c", tail(node.name)))
        parts.append("</g>")
    return "".join(parts) + "</svg>"


def text_svg(x: float, y: float, size: float, colour: str, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.0f}" fill="{colour}">{clean(text)}</text>'


def clean(text: str) -> str:
    """A text escaped for XML, without the characters that XML forbids.

    >>> clean("<b>" + chr(0))
    '&lt;b&gt;\ufffd'
    """
    return escape(FORBIDDEN.sub("\ufffd", text))


def arrow_svg(arrow: Arrow, inner: bool) -> str:
    """The line and its head; faint where it belongs to the surroundings."""
    curves, head = line_and_head(arrow)
    moves = "M" + coordinates([curves[0][0]]) + "".join("C" + coordinates(curve[1:]) for curve in curves)
    faint = "" if inner else ' opacity="0.5"'
    return (
        f'<path d="{moves}" fill="none" stroke="#7b828c" stroke-width="{1.6 if inner else 1}"{faint}/>'
        f'<path d="M{coordinates(head)}z" fill="#7b828c"{faint}/>'
    )


def coordinates(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f} {y:.1f}" for x, y in points)


def line_and_head(arrow: Arrow) -> tuple[list[Curve], list[Point]]:
    """The curves up to the head, and the head's corners; it points the way in which the last curve arrives."""
    *earlier, (start, a, b, (x, y)) = arrow.curves
    if arrow.source == arrow.target:
        head = [(x, y), (x + 7.5, y - 1.0), (x + 5.0, y + 6.0)]
        end = (x + 4.0, y + 2.0)
    else:
        back = -7.0 if b[1] < y else 7.0
        head = [(x, y), (x - 3.5, y + back), (x + 3.5, y + back)]
        end = (x, y + 0.7 * back)
    return [*earlier, (start, a, b, end)], head


def colours(label: str) -> tuple[str, str]:
    """(fill, outline) of a type: always the same for the same name.

    >>> colours("Conv") == colours("Conv"), colours("Conv") == colours("Relu")
    (True, False)
    """
    digest = hashlib.sha256(label.encode("utf-8", "surrogatepass")).digest()
    hue = int.from_bytes(digest[:2], "big") * 360 // 65_536
    lightness = (80, 85, 89)[digest[2] % 3]
    fill = colorsys.hls_to_rgb(hue / 360, lightness / 100, 0.7)
    outline = colorsys.hls_to_rgb(hue / 360, 0.42, 0.45)
    return hexadecimal(fill), hexadecimal(outline)


def hexadecimal(colour: tuple[float, float, float]) -> str:
    """Red, green and blue from 0 to 1 as ``#rrggbb``.

    >>> hexadecimal((0, 0.5, 1))
    '#0080ff'
    """
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def text_width(text: str, size: float) -> float:
    """Pixels that a text takes at most."""
    wide = sum(2 if unicodedata.east_asian_width(c) in "WFA" else 1 for c in text)
    return wide * size * CHARACTER


def shortened(text: str) -> str:
    """A label cut to fit into a box of reasonable width."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def tail(name: str) -> str:
    """The end of a node's name, its most specific part."""
    return name if len(name) <= LONGEST else "…" + name[1 - LONGEST :]


def png(pattern: Pattern, scale: float = 2.0) -> bytes:
    """The same picture as PNG, through matplotlib if that is installed."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
        from matplotlib.path import Path as Line
    except ImportError:
        raise InputError(
            "PNG pictures need matplotlib, which is not installed; run 'pip install grade-motifs[plots]',"
            " or write SVG."
        ) from None
    nodes = [Node(name) for name in pattern.type_names]
    layout = place(nodes, [(i, j) for i, j, _ in pattern.edge_list])
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    figure = Figure(figsize=(width / 72, height / 72), dpi=72 * scale)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-MARGIN, width - MARGIN), ylim=(height - MARGIN, -MARGIN))
    axes.set_axis_off()
    for arrow, label in zip(layout.arrows, edge_labels(pattern), strict=True):
        curves, head = line_and_head(arrow)
        points = [curves[0][0], *(point for curve in curves for point in curve[1:])]
        line = Line(points, [Line.MOVETO, *[Line.CURVE4] * (len(points) - 1)])
        axes.add_patch(PathPatch(line, fill=False, edgecolor="#7b828c", linewidth=1.6))
        axes.add_patch(Polygon(head, facecolor="#7b828c"))
        (x0, y0), _, _, (x1, y1) = curves[0]
        axes.text((x0 + x1) / 2, (y0 + y1) / 2, literal(label), size=NAME, ha="center", va="center")
    for node, box in zip(nodes, layout.boxes, strict=True):
        fill, stroke = colours(node.label)
        corner = (box.x - box.width / 2 + 5, box.y - box.height / 2 + 5)
        style = "round,pad=5,rounding_size=5"
        axes.add_patch(
            FancyBboxPatch(
                corner,
                box.width - 10,
                box.height - 10,
                style,
                facecolor=fill,
                edgecolor=stroke,
                linewidth=1.5,
            )
        )
        text = literal(shortened(node.label))
        axes.text(box.x, box.y, text, size=LABEL, ha="center", va="center", family="monospace")
    stream = BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def literal(text: str) -> str:
    """A text that matplotlib shows as it is: a dollar sign would begin mathematics."""
    return text.replace("$", r"\$")


def save_picture(pattern: Pattern, path: Path) -> None:
    """Write a pattern as .svg or .png."""
    suffix = path.suffix.lower()
    if suffix not in (".svg", ".png"):
        raise InputError(f"{path} must end in .svg or .png to hold a picture.")
    content = svg(pattern).encode(errors="replace") if suffix == ".svg" else png(pattern)
    with whole_file(path) as temporary:
        temporary.write_bytes(content)

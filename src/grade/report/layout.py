"""A layered layout of a small directed graph (Sugiyama, Tagawa and Toda, 1981): layers, order, coordinates, routes.

Arrows run from top to bottom. An arrow that passes a layer gets a place of its own there, like a node without a box,
and bends only between layers, where there are no boxes: so no arrow can cross a box that it does not touch.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]
Curve = tuple[Point, Point, Point, Point]  # a cubic Bézier curve

LAYER_GAP, BOX_GAP, LANE, LOOP, PORT = 34.0, 18.0, 14.0, 24.0, 14.0  # pixels
SWEEPS = 40  # that draw the nodes to their neighbours


@dataclass(frozen=True)
class Box:
    """A node; x and y are its centre."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Arrow:
    """An edge as curves that hang together, from its source to its target."""

    source: int
    target: int
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Layout:
    """Boxes in the order of the nodes, arrows in that of the edges, and the size of the whole."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    width: float
    height: float


def layered_layout(
    widths: Sequence[float], edges: Sequence[tuple[int, int]], box_height: float = 28.0
) -> Layout:
    """Place boxes of these widths so that edges point downwards, those that close a cycle excepted.

    >>> layout = layered_layout([50, 50, 50], [(0, 1), (1, 2), (0, 2)])
    >>> [box.y for box in layout.boxes]
    [14.0, 76.0, 138.0]
    """
    nodes = len(widths)
    loops = {i for i, j in edges if i == j}
    down = downward(nodes, edges)
    layer = layers_of(nodes, sorted(set(down.values())))
    levels: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node in range(nodes):
        levels[layer[node]].append(node)

    width = [w + (LOOP if i in loops else 0.0) for i, w in enumerate(widths)]
    weight: dict[
        tuple[int, int], float
    ] = {}  # between neighbours in adjacent layers; long arrows want to be straight
    chains: dict[
        int, list[int]
    ] = {}  # edge -> its nodes from top to bottom, places in passed layers included
    for edge, (top, bottom) in down.items():
        chain = [top]
        for between in range(layer[top] + 1, layer[bottom]):
            chain.append(len(width))
            levels[between].append(len(width))
            width.append(LANE)
        chains[edge] = [*chain, bottom]
        for a, b in pairwise(chains[edge]):
            weight[a, b] = weight.get((a, b), 0.0) + 1.0 + 3.0 * (a >= nodes) + 3.0 * (b >= nodes)

    above: list[list[tuple[int, float]]] = [[] for _ in width]
    below: list[list[tuple[int, float]]] = [[] for _ in width]
    outputs, inputs = Counter(a for a, _ in weight), Counter(b for _, b in weight)
    for (a, b), strength in weight.items():
        if outputs[a] == inputs[b] == 1:
            strength *= 4.0  # so do chains
        below[a].append((b, strength))
        above[b].append((a, strength))
    levels = fewest_crossings(levels, above, below)
    x = coordinates(levels, width, above, below)
    left = min((x[i] - width[i] / 2 for i in range(len(width))), default=0.0)
    x = [value - left for value in x]

    y, tops = 0.0, []
    for number, level in enumerate(levels):
        tops.append(y)
        lower = [abs(x[a] - x[b]) for a in level for b, _ in below[a]] if number + 1 < len(levels) else []
        y += box_height + LAYER_GAP + min(max(max(lower, default=0.0) - 80, 0.0) / 8, 60.0)
    boxes = tuple(
        Box(x[i] - (LOOP / 2 if i in loops else 0.0), tops[layer[i]] + box_height / 2, widths[i], box_height)
        for i in range(nodes)
    )
    return Layout(
        boxes,
        routes(edges, chains, boxes, x, tops, layer, box_height),
        max((x[i] + width[i] / 2 for i in range(len(width))), default=0.0),
        tops[-1] + box_height if tops else 0.0,
    )


def downward(nodes: int, edges: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Edge number -> (upper, lower): as the edge points, or turned round where it closes a cycle. No self-loops."""
    successors: list[list[int]] = [[] for _ in range(nodes)]
    has_input = [False] * nodes
    for i, j in edges:
        if i != j:
            successors[i].append(j)
            has_input[j] = True
    finished: list[int] = []  # in the order in which a depth-first walk leaves them
    seen = [False] * nodes
    for start in sorted(range(nodes), key=lambda node: has_input[node]):
        stack = [] if seen[start] else [(start, iter(successors[start]))]
        seen[start] = True
        while stack:
            following = next((j for j in stack[-1][1] if not seen[j]), None)
            if following is None:
                finished.append(stack.pop()[0])
            else:
                seen[following] = True
                stack.append((following, iter(successors[following])))
    place = {node: -i for i, node in enumerate(finished)}  # without cycles: a topological order
    return {
        number: (i, j) if place[i] < place[j] else (j, i) for number, (i, j) in enumerate(edges) if i != j
    }


def layers_of(nodes: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Longest paths from the sources; nodes with more arrows downwards than upwards then sink to those they feed."""
    above: list[list[int]] = [[] for _ in range(nodes)]
    below: list[list[int]] = [[] for _ in range(nodes)]
    for i, j in edges:
        above[j].append(i)
        below[i].append(j)
    order, waiting = [i for i in range(nodes) if not above[i]], [len(parents) for parents in above]
    layer = [0] * nodes
    for node in order:
        for child in below[node]:
            layer[child] = max(layer[child], layer[node] + 1)
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    for node in reversed(order):
        if len(below[node]) > len(above[node]):
            layer[node] = min(layer[child] for child in below[node]) - 1
    return layer


Neighbours = list[list[tuple[int, float]]]


def fewest_crossings(levels: list[list[int]], above: Neighbours, below: Neighbours) -> list[list[int]]:
    """The best order of a dozen sweeps that sort each layer by the mean place of its neighbours."""
    best, fewest = [list(level) for level in levels], crossings(levels, below)
    for sweep in range(12):
        if fewest == 0:
            break
        neighbours, order = (above, levels[1:]) if sweep % 2 == 0 else (below, levels[-2::-1])
        place = {node: i for level in levels for i, node in enumerate(level)}
        for level in order:
            centre = {
                node: sum(place[n] for n, _ in neighbours[node]) / len(neighbours[node])
                if neighbours[node]
                else float(place[node])
                for node in level
            }
            # Ties keep their order going down and turn it round going up, to get out of dead ends.
            turned = -1 if sweep % 4 == 3 else 1
            ranked = sorted((centre[node], turned * place[node], node) for node in level)
            level[:] = [node for _, _, node in ranked]
            place.update({node: i for i, node in enumerate(level)})
        count = crossings(levels, below)
        if count < fewest:
            best, fewest = [list(level) for level in levels], count
    return best


def crossings(levels: list[list[int]], below: Neighbours) -> int:
    """Number of pairs of arrows between adjacent layers that cross."""
    place = {node: i for level in levels for i, node in enumerate(level)}
    count = 0
    for level in levels:
        ends: list[int] = []  # of the arrows further left
        for node in level:
            own = [place[child] for child, _ in below[node]]
            count += sum(1 for end in ends for mine in own if end > mine)
            ends += own
    return count


def coordinates(
    levels: list[list[int]], width: list[float], above: Neighbours, below: Neighbours
) -> list[float]:
    """Centres that keep the order and the distances, and draw each node to the mean of its neighbours."""
    x = [0.0] * len(width)
    for level in levels:
        at = 0.0
        for node in level:
            x[node] = at + width[node] / 2
            at += width[node] + BOX_GAP
        for node in level:
            x[node] -= at / 2
    for sweep in range(SWEEPS):
        for level in levels if sweep % 2 == 0 else reversed(levels):
            wanted, pull = [], []
            for node in level:
                neighbours = above[node] + below[node]
                pull.append(sum(strength for _, strength in neighbours) or 0.01)
                total = sum(x[n] * strength for n, strength in neighbours)
                wanted.append(total / pull[-1] if neighbours else x[node])
            gaps = [
                (width[a] + width[b]) / 2 + (BOX_GAP if LANE not in (width[a], width[b]) else BOX_GAP / 2)
                for a, b in pairwise(level)
            ]
            for node, value in zip(level, nearest_apart(wanted, pull, gaps), strict=True):
                x[node] = value
    return x


def nearest_apart(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The values nearest to the wanted ones (least squares) that are at least the gaps apart, in this order.

    Less the sum of the gaps before it, each value may not be smaller than the one before: isotonic regression, by
    pooling neighbours that violate the order.

    >>> nearest_apart([0, 0, 10], [1, 1, 1], [4, 4])
    [-2.0, 2.0, 10.0]
    """
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    pools: list[tuple[float, float, int]] = []  # (mean, weight, members)
    for value, weight, offset in zip(wanted, weights, offsets, strict=True):
        pools.append((value - offset, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (m, w, n), (mean, total, members) = pools.pop(), pools.pop()
            pools.append(((m * w + mean * total) / (w + total), w + total, n + members))
    spread = [mean for mean, _, members in pools for _ in range(members)]
    return [mean + offset for mean, offset in zip(spread, offsets, strict=True)]


def routes(
    edges: Sequence[tuple[int, int]],
    chains: dict[int, list[int]],
    boxes: tuple[Box, ...],
    x: list[float],
    tops: list[float],
    layer: list[int],
    height: float,
) -> tuple[Arrow, ...]:
    """Every edge as curves: bends between layers, straight down where a layer is passed."""
    leaving: dict[int, list[tuple[float, int]]] = {}  # box -> (where to, edge), at its lower side
    entering: dict[int, list[tuple[float, int]]] = {}
    for edge, chain in chains.items():
        leaving.setdefault(chain[0], []).append((x[chain[1]], edge))
        entering.setdefault(chain[-1], []).append((x[chain[-2]], edge))
    start = {edge: at for node, ends in leaving.items() for edge, at in ports(boxes[node], ends)}
    finish = {edge: at for node, ends in entering.items() for edge, at in ports(boxes[node], ends)}

    arrows = []
    for edge, (source, target) in enumerate(edges):
        if source == target:
            right, y = boxes[source].x + boxes[source].width / 2, boxes[source].y
            out, turn = right + LOOP, height * 0.4
            loop = (
                (right, y - turn / 2),
                (out, y - turn * 1.2),
                (out, y + turn * 1.2),
                (right, y + turn / 2),
            )
            arrows.append(Arrow(source, target, (loop,)))
            continue
        chain = chains[edge]
        points = [(start[edge], tops[layer[chain[0]]] + height)]
        for number, node in enumerate(chain[1:-1], start=layer[chain[0]] + 1):
            points += [(x[node], tops[number]), (x[node], tops[number] + height)]
        points.append((finish[edge], tops[layer[chain[-1]]]))
        if chain[0] != source:
            points.reverse()
        arrows.append(Arrow(source, target, tuple(bend(a, b) for a, b in pairwise(points))))
    return tuple(arrows)


def ports(box: Box, ends: list[tuple[float, int]]) -> list[tuple[int, float]]:
    """(edge, x) where the arrows at one side of a box are attached, in the order of their other ends."""
    step = min(PORT, (box.width - 12) / max(len(ends) - 1, 1))
    first = box.x - step * (len(ends) - 1) / 2
    return [(edge, first + step * i) for i, (_, edge) in enumerate(sorted(ends))]


def bend(a: Point, b: Point) -> Curve:
    """From a to b, vertical at both ends; a straight line where they are above each other."""
    middle = (a[1] + b[1]) / 2
    return a, (a[0], middle), (b[0], middle), b

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grade.report.drawing import Node, place
from grade.report.layout import Arrow, Box, Layout, layered_layout, nearest_apart
from tests.report.gallery import GALLERY


def points(arrow: Arrow) -> NDArray[np.float64]:
    """[n, 2] points along an arrow, close to each other."""
    t = np.linspace(0, 1, 60)[:, None]
    parts = []
    for curve in arrow.curves:
        a, b, c, d = (np.array(point) for point in curve)
        parts.append((1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d)
    return np.concatenate(parts)


def inside(box: Box, where: NDArray[np.float64], margin: float) -> bool:
    """Whether a point lies in the box, grown by the margin."""
    away = np.abs(where - [box.x, box.y])
    return bool(((away[:, 0] < box.width / 2 + margin) & (away[:, 1] < box.height / 2 + margin)).any())


def check(layout: Layout) -> None:
    for one, other in combinations(layout.boxes, 2):
        apart_x = abs(one.x - other.x) - (one.width + other.width) / 2
        apart_y = abs(one.y - other.y) - (one.height + other.height) / 2
        assert max(apart_x, apart_y) > 5
    for box in layout.boxes:
        assert box.width / 2 - 1e-6 <= box.x <= layout.width - box.width / 2 + 1e-6
        assert box.height / 2 - 1e-6 <= box.y <= layout.height - box.height / 2 + 1e-6
    for arrow in layout.arrows:
        way = points(arrow)
        for number, box in enumerate(layout.boxes):
            own = number in (arrow.source, arrow.target)
            assert not inside(box, way, -0.01 if own else 1.0), (arrow.source, arrow.target, number)
        for end, where in ((arrow.source, way[0]), (arrow.target, way[-1])):
            box = layout.boxes[end]
            on_x = (
                abs(abs(where[0] - box.x) - box.width / 2) < 1e-6 and abs(where[1] - box.y) <= box.height / 2
            )
            on_y = (
                abs(abs(where[1] - box.y) - box.height / 2) < 1e-6 and abs(where[0] - box.x) <= box.width / 2
            )
            assert on_x or on_y
        for before, after in pairwise(arrow.curves):
            assert before[3] == after[0]
        assert way[:, 0].min() >= -1e-6
        assert way[:, 0].max() <= layout.width + 1e-6


def test_the_gallery_has_thirty_pictures() -> None:
    assert len(GALLERY) == 30


@pytest.mark.parametrize("name", GALLERY)
def test_no_boxes_overlap_and_no_arrow_crosses_a_box_that_it_does_not_touch(name: str) -> None:
    pattern = GALLERY[name]
    edges = [(i, j) for i, j, _ in pattern.edge_list]
    layout = place([Node(label) for label in pattern.type_names], edges)
    assert [(arrow.source, arrow.target) for arrow in layout.arrows] == edges
    check(layout)


@given(
    st.lists(st.floats(20, 300), min_size=1, max_size=14).flatmap(
        lambda widths: st.tuples(
            st.just(widths),
            st.lists(
                st.tuples(st.integers(0, len(widths) - 1), st.integers(0, len(widths) - 1)),
                unique=True,
                max_size=40,
            ),
        )
    )
)
def test_so_in_any_graph(graph: tuple[list[float], list[tuple[int, int]]]) -> None:
    widths, edges = graph
    check(layered_layout(widths, edges))


@given(st.permutations(range(8)))
def test_arrows_of_an_acyclic_graph_point_down(order: list[int]) -> None:
    edges = [
        (order[i], order[j]) for i, j in [(0, 3), (1, 3), (3, 4), (0, 7), (4, 6), (2, 6), (5, 7), (6, 7)]
    ]
    layout = layered_layout([40.0] * 8, edges)
    for i, j in edges:
        assert layout.boxes[i].y < layout.boxes[j].y


def test_a_chain_stands_in_one_line() -> None:
    layout = layered_layout([30, 200, 60, 90], [(0, 1), (1, 2), (2, 3)])
    assert {round(box.x, 3) for box in layout.boxes} == {100.0}


def test_a_planar_tree_has_no_crossings() -> None:
    edges = [((i - 1) // 2, i) for i in range(1, 15)]
    shuffled = [5, 11, 3, 14, 0, 8, 2, 13, 7, 1, 9, 12, 4, 10, 6]
    layout = layered_layout([40.0] * 15, [(shuffled[i], shuffled[j]) for i, j in edges])
    for one, other in combinations(layout.arrows, 2):
        ends = [(a.curves[0][0], a.curves[-1][3]) for a in (one, other)]
        if ends[0][0][1] == ends[1][0][1]:  # the same layers
            assert (ends[0][0][0] < ends[1][0][0]) == (ends[0][1][0] < ends[1][1][0])


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0.1, 5), st.floats(0, 20)), min_size=1, max_size=7))
def test_values_that_keep_their_distance_cannot_be_nearer(rows: list[tuple[float, float, float]]) -> None:
    wanted, weights, gaps = (list(column) for column in zip(*rows, strict=True))
    found = np.array(nearest_apart(wanted, weights, gaps[1:]))
    assert (np.diff(found) >= np.array(gaps[1:]) - 1e-9).all()

    def cost(values: NDArray[np.float64]) -> float:
        return float((np.array(weights) * (values - wanted) ** 2).sum())

    # The problem is convex: no legal step from the optimum lowers the cost.
    for begin in range(len(found)):
        for end in range(begin + 1, len(found) + 1):
            for step in (-0.01, 0.01):
                moved = found.copy()
                moved[begin:end] += step
                if (np.diff(moved) >= np.array(gaps[1:])).all():
                    assert cost(moved) >= cost(found) - 1e-9

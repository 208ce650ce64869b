import numpy as np
import pytest

from grade import GraphSet, InputError
from grade.sampling.census import take_census
from grade.sources import load, to_networkx
from grade.sources.darts import OPERATIONS, PREDECESSORS, darts, draw
from tests.graph_sets import assert_equal, counted
from tests.reference import brute_force_census


@pytest.fixture(scope="module")
def cells() -> GraphSet:
    return load("darts")


def test_the_draw_has_two_cells_of_eleven_nodes_for_each_architecture(cells: GraphSet) -> None:
    assert (len(cells), cells.nodes) == (20_000, 220_000)
    assert (cells.node_counts == 11).all()
    # 8 arcs to the output, and into each of 8 operations 1 from an input or 2 from an intermediate node; the
    # mean is 8 + 2 + (2 + 2/3) + (2 + 2/2) + (2 + 6/5) = 283/15.
    assert cells.edges / len(cells) == pytest.approx(283 / 15, rel=2e-3)
    assert cells.node_vocabulary == ("output", "input", "input_1", *OPERATIONS)


def test_a_cell_follows_the_rules_of_the_space(cells: GraphSet) -> None:
    for graph in range(0, 500, 7):
        cell = to_networkx(cells, graph)
        types = [cell.nodes[node]["type"] for node in cell]
        assert types[:2] == ["input", "input_1"]
        assert types[10] == "output"
        assert set(types[2:10]) <= set(OPERATIONS)
        assert sorted(cell.predecessors(10)) == list(range(2, 10))
        for i in range(4):
            legal = [{0}, {1}, *({2 + 2 * j, 3 + 2 * j} for j in range(i))]
            first, second = set(cell.predecessors(2 + 2 * i)), set(cell.predecessors(3 + 2 * i))
            assert first in legal
            assert second in legal
            assert first != second
        assert set(cell.predecessors(2)) | set(cell.predecessors(3)) == {0, 1}


def test_architectures_are_distinct_and_choices_uniform() -> None:
    drawn = draw(seed=0, architectures=10_000)
    assert len(np.unique(drawn.reshape(len(drawn), -1), axis=0)) == 10_000
    for i, pairs in enumerate(PREDECESSORS):
        counts = np.bincount(drawn[:, :, i, 0].ravel(), minlength=len(pairs))
        expected = 20_000 / len(pairs)
        assert (abs(counts - expected) <= 5 * np.sqrt(expected)).all()
    counts = np.bincount(drawn[..., 1:].ravel(), minlength=len(OPERATIONS))
    assert (abs(counts - counts.mean()) <= 5 * np.sqrt(counts.mean())).all()


def test_the_seed_decides() -> None:
    assert_equal(darts(seed=3, architectures=20), darts(seed="3", architectures=20))
    assert not np.array_equal(draw(3, 20), draw(4, 20))


@pytest.mark.parametrize("seed", ["-1", "x", ""])
def test_a_seed_that_is_none_is_refused(seed: str) -> None:
    with pytest.raises(InputError, match="give a whole number from 0, such as darts:7"):
        load(f"darts:{seed}")


@pytest.mark.parametrize("k", [4, 5])
def test_census_against_brute_force_on_a_part(cells: GraphSet, k: int) -> None:
    part = cells.subset(range(50))
    assert counted(take_census(part, k)) == brute_force_census(part, k)

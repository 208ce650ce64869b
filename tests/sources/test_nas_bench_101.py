import numpy as np
import pytest

from grade import GraphSet, PatternTable, _core
from grade.graphs.summary import summarize
from grade.sampling.census import take_census
from grade.sources import load


@pytest.fixture(scope="module")
def cells() -> GraphSet:
    return load("nas-bench-101")


def test_all_cells_are_there(cells: GraphSet) -> None:
    assert (len(cells), cells.nodes, cells.edges) == (423_624, 2_898_195, 3_697_667)
    # Unique cells of 2 to 7 vertices.
    assert np.bincount(cells.node_counts).tolist() == [0, 0, 1, 6, 84, 2_441, 62_010, 359_082]
    assert cells.edge_counts.max() == 9
    assert cells.node_vocabulary == (
        "output",
        "input",
        "conv1x1-bn-relu",
        "conv3x3-bn-relu",
        "maxpool3x3",
    )


def test_every_vertex_lies_between_the_input_and_the_output(cells: GraphSet) -> None:
    first, last = cells.node_offsets[:-1], cells.node_offsets[1:] - 1
    types = np.asarray(cells.node_types)
    assert (types[first] == 1).all()
    assert (types[last] == 0).all()
    assert (types == 0).sum() == (types == 1).sum() == len(cells)
    # The input is the only source, the output the only sink, and there is no cycle.
    np.testing.assert_array_equal(np.flatnonzero(np.diff(cells.in_offsets) == 0), first)
    np.testing.assert_array_equal(np.flatnonzero(np.diff(cells.out_offsets) == 0), last)
    assert summarize(cells).cyclic_graphs == 0


@pytest.mark.parametrize("vertices", [2, 3, 4, 5, 6, 7])
def test_no_two_cells_are_isomorphic(cells: GraphSet, vertices: int) -> None:
    chosen = np.flatnonzero(cells.node_counts == vertices)
    nodes = cells.node_offsets[chosen, None] + np.arange(vertices)  # [cells, vertices]
    degrees = np.diff(cells.out_offsets)[nodes]
    edges = np.zeros((len(chosen), vertices, vertices), np.uint8)
    rows = np.repeat(np.arange(len(chosen)), degrees.sum(axis=1))
    sources = np.repeat(np.tile(np.arange(vertices), len(chosen)), degrees.ravel())
    targets = np.asarray(cells.subset(chosen).out_targets, np.int64) - rows * vertices
    edges[rows, sources, targets] = 1
    table = PatternTable.canonical(np.asarray(cells.node_types)[nodes], edges)
    assert len(np.unique(table.keys)) == len(chosen)


@pytest.mark.parametrize(("k", "instances", "types"), [(4, 6_650_725, 3_290), (5, 5_459_876, 88_447)])
def test_census(cells: GraphSet, k: int, instances: int, types: int) -> None:
    census = take_census(cells, k)
    assert (census.instances, len(census.patterns)) == (instances, types)


def test_the_enumeration_is_the_same_every_time() -> None:
    for one, other in zip(_core.nas_bench_101_cells(), _core.nas_bench_101_cells(), strict=True):
        np.testing.assert_array_equal(one, other)

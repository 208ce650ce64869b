import pytest

from grade import GraphSet
from grade.sampling.census import take_census
from grade.sources import load, to_networkx


@pytest.fixture(scope="module")
def cells() -> GraphSet:
    return load("nas-bench-201")


def test_all_cells_are_there(cells: GraphSet) -> None:
    assert (len(cells), cells.nodes, cells.edges) == (15_625, 125_000, 156_250)
    assert len(set(cells.graph_names)) == 15_625
    assert cells.node_vocabulary == (
        "output",
        "input",
        "nor_conv_1x1",
        "nor_conv_3x3",
        "avg_pool_3x3",
        "skip_connect",
        "none",
    )


def test_a_cell_is_what_its_name_says(cells: GraphSet) -> None:
    name = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|none~2|"
    graph = to_networkx(cells, list(cells.graph_names).index(name))
    types = [graph.nodes[node]["type"] for node in graph]
    operations = ["nor_conv_3x3", "none", "skip_connect", "avg_pool_3x3", "nor_conv_1x1", "none"]
    assert types == ["input", *operations, "output"]
    # The operation from map 2 to 3 reads what those from 0 to 2 and from 1 to 2 write.
    assert sorted(graph.predecessors(6)) == [2, 3]
    assert sorted(graph.successors(0)) == [1, 2, 4]
    assert sorted(graph.predecessors(7)) == [4, 5, 6]


@pytest.mark.parametrize(("k", "instances", "types"), [(4, 437_500, 2_295), (5, 562_500, 11_550)])
def test_census(cells: GraphSet, k: int, instances: int, types: int) -> None:
    census = take_census(cells, k)
    assert (census.instances, len(census.patterns)) == (instances, types)

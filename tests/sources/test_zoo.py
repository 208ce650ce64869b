import pytest

from grade.sampling.census import take_census
from grade.sources import load, to_networkx
from grade.sources.zoo import MINI


@pytest.mark.parametrize(
    ("k", "instances", "types"),
    [(3, 796_581, 2_681), (4, 9_493_488, 8_962), (5, 191_509_367, 27_532)],
)
def test_census(k: int, instances: int, types: int) -> None:
    census = take_census(load("zoo"), k)
    assert (census.instances, len(census.patterns)) == (instances, types)


def test_the_zoo_is_whole() -> None:
    zoo = load("zoo")
    assert (len(zoo), zoo.nodes, zoo.edges, len(zoo.node_vocabulary)) == (231, 209_879, 270_112, 74)
    assert len(set(zoo.graph_names)) == 231


def test_the_small_one_is_a_part_of_it() -> None:
    zoo, mini = load("zoo"), load("zoo-mini")
    assert list(mini.graph_names) == list(MINI)
    assert len(set(MINI)) == 12
    place = list(zoo.graph_names).index("tv/resnet34")
    one, other = to_networkx(mini, MINI.index("tv/resnet34")), to_networkx(zoo, place)
    assert dict(one.nodes) == dict(other.nodes)
    assert set(one.edges) == set(other.edges)

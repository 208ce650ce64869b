"""Complete mode: every pattern that reaches the support, against plain Python and the census."""

import re
from typing import Any

import numpy as np
import pytest

from grade.errors import InputError
from grade.graphs import GraphSet, PatternTable
from grade.sampling.census import take_census
from grade.search import Constraints
from grade.search.complete import Frequent, frequent_patterns
from grade.search.supports import Supports
from grade.sources import load
from tests.native.test_census import random_set
from tests.reference import connected, nauty_key
from tests.search.brute_force import Found, Plain, network_like


def levels_of(graphs: GraphSet, k: int, **settings: Any) -> dict[int, Frequent]:
    wishes = {name: settings.pop(name) for name in ("min_graphs", "min_mni", "never") if name in settings}
    found = frequent_patterns(graphs, k, Constraints(**wishes), threads=2, **settings)
    return {level.size: level for level in found}


def keys_of(patterns: PatternTable) -> list[Any]:
    return [nauty_key(types, edges) for types, edges in zip(patterns.node_types, patterns.edges, strict=True)]


def key_of(pattern: Found) -> Any:
    return nauty_key(np.array(pattern.code[0]), pattern.edges)


def sparse(seed: int) -> GraphSet:
    rng = np.random.default_rng(seed)
    kinds = 2 if seed % 4 == 3 else 1
    return network_like(rng, 8, 12, 2, kinds) if seed % 2 else random_set(rng, 5, 9, 1, kinds, 1.0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("wish", ["min_graphs", "min_mni"])
def test_every_frequent_pattern_is_found_and_no_other(seed: int, wish: str) -> None:
    graphs, least = sparse(seed), 2
    levels = levels_of(graphs, 5, **{wish: least})
    plain = Plain(graphs)
    for k in (2, 3, 4, 5):
        expected = {
            key_of(p): p
            for p in plain.patterns(k)
            if (len(p.graphs) if wish == "min_graphs" else p.mni) >= least
        }
        if not expected:
            assert k not in levels
            break
        level = levels[k]
        keys = keys_of(level.patterns)
        assert set(keys) == set(expected)
        assert len(set(keys)) == len(keys)
        assert level.graphs.tolist() == [len(expected[key].graphs) for key in keys]
        if wish == "min_mni":
            assert level.support.tolist() == [expected[key].mni for key in keys]


@pytest.mark.parametrize("seed", range(4))
def test_closed_and_maximal_are_what_they_say(seed: int) -> None:
    graphs, least = sparse(seed), 2
    levels = levels_of(graphs, 4, min_graphs=least, look_beyond=True)
    plain = Plain(graphs)
    for k, level in levels.items():
        larger = [p for p in plain.patterns(k + 1) if len(p.graphs) >= least]
        best: dict[Any, int] = {}  # the largest support of a frequent pattern that holds each as a part
        for pattern in larger:
            for node in range(k + 1):
                rest = [i for i in range(k + 1) if i != node]
                edges = pattern.edges[np.ix_(rest, rest)]
                if connected(edges):
                    part = nauty_key(np.array(pattern.code[0])[rest], edges)
                    best[part] = max(best.get(part, 0), len(pattern.graphs))
        keys = keys_of(level.patterns)
        assert level.maximal.tolist() == [key not in best for key in keys]
        assert level.closed.tolist() == [
            best.get(key, 0) < support for key, support in zip(keys, level.graphs.tolist(), strict=True)
        ]
    assert levels


def test_constraints_on_all_parts_prune() -> None:
    graphs = sparse(3)
    free, bound = levels_of(graphs, 4, min_graphs=2), levels_of(graphs, 4, min_graphs=2, never=["type-0"])
    for k, level in bound.items():
        without = np.flatnonzero((free[k].patterns.node_types != 0).all(axis=1))
        assert level.patterns.keys.tolist() == free[k].patterns.take(without).keys.tolist()


def test_zoo_is_the_census_filtered_by_graphs() -> None:
    zoo = load("zoo")
    level = levels_of(zoo, 4, min_graphs=20)[4]
    census = take_census(zoo, 4)
    holders = Supports(zoo, threads=2).graph_counts(census.patterns)
    frequent = census.patterns.take(np.flatnonzero(holders >= 20))
    assert sorted(level.patterns.keys.tolist()) == sorted(frequent.keys.tolist())
    assert len(frequent) > 200


@pytest.mark.slow
def test_zoo_is_the_census_of_each_graph_alone() -> None:
    """k = 5, by a census of each graph alone."""
    zoo = load("zoo")
    level = levels_of(zoo, 5, min_graphs=20)[5]
    found = dict(zip(level.patterns.keys.tolist(), level.graphs.tolist(), strict=True))
    holders: dict[str, int] = {}
    for graph in range(len(zoo)):
        if zoo.node_counts[graph] >= 5:
            for key in take_census(zoo.subset([graph]), 5, threads=2).patterns.keys.tolist():
                holders[key] = holders.get(key, 0) + 1
    assert found == {key: number for key, number in holders.items() if number >= 20}


def test_memory_that_does_not_suffice_is_refused() -> None:
    with pytest.raises(InputError, match="raise it, raise the support, or lower `k`"):
        levels_of(load("zoo"), 6, min_graphs=2, memory=1)


@pytest.mark.parametrize(
    ("wishes", "sentence"),
    [({}, "set `min_graphs` or `min_mni`"), ({"fusible": True, "min_graphs": 2}, "leave out `fusible`")],
)
def test_what_cannot_be_complete_is_refused(wishes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        list(frequent_patterns(sparse(1), 4, Constraints(**wishes)))


def test_too_little_memory_says_how_much_is_enough() -> None:
    zoo = load("zoo")
    with pytest.raises(InputError, match=r"\d+M surely suffices") as told:
        levels_of(zoo, 5, min_graphs=5, memory=2**18)
    enough = int(re.search(r"(\d+)M surely suffices", str(told.value)).group(1))  # type: ignore[union-attr]  # the message has a number
    plenty, just = (levels_of(zoo, 4, min_graphs=5, memory=memory) for memory in (2**33, enough * 2**20))
    assert [len(level.patterns) for level in just.values()] == [
        len(level.patterns) for level in plenty.values()
    ]

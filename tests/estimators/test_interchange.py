"""Interchangeable types in an estimator: mixed in training, and patterns of one orbit score the same."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
import torch

from grade.estimators import fit, load_estimator, preset
from grade.estimators.encoding import CPU, Graphs, GraphSpace
from grade.estimators.network import NetworkEstimator
from grade.graphs import PatternTable, SubgraphSample
from grade.sampling import sample
from grade.sampling.census import take_census
from grade.settings import EstimatorSettings
from tests.estimators.spaces import sample_of
from tests.graph_sets import chains

OPERATIONS = (1, 2, 3)
SETTINGS = preset(
    "autoregressive", "fast", layers=1, width=16, heads=2, batch=32, maximum_steps=40, members=2, device="cpu"
)


@cache
def drawn() -> tuple[SubgraphSample, PatternTable]:
    """Some occurrences of an enumerated space, with counts of parts; and all its patterns.

    The first node has a self-loop, so that a node's state is more than its type.
    """
    graphs = chains(product([0], OPERATIONS, OPERATIONS, OPERATIONS, OPERATIONS, [7]), loop_types={0: 2})
    return sample(graphs, 4, "rand-esu", count=120, seed=0), take_census(graphs, 4).patterns


def fitted(settings: EstimatorSettings = SETTINGS) -> NetworkEstimator:
    model = fit(drawn()[0], settings)
    assert isinstance(model, NetworkEstimator)
    return model


def orbits(table: PatternTable) -> np.ndarray:
    """[n] the number of each pattern's orbit: the least of its images under all exchanges, by brute force."""
    images = []
    for order in permutations(OPERATIONS):
        new = np.arange(8)
        new[list(OPERATIONS)] = order
        images.append(PatternTable.canonical(new[table.node_types], table.edges).keys.tolist())
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(min(row), len(numbers)) for row in zip(*images, strict=True)])


def spread(scores: np.ndarray, table: PatternTable) -> float:
    """How far apart the scores of one orbit are, at most."""
    return max(float(np.ptp(scores[orbits(table) == orbit])) for orbit in np.unique(orbits(table)))


def test_patterns_of_one_orbit_score_exactly_the_same(tmp_path: Path) -> None:
    _, table = drawn()
    assert len(set(orbits(table).tolist())) < 0.3 * len(table)
    model = fitted()
    assert model.interchange.classes == (OPERATIONS,)
    names = drawn()[0].patterns.node_vocabulary
    assert model.fitted["interchangeable"] == [[names[kind] if names else str(kind) for kind in OPERATIONS]]
    assert model.calibrations, "the counts of parts are in the scores"
    scores = model.log_probability(table)
    assert spread(scores, table) == 0.0
    assert len(np.unique(scores)) > 5

    model.save(tmp_path / "model")
    again = load_estimator(tmp_path / "model")
    assert isinstance(again, NetworkEstimator)
    assert again.interchange == model.interchange
    np.testing.assert_array_equal(again.log_probability(table), scores)


def test_they_do_not_where_types_are_not_exchanged(tmp_path: Path) -> None:
    sample_, table = drawn()
    off = fitted(replace(SETTINGS, interchange=False))
    assert not off.interchange
    scores = off.log_probability(table)
    assert spread(scores, table) > 0.05
    off.save(tmp_path / "model")
    np.testing.assert_array_equal(load_estimator(tmp_path / "model").log_probability(table), scores)
    # Without counts of parts nothing tells that types are interchangeable.
    blind = fit(replace(sample_, parts=None), SETTINGS)
    assert spread(blind.log_probability(table), table) > 0.05


def test_each_network_is_asked_for_another_image_and_all_images_get_its_value() -> None:
    _, table = drawn()
    model = fitted()
    values = model.member_values(model.networks, table)
    representatives = model.interchange.representatives(table)
    for turns, network in enumerate(model.networks):
        images = model.interchange.turned(representatives, turns)
        np.testing.assert_allclose(values[turns], model.network_values(network, images), atol=1e-4)
    # The second network would have said something else of the representatives themselves.
    assert np.abs(values[1] - model.network_values(model.networks[1], representatives)).max() > 1e-3


def test_training_shows_all_images_of_what_was_drawn() -> None:
    """Chains of one operation, of which only one is in the sample."""
    _, table = drawn()
    chain = table.take(np.flatnonzero((table.node_types == 2).all(1)))
    one = sample_of(chain, np.array([1]))
    data = fitted().training_data([one], [np.ones(1)])
    torch.manual_seed(0)
    shown = data.draw(300)
    kinds, numbers = torch.unique(shown.nodes // 3, dim=0, return_counts=True)
    assert kinds.tolist() == [[kind] * 4 for kind in OPERATIONS]
    assert int(numbers.min()) > 70
    unchanged = fitted(replace(SETTINGS, interchange=False)).training_data([one], [np.ones(1)]).draw(300)
    assert (unchanged.nodes // 3 == 2).all()


def test_the_same_seed_gives_the_same_scores_and_another_one_others() -> None:
    _, table = drawn()
    scores = fitted().log_probability(table)
    np.testing.assert_array_equal(fitted().log_probability(table), scores)
    assert np.abs(fitted(replace(SETTINGS, seed=1)).log_probability(table) - scores).max() > 1e-3


# Exchanges of types at random.

CLASSES = ((0, 3), (1, 2, 5))  # type 4 is in none


def batch(loops: bool) -> tuple[GraphSpace, Graphs]:
    """Random graphs of 2 to 5 nodes of six types, each node with one of three states where there are loops."""
    generator = torch.Generator().manual_seed(0)
    space = GraphSpace((2, 3, 4, 5), node_types=6, edge_types=3, loops=loops, acyclic=False)
    sizes = torch.randint(2, 6, (600,), generator=generator)
    nodes = torch.randint(0, space.node_states, (600, 5), generator=generator)
    nodes *= torch.arange(5) < sizes[:, None]
    return space, Graphs(nodes, torch.randint(0, 3, (600, 5, 5), generator=generator), sizes)


def seeded(exchange: Callable[[Graphs], Graphs], graphs: Graphs, seed: int) -> Graphs:
    torch.manual_seed(seed)
    return exchange(graphs)


@pytest.mark.parametrize("loops", [False, True])
def test_types_are_exchanged_inside_their_classes(loops: bool) -> None:
    space, graphs = batch(loops)
    result = seeded(space.exchange(CLASSES, CPU), graphs, 0)
    states = 3 if loops else 1
    assert (result.nodes[~graphs.node_mask] == 0).all()
    torch.testing.assert_close(result.nodes % states, graphs.nodes % states)
    torch.testing.assert_close(result.edges, graphs.edges)
    torch.testing.assert_close(result.sizes, graphs.sizes)
    for i, size in enumerate(graphs.sizes.tolist()):
        before = (graphs.nodes[i, :size] // states).tolist()
        after = (result.nodes[i, :size] // states).tolist()
        new = dict(zip(before, after, strict=True))
        assert [new[kind] for kind in before] == after  # equal types stay equal ...
        assert len(set(new.values())) == len(new)  # ... and different ones different
        for old, kind in new.items():
            assert kind in next((c for c in CLASSES if old in c), (old,))


def test_every_permutation_of_a_class_comes_up_equally_often() -> None:
    space = GraphSpace((5,), node_types=6, edge_types=2, loops=False, acyclic=True)
    nodes = torch.tensor([[1, 2, 5, 0, 4]]).repeat(6_000, 1)
    graphs = Graphs(nodes, torch.zeros(6_000, 5, 5, dtype=torch.int64), torch.full((6_000,), 5))
    result = seeded(space.exchange(CLASSES, CPU), graphs, 0)
    found, numbers = torch.unique(result.nodes, dim=0, return_counts=True)
    expected = {(*order, other, 4) for order in permutations((1, 2, 5)) for other in (0, 3)}
    assert set(map(tuple, found.tolist())) == expected
    # Twelve numbers of mean 500 and standard deviation 21.
    assert int(numbers.min()) > 400
    assert int(numbers.max()) < 600


def test_exchanges_follow_the_seed() -> None:
    space, graphs = batch(loops=True)
    exchange = space.exchange(CLASSES, CPU)
    first = seeded(exchange, graphs, 0)
    torch.testing.assert_close(seeded(exchange, graphs, 0).nodes, first.nodes)
    assert not torch.equal(exchange(graphs).nodes, first.nodes)
    assert not torch.equal(seeded(exchange, graphs, 1).nodes, first.nodes)
    torch.testing.assert_close(seeded(space.exchange((), CPU), graphs, 0).nodes, graphs.nodes)


def test_chance_within_an_orbit_is_what_the_parts_say() -> None:
    """In a set that was drawn at random: patterns of one orbit differ by what their own parts differ, joined."""
    rows = np.random.default_rng(0).choice(OPERATIONS, (2_000, 4))
    graphs = chains([(0, *map(int, row), 7) for row in rows])
    part, table = sample(graphs, 4, "rand-esu", count=200, seed=0), take_census(graphs, 4).patterns
    model = fit(part, SETTINGS)
    assert isinstance(model, NetworkEstimator)
    assert model.interchange.classes == (OPERATIONS,)
    scores = model.log_probability(table)
    assert part.parts is not None
    joined = part.parts.evidence(table)[:, 0]
    for orbit in np.unique(orbits(table)):
        inside = orbits(table) == orbit
        np.testing.assert_allclose(
            scores[inside] - scores[inside][0], joined[inside] - joined[inside][0], atol=3e-6
        )
    assert spread(scores, table) > 0.1
    model.settings = replace(SETTINGS, parts=False)
    assert spread(model.log_probability(table), table) == 0.0

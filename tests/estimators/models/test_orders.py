"""Orders: which there are, how they are drawn, and the sums over them."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch

from grade.errors import InputError
from grade.estimators.models import counters, orders
from grade.graphs import PatternTable
from tests.estimators.spaces import all_classes

FORK = torch.tensor([[[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]])  # 0 -> 1 and 2 -> 3
CYCLE = torch.tensor([[[0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0]]])  # 0 -> 1 <-> 2 -> 3


def sizes(edges: torch.Tensor) -> torch.Tensor:
    return torch.full((len(edges),), edges.shape[1])


@pytest.mark.parametrize("family", orders.FAMILIES)
@pytest.mark.parametrize("edges", [FORK, CYCLE], ids=["fork", "cycle"])
def test_all_orders_are_the_permutations_that_keep_the_relation(edges: torch.Tensor, family: str) -> None:
    before = orders.precedence(edges, sizes(edges), family)
    _, found = orders.all_orders(before)
    expected = [
        list(p)
        for p in itertools.permutations(range(4))
        if not any(before[0, p[j], p[i]] for i in range(4) for j in range(i + 1, 4))
    ]
    assert sorted(found.tolist()) == sorted(expected)


@pytest.mark.parametrize("family", orders.FAMILIES)
def test_number_of_orders_agrees_with_the_native_core(family: str) -> None:
    table = all_classes(4, 1)
    edges = torch.from_numpy(table.edges.astype(np.int64))
    row, _ = orders.all_orders(orders.precedence(edges, sizes(edges), family))
    assert (
        np.bincount(row.numpy(), minlength=len(table)).tolist() == orders.count_orders(table, family).tolist()
    )


def test_levels_are_longest_paths_over_components() -> None:
    assert orders.levels(FORK).tolist() == [[0, 1, 0, 1]]
    assert orders.levels(CYCLE).tolist() == [[0, 1, 1, 2]]
    assert orders.is_acyclic(torch.cat([FORK, CYCLE])).tolist() == [True, False]


@pytest.mark.parametrize("family", orders.FAMILIES)
@pytest.mark.parametrize("edges", [FORK, CYCLE], ids=["fork", "cycle"])
def test_orders_are_drawn_with_the_probability_that_is_reported(edges: torch.Tensor, family: str) -> None:
    draws = 20_000
    before = orders.precedence(edges, sizes(edges), family)
    uniforms = counters.uniform(torch.arange(draws), 4)
    found, log_q = orders.draw_orders(before.expand(draws, -1, -1), uniforms)
    q = {tuple(order): math.exp(value) for order, value in zip(found.tolist(), log_q.tolist(), strict=True)}
    counts = Counter(map(tuple, found.tolist()))
    assert len(q) == len(orders.all_orders(before)[0])  # every order of the family comes up
    assert sum(q.values()) == pytest.approx(1, abs=1e-9)
    for order, probability in q.items():
        deviation = math.sqrt(draws * probability * (1 - probability))
        assert abs(counts[order] - draws * probability) <= 5 * deviation


def test_orders_with_ties_only_are_uniform() -> None:
    before = orders.precedence(FORK, sizes(FORK), "level")
    _, log_q = orders.draw_orders(before.expand(50, -1, -1), counters.uniform(torch.arange(50), 4))
    assert log_q.tolist() == pytest.approx([-math.log(4)] * 50)


def test_padding_stays_at_the_end() -> None:
    edges = torch.zeros(1, 5, 5, dtype=torch.int64)
    edges[0, 1, 0] = 1
    before = orders.precedence(edges.expand(200, -1, -1), torch.full((200,), 3), "linear")
    found, log_q = orders.draw_orders(before, counters.uniform(torch.arange(200), 5))
    assert (found[:, 3:] == torch.tensor([3, 4])).all()
    assert ((found == 1).long().argmax(1) < (found == 0).long().argmax(1)).all()
    assert {round(math.exp(v), 6) for v in log_q.tolist()} == {0.25, 0.5}


def test_reordering_moves_rows_and_columns_together() -> None:
    nodes, edges = orders.reorder(
        torch.tensor([[7, 8, 9]]), torch.arange(9).view(1, 3, 3), torch.tensor([[2, 0, 1]])
    )
    assert nodes.tolist() == [[9, 7, 8]]
    assert edges.tolist() == [[[8, 6, 7], [2, 0, 1], [5, 3, 4]]]


def test_sampled_sum_over_orders_approaches_the_exact_one() -> None:
    weight = torch.arange(1.0, 5.0, dtype=torch.float64)

    def log_p(rows: orders.OrbitRows) -> torch.Tensor:  # an arbitrary function of the order
        return torch.log((rows.order.double() * weight).sum(1))

    before = orders.precedence(FORK, sizes(FORK), "linear")
    exact = orders.orbit_rows(before, torch.tensor([6]), 6, torch.tensor([1]))
    sampled = orders.orbit_rows(before, torch.tensor([6]), 5, torch.tensor([1]))
    assert len(exact.order) == 6
    assert len(sampled.order) == 5
    many = orders.orbit_rows(before.expand(4000, -1, -1), torch.full((4000,), 6), 5, torch.arange(4000))
    means = orders.segment_logsumexp(log_p(many) + many.log_weight, many.pattern, 4000).exp()
    truth = float(orders.segment_logsumexp(log_p(exact) + exact.log_weight, exact.pattern, 1).exp())
    assert float(means.mean()) == pytest.approx(truth, abs=5 * float(means.std()) / math.sqrt(4000))


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(InputError, match="linear, level, canonical, all"):
        orders.precedence(FORK, sizes(FORK), "random")


def test_counters_are_uniform_and_independent_of_the_batch() -> None:
    u = counters.uniform(torch.arange(20_000), 2)
    assert torch.equal(u[7:9], counters.uniform(torch.arange(7, 9), 2))
    assert torch.histc(u.float(), 10, 0, 1).numpy() == pytest.approx(np.full(10, 4000), abs=5 * 60)
    assert abs(float(torch.corrcoef(u.T)[0, 1])) < 0.03
    assert abs(float(torch.corrcoef(torch.stack([u[:-1, 0], u[1:, 0]]))[0, 1])) < 0.03


def test_patterns_have_one_key_each() -> None:
    table: PatternTable = all_classes(4, 2)
    rows = np.concatenate([table.node_types.astype(np.int64), table.edges.reshape(len(table), -1)], axis=1)
    assert len(counters.content_keys(torch.from_numpy(rows.astype(np.int64))).unique()) == len(table)

"""Networks trained side by side are those that are trained one by one."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from grade.estimators import fit, preset
from grade.estimators.autoregressive import CausalTransformer
from grade.estimators.encoding import Graphs, GraphSpace
from grade.estimators.network import NetworkEstimator
from grade.estimators.stack import Stack, row_of, stacked
from grade.estimators.training import train
from grade.evaluation.ranking import spearman
from grade.settings import EstimatorSettings
from tests.estimators.spaces import all_matrices, census_201, uniform_sample

CPU = torch.device("cpu")
# A large epsilon: gradients that are zero but for rounding must not be blown up to whole steps.
SETTINGS = EstimatorSettings(
    epsilon=1e-3,
    layers=1,
    width=16,
    heads=2,
    dropout=0.0,
    masking=0.0,
    clip=0.05,
    learning_rate=0.01,
    warmup=1,
)
SPACE = GraphSpace((3,), 2, 2, loops=False, acyclic=True)


def build() -> nn.Module:
    return CausalTransformer(SPACE, SETTINGS)


def graphs(rows: slice) -> Graphs:
    nodes, edges = all_matrices(3, 2, 2, True)
    return Graphs(
        torch.from_numpy(nodes[rows].astype(np.int64)),
        torch.from_numpy(edges[rows].astype(np.int64)),
        torch.full((len(nodes[rows]),), 3),
    )


def loss(network: nn.Module, batch: Graphs) -> Tensor:
    result: Tensor = -network(batch).mean()
    return result


def test_a_stack_trains_each_member_as_if_it_were_alone() -> None:
    """Different data, different seeds, gradients that are clipped; no randomness in a step."""
    parts = [graphs(slice(0, 8)), graphs(slice(16, 24)), graphs(slice(40, 48))]
    alone = [
        train(build, lambda _, part=part: (part,), loss, SETTINGS, steps=12, seed=seed, device=CPU)
        for seed, part in zip((5, 6, 7), parts, strict=True)
    ]
    together = train(
        lambda: Stack(build, (5, 6, 7), CPU),
        lambda _: (Graphs.join(parts),),
        stacked(loss),
        SETTINGS,
        steps=12,
        seed=0,
        device=CPU,
    )
    assert isinstance(together.network, Stack)
    for one, member in zip(alone, together.network.members(), strict=True):
        for (name, expected), got in zip(one.network.named_parameters(), member.parameters(), strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5, msg=name)
    assert together.value == pytest.approx(np.mean([one.value for one in alone]), rel=1e-4)


def test_parameters_of_a_stack_begin_where_kernels_can_read_several_numbers_at_a_time() -> None:
    """At multiples of 128 bytes; what is between them is zero, and stays so when weights decay and are clipped."""
    settings = replace(SETTINGS, weight_decay=0.1)
    stack = train(
        lambda: Stack(build, (5, 6), CPU),
        lambda _: (Graphs.join([graphs(slice(0, 8)), graphs(slice(16, 24))]),),
        stacked(loss),
        settings,
        steps=3,
        seed=0,
        device=CPU,
    ).network
    assert isinstance(stack, Stack)
    sizes = [parameter.numel() for parameter in build().parameters()]
    assert any(size % 32 for size in sizes)  # without zeros between them, parameters would begin anywhere
    for row, member in zip(stack.weights.detach(), stack.members(), strict=True):
        named = stack.parameters_in(row)
        assert [parameter.numel() for parameter in named.values()] == sizes
        assert all(4 * parameter.storage_offset() % 128 == 0 for parameter in named.values())
        assert torch.equal(row_of(member), row)


@pytest.mark.parametrize("estimator", ["autoregressive", "disco", "defog", "digress", "graphvae"])
def test_every_estimator_can_be_trained_in_a_stack(estimator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, with two folds and two members; the result ranks better than the sample's counts do."""
    monkeypatch.setattr(NetworkEstimator, "together", property(lambda self: True))
    table, counts = census_201(4)
    sample = uniform_sample(table, counts, 279, 0)
    changes = {"members": 2, "folds": 2, "layers": 1, "width": 32, "rounds": 4, "path_steps": 6}
    model = fit(sample, preset(estimator, "fast", 279, maximum_steps=60, device="cpu", **changes))
    first, second = (next(network.parameters()) for network in model.networks)  # type: ignore[attr-defined]  # the protocol hides networks
    assert not torch.equal(first, second)
    assert model.fitted["held_out"][0] == model.fitted["held_out"][1]
    rows = np.arange(0, len(table), 4)
    assert spearman(model.log_probability(table.take(rows)), counts[rows]) > 0.5

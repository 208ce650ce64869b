"""Averages over rounds: noise that is spread evenly over them, and batches that are filled up."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from grade.estimators.models import counters
from grade.estimators.models.batches import Candidates
from grade.estimators.models.encoding import Graphs
from grade.estimators.models.likelihood import (
    FIRST_JUMP,
    Denoiser,
    Uniforms,
    advance,
    mean_over_rounds,
    path_log_likelihood,
    round_noise,
    strata,
)
from grade.settings import EstimatorSettings
from tests.estimators.models.test_likelihood import (
    PROCESSES,
    SPACE,
    STATES,
    ExactDenoiser,
    K,
    correlated,
)

DISCO = PROCESSES["disco"]
ROUNDS = EstimatorSettings(rounds=4, path_steps=6, orbit=False)


def candidates(repeats: int = 1) -> Candidates:
    """All graphs of the small space, each so often with other noise; their order is the given one."""
    place = torch.arange(K)
    n = STATES * repeats
    return Candidates(
        SPACE.take(torch.arange(n) % STATES),
        (place[:, None] < place).expand(n, -1, -1),
        torch.ones(n, dtype=torch.int64),
        counters.mix(torch.arange(n)),
    )


def estimates(denoise: Denoiser, settings: EstimatorSettings, repeats: int, limit: int = 1 << 20) -> Tensor:
    """[repeats, 16] mean over the rounds of the path estimate."""

    def estimate(graphs: Graphs, uniforms: Uniforms) -> Tensor:
        return path_log_likelihood(
            denoise, DISCO, graphs, upper=False, steps=settings.path_steps, kernel="bridge", uniforms=uniforms
        )

    return mean_over_rounds(estimate, candidates(repeats), settings, limit).view(repeats, STATES)


@pytest.mark.parametrize("rounds", [1, 4, 7])
def test_strata_hold_one_number_each_and_every_number_is_uniform(rounds: int) -> None:
    n, count = 3000, 3
    keys = counters.combine(torch.arange(n)[:, None], torch.arange(rounds))
    values = counters.uniform(keys.flatten(), count).view(n, rounds, count)
    u = strata(values, counters.uniform(counters.combine(torch.arange(n), -1), count)[:, None])
    assert torch.equal(
        (u * rounds).long().sort(1).values, torch.arange(rounds)[:, None].expand(n, rounds, count)
    )
    level = torch.arange(1, 10) / 10
    share = (u[..., None] < level).double().mean(0)  # [rounds, count, levels]: the distribution function
    assert float((share - level).abs().max()) < 4.5 * 0.5 / n**0.5
    between = torch.corrcoef(u[:, 0].T)  # the numbers of one round stay independent of each other
    assert float((between - torch.eye(count)).abs().max()) < 4.5 / n**0.5


@pytest.mark.parametrize("stratified", [True, False])
def test_first_jumps_and_later_ones_follow_the_forward_process(stratified: bool) -> None:
    """Whatever the rounds share, each path ends in the distribution q(z_t | z_0)."""
    n, settings = 20_000, replace(ROUNDS, shared_noise=False, stratified=stratified)
    round_of_row = torch.arange(n) % settings.rounds
    uniforms = round_noise(torch.arange(n), torch.arange(n), round_of_row, settings)
    z, first = torch.zeros(n, 1, dtype=torch.int64), uniforms(FIRST_JUMP, 1)
    for step, (s, t) in enumerate([(0.0, 0.2), (0.2, 0.5), (0.5, 1.0)]):
        z = advance(DISCO.edge, z, s, t, first, uniforms(step, 1))
        expected = float(DISCO.edge.marginal(torch.tensor(0), t)[1])
        assert float(z.double().mean()) == pytest.approx(expected, abs=4.5 * 0.5 / n**0.5)


def blind(graphs: Graphs, t: float) -> tuple[Tensor, Tensor]:
    """A denoiser that expects the same everywhere; what it gets wrong adds up over the components."""
    expected = torch.tensor([0.8, 0.2], dtype=torch.float64)
    return expected.expand(len(graphs), K, 2), expected.expand(len(graphs), K, K, 2)


@pytest.mark.parametrize(
    ("denoise", "gain"), [(ExactDenoiser(DISCO, correlated()), 1.2), (blind, 0.8)], ids=["exact", "blind"]
)
def test_stratified_rounds_are_unbiased_and_vary_less(denoise: Denoiser, gain: float) -> None:
    """They take away the noise that each component has by itself, which an exact denoiser has little of."""
    repeats = 400
    results = [
        estimates(denoise, replace(ROUNDS, stratified=stratified, shared_noise=False), repeats)
        for stratified in (True, False)
    ]
    means = torch.stack([values.mean(1) for values in results])  # [2, repeats]
    error = float((means.var(1) / repeats).sum() ** 0.5)
    assert float(means[0].mean() - means[1].mean()) == pytest.approx(0, abs=3 * error)
    assert error < 0.02
    spread = [float(values.var(0).mean()) for values in results]
    assert spread[0] < gain * spread[1]


def test_batches_of_any_size_give_the_same() -> None:
    for shared_noise in (True, False):
        settings = replace(ROUNDS, shared_noise=shared_noise, rounds=3)
        whole = estimates(ExactDenoiser(DISCO, correlated()), settings, 5)
        cut = estimates(ExactDenoiser(DISCO, correlated()), settings, 5, limit=64)
        assert cut.numpy() == pytest.approx(whole.numpy(), abs=1e-9)

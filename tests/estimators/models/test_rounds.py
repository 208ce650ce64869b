"""Averages over rounds: each follows the forward process, whatever the batches."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from grade.estimators.models import counters
from grade.estimators.models.batches import Candidates
from grade.estimators.models.digress import DigressSettings
from grade.estimators.models.encoding import Graphs
from grade.estimators.models.likelihood import (
    FIRST_JUMP,
    Denoiser,
    Uniforms,
    advance,
    mean_over_rounds,
    path_log_likelihood,
    round_noise,
)
from tests.estimators.models.test_likelihood import (
    PROCESSES,
    SPACE,
    STATES,
    ExactDenoiser,
    K,
    correlated,
)

DISCO = PROCESSES["disco"]
ROUNDS = DigressSettings(rounds=4, path_steps=6, orbit=False)


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


def estimates(denoise: Denoiser, settings: DigressSettings, repeats: int, limit: int = 1 << 20) -> Tensor:
    """[repeats, 16] mean over the rounds of the path estimate."""

    def estimate(graphs: Graphs, uniforms: Uniforms) -> Tensor:
        return path_log_likelihood(
            denoise, DISCO, graphs, upper=False, steps=settings.path_steps, kernel="bridge", uniforms=uniforms
        )

    return mean_over_rounds(estimate, candidates(repeats), settings, limit).view(repeats, STATES)


def test_first_jumps_and_later_ones_follow_the_forward_process() -> None:
    """Whatever the rounds share, each path ends in the distribution q(z_t | z_0)."""
    n, settings = 20_000, replace(ROUNDS, shared_noise=False)
    round_of_row = torch.arange(n) % settings.rounds
    uniforms = round_noise(torch.arange(n), torch.arange(n), round_of_row, settings)
    z, first = torch.zeros(n, 1, dtype=torch.int64), uniforms(FIRST_JUMP, 1)
    for step, (s, t) in enumerate([(0.0, 0.2), (0.2, 0.5), (0.5, 1.0)]):
        z = advance(DISCO.edge, z, s, t, first, uniforms(step, 1))
        expected = float(DISCO.edge.marginal(torch.tensor(0), t)[1])
        assert float(z.double().mean()) == pytest.approx(expected, abs=4.5 * 0.5 / n**0.5)


def test_batches_of_any_size_give_the_same() -> None:
    for shared_noise in (True, False):
        settings = replace(ROUNDS, shared_noise=shared_noise, rounds=3)
        whole = estimates(ExactDenoiser(DISCO, correlated()), settings, 5)
        cut = estimates(ExactDenoiser(DISCO, correlated()), settings, 5, limit=64)
        assert cut.numpy() == pytest.approx(whole.numpy(), abs=1e-9)

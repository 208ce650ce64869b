"""The noise of the three diffusion models: closed forms against the paper's matrices, and the reverse
kernels.
"""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.linalg import expm

from grade.estimators.models.defog import DefogProcess
from grade.estimators.models.digress import DigressProcess
from grade.estimators.models.disco import DiscoProcess
from grade.estimators.models.likelihood import Process
from grade.estimators.models.noise import Noise, uniform_prior

DOUBLE = torch.zeros(1, dtype=torch.float64)
NODES = torch.tensor([0.5, 0.2, 0.2, 0.07, 0.03], dtype=torch.float64)
EDGES = torch.tensor([0.7, 0.3], dtype=torch.float64)
PROCESSES: dict[str, Process] = {
    "disco": DiscoProcess(uniform_prior(5, DOUBLE), uniform_prior(2, DOUBLE), 0.8, 2.0),
    "disco-fixed-rate": DiscoProcess(
        uniform_prior(5, DOUBLE), uniform_prior(2, DOUBLE), 0.8, 2.0, states=5.0
    ),
    "digress": DigressProcess(NODES, EDGES),
    "defog": DefogProcess(NODES, EDGES, eta=1.0, omega=0.0),
    "defog-guided": DefogProcess(NODES, EDGES, eta=0.0, omega=0.2),
}
EVERY = pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES.keys())


def matrix(noise: Noise, s: float, t: float) -> np.ndarray:
    """[S, S] transition probabilities from the states at s (rows) to those at t."""
    return noise.transition(torch.arange(noise.states), s, t).numpy()


def random_posterior(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).dirichlet(np.ones(shape[-1]), shape[:-1]))


@pytest.mark.parametrize("states", [2, 5])
@pytest.mark.parametrize(("s", "t"), [(0.0, 1.0), (0.0, 0.01), (0.3, 0.7)])
def test_disco_is_the_exponential_of_the_papers_rate_matrix(states: int, s: float, t: float) -> None:
    alpha, gamma = 0.8, 2.0
    rate = np.ones((states, states)) - states * np.eye(states)
    integral = alpha * (gamma**t - gamma**s)  # of beta(u) = alpha gamma^u ln(gamma)
    process = DiscoProcess(uniform_prior(states, DOUBLE), uniform_prior(2, DOUBLE), alpha, gamma)
    assert matrix(process.node, s, t) == pytest.approx(expm(integral * rate), abs=1e-12)


def test_a_fifth_of_the_edges_signal_survives_in_the_papers_schedule() -> None:
    assert PROCESSES["disco"].edge.keep(1.0) == pytest.approx(math.exp(-1.6))
    assert PROCESSES["disco-fixed-rate"].edge.keep(1.0) == pytest.approx(math.exp(-4.0))


def test_digress_is_the_product_of_the_papers_transition_matrices() -> None:
    T, s = 500, 0.008
    alpha_bar = [math.cos(0.5 * math.pi * (t / T + s) / (1 + s)) ** 2 for t in range(T + 1)]
    product = np.eye(5)
    for t in range(1, 61):
        alpha = alpha_bar[t] / alpha_bar[t - 1]
        product = product @ (alpha * np.eye(5) + (1 - alpha) * np.outer(np.ones(5), NODES))
    assert matrix(PROCESSES["digress"].node, 0.0, 60 / T) == pytest.approx(product, abs=1e-12)


def test_defog_is_the_linear_path() -> None:
    expected = 0.6 * np.eye(5) + 0.4 * np.outer(np.ones(5), NODES)  # flow time 0.6
    assert matrix(PROCESSES["defog"].node, 0.0, 0.4) == pytest.approx(expected)
    assert PROCESSES["defog"].times(4) == [
        0,
        1 / 16,
        1 / 4,
        9 / 16,
        1,
    ]  # polydec: 1 - (2u - u^2) at u = 1 - i / 4


@EVERY
def test_forward_kernels_compose(process: Process) -> None:
    for noise, (s, u, t) in itertools.product(
        (process.node, process.edge), [(0.0, 0.4, 0.9), (0.2, 0.21, 0.8)]
    ):
        assert matrix(noise, s, u) @ matrix(noise, u, t) == pytest.approx(matrix(noise, s, t), abs=1e-12)


@EVERY
def test_jumps_follow_the_transition(process: Process) -> None:
    noise, n = process.node, 40_000
    torch.manual_seed(0)
    z = torch.full((n,), 1)
    kept = noise.keep(0.7) / noise.keep(0.3)
    frequencies = torch.bincount(noise.jump(z, kept, torch.rand(n, dtype=torch.float64)), minlength=5) / n
    assert frequencies.numpy() == pytest.approx(matrix(noise, 0.3, 0.7)[1], abs=0.012)


@EVERY
def test_reverse_kernels_sum_to_one(process: Process) -> None:
    for noise in (process.node, process.edge):
        z_t = torch.arange(noise.states).repeat(7)
        posterior = random_posterior(len(z_t), noise.states)
        for s, t in [(0.0, 0.01), (0.5, 0.6), (0.2, 1.0)]:
            for kernel in (
                noise.bridge(posterior, z_t, s, t),
                process.reverse(noise, posterior, z_t, s, t),
            ):
                assert (kernel >= 0).all()
                assert kernel.sum(-1).numpy() == pytest.approx(np.ones(len(z_t)), abs=1e-12)


@EVERY
def test_the_bridge_is_bayes_rule(process: Process) -> None:
    noise, s, t = process.node, 0.3, 0.8
    to_s, s_to_t, to_t = matrix(noise, 0, s), matrix(noise, s, t), matrix(noise, 0, t)
    posterior = random_posterior(5)
    for z_t in range(5):
        expected = sum(
            posterior[z_0].item() * to_s[z_0] * s_to_t[:, z_t] / to_t[z_0, z_t] for z_0 in range(5)
        )
        assert noise.bridge(posterior, torch.tensor(z_t), s, t).numpy() == pytest.approx(expected, abs=1e-12)


def test_discos_kernel_is_the_bridge_for_small_steps() -> None:
    process = PROCESSES["disco"]
    for noise, t in itertools.product((process.node, process.edge), (0.2, 1.0)):
        z_t = torch.arange(noise.states)
        posterior = random_posterior(noise.states, noise.states)
        errors = [
            (noise.bridge(posterior, z_t, t - dt, t) - process.reverse(noise, posterior, z_t, t - dt, t))
            .abs()
            .max()
            for dt in (1e-2, 1e-3)
        ]
        assert errors[1] < errors[0] / 50  # second order in dt


def test_the_papers_kernel_survives_a_state_that_nothing_leaves() -> None:
    """A posterior that is sure of the present state leaves no rate at early times; 0 / 0 must not come
    out.
    """
    process = PROCESSES["disco"]
    sure = torch.tensor([1.0, 0.0], dtype=torch.float64)
    kernel = process.reverse(process.edge, sure, torch.tensor(0), 0.0, 1e-9)
    assert kernel.tolist() == pytest.approx([1.0, 0.0], abs=1e-8)


def test_rates_that_are_too_large_for_an_euler_step_are_cut() -> None:
    process = PROCESSES["defog"]
    kernel = process.reverse(process.node, random_posterior(5), torch.tensor(4), 0.0, 0.9)
    assert (kernel >= 0).all()
    assert float(kernel.sum()) == pytest.approx(1)

"""The path estimator with an exact denoiser in place of the network: it has to give what is known exactly."""

import numpy as np
import pytest
import torch
from torch import Tensor

from grade.estimators.models import counters
from grade.estimators.models.defog import DefogProcess
from grade.estimators.models.digress import DigressProcess
from grade.estimators.models.disco import DiscoProcess
from grade.estimators.models.encoding import Graphs
from grade.estimators.models.likelihood import Process, path_log_likelihood
from grade.estimators.models.noise import uniform_prior
from tests.estimators.spaces import all_matrices

K, STATES = 2, 16  # two nodes of two types, edges either way
TYPES, MATRICES = all_matrices(K, 2)
SPACE = Graphs(
    torch.from_numpy(TYPES.astype(np.int64)),
    torch.from_numpy(MATRICES.astype(np.int64)),
    torch.full((STATES,), K),
)
SLOTS = ~torch.eye(K, dtype=torch.bool)
MARGINAL = torch.tensor([0.6, 0.4], dtype=torch.float64)
HALF = uniform_prior(2, MARGINAL)
PROCESSES: dict[str, Process] = {
    "disco": DiscoProcess(HALF, HALF, 0.8, 2.0),
    "digress": DigressProcess(MARGINAL, MARGINAL),
    "defog": DefogProcess(MARGINAL, MARGINAL, eta=1.0, omega=0.0),
}
EVERY = pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES.keys())


def independent() -> Tensor:
    """[16] product of four Bernoulli distributions."""
    ones = torch.cat([SPACE.nodes, SPACE.edges[:, SLOTS]], 1).double()
    chance = torch.tensor([0.9, 0.35, 0.2, 0.55], dtype=torch.float64)
    return (ones * chance + (1 - ones) * (1 - chance)).prod(1)


def correlated() -> Tensor:
    """[16] a distribution far from any product: mostly all ones or all zeros."""
    p = torch.full((STATES,), 0.13 / (STATES - 2), dtype=torch.float64)
    p[0], p[-1] = 0.12, 0.75
    return p


class ExactDenoiser:
    """The true posterior of each component by enumeration of all clean graphs; remembers the last noisy
    graphs.
    """

    def __init__(self, process: Process, p: Tensor) -> None:
        self.process, self.p = process, p

    def joint(self, graphs: Graphs, t: float) -> Tensor:
        """[n, 16] log p(G_0) + log q(G_t | G_0)."""
        node = self.process.node.marginal(SPACE.nodes, t).log()  # [16, K, 2]
        edge = self.process.edge.marginal(SPACE.edges[:, SLOTS], t).log()
        node_part = sum(node[:, i, graphs.nodes[:, i]] for i in range(K))
        slots = graphs.edges[:, SLOTS]
        edge_part = sum(edge[:, i, slots[:, i]] for i in range(slots.shape[1]))
        return self.p.log() + (node_part + edge_part).T

    def __call__(self, graphs: Graphs, t: float) -> tuple[Tensor, Tensor]:
        self.last = graphs
        posterior = self.joint(graphs, t).softmax(1)  # [n, 16]
        nodes = torch.einsum("ns,ski->nki", posterior, torch.nn.functional.one_hot(SPACE.nodes, 2).double())
        edges = torch.einsum("ns,sklI->nklI", posterior, torch.nn.functional.one_hot(SPACE.edges, 2).double())
        return nodes, edges

    def log_mismatch(self) -> Tensor:
        """[n] log q_T(G_T) - log p_T(G_T) at the ends of the last paths."""
        log_q = self.joint(self.last, 1.0).logsumexp(1)
        prior = self.process.node.prior[self.last.nodes].log().sum(1)
        return log_q - prior - self.process.edge.prior[self.last.edges[:, SLOTS]].log().sum(1)


def estimate(process: Process, p: Tensor, steps: int, kernel: str, rounds: int) -> tuple[Tensor, Tensor]:
    """([16, rounds] path estimates, [16, rounds] mismatch at the path's end)."""
    rows = Graphs(*(x.repeat_interleave(rounds, 0) for x in (SPACE.nodes, SPACE.edges, SPACE.sizes)))
    denoise = ExactDenoiser(process, p)

    def uniforms(step: int, count: int) -> Tensor:
        return counters.uniform(counters.combine(torch.arange(len(rows)), step), count)

    values = path_log_likelihood(
        denoise, process, rows, upper=False, steps=steps, kernel=kernel, uniforms=uniforms
    )
    return values.view(STATES, rounds), denoise.log_mismatch().view(STATES, rounds)


@EVERY
@pytest.mark.parametrize("steps", [1, 3, 20])
def test_independent_components_give_the_exact_likelihood_at_any_step_count(
    process: Process, steps: int
) -> None:
    p = independent()
    values, mismatch = estimate(process, p, steps, "bridge", rounds=3)
    assert (values + mismatch).numpy() == pytest.approx(p.log()[:, None].expand(-1, 3).numpy(), abs=1e-4)


def test_without_signal_at_the_end_nothing_is_missing() -> None:
    p = independent()
    process = DiscoProcess(HALF, HALF, alpha=12.0, gamma=2.0)
    values, _ = estimate(process, p, 4, "bridge", rounds=2)
    assert values.numpy() == pytest.approx(p.log()[:, None].expand(-1, 2).numpy(), abs=1e-4)


def limit(process: Process, p: Tensor) -> float:
    """Mean log-likelihood that infinitely many steps reach: -H(p) - KL(q_T || p_T)."""
    mismatch = ExactDenoiser(process, p)
    mismatch.last = SPACE
    q_T = mismatch.joint(SPACE, 1.0).logsumexp(1).exp()
    return float((p * p.log()).sum() - (q_T * mismatch.log_mismatch()).sum())


@EVERY
def test_correlated_components_give_a_lower_bound_that_rises_to_the_truth(process: Process) -> None:
    """Without the prior's mismatch, which every path carries, the noise of the mean is small."""
    p, rounds = correlated(), 300
    truth, means = float((p * p.log()).sum()), []
    for steps in (1, 4, 16, 256):
        values, mismatch = estimate(process, p, steps, "bridge", rounds)
        means.append(float((p * (values + mismatch).mean(1)).sum()))
    assert means[0] < truth - 0.5  # one step is far from the truth
    assert means == sorted(means)
    assert truth - 0.01 < means[-1] < truth + 0.002


def test_the_papers_schedule_falls_short_of_the_truth_by_the_priors_mismatch() -> None:
    p, rounds = correlated(), 300
    truth = float((p * p.log()).sum())
    assert limit(PROCESSES["disco"], p) < truth - 0.03
    assert limit(PROCESSES["digress"], p) == pytest.approx(truth, abs=1e-9)
    values, _ = estimate(PROCESSES["disco"], p, 128, "bridge", rounds)
    error = float(((p**2 * values.var(1)).sum() / rounds) ** 0.5)
    assert float((p * values.mean(1)).sum()) == pytest.approx(
        limit(PROCESSES["disco"], p), abs=0.01 + 2 * error
    )


@pytest.mark.parametrize("name", ["disco", "digress"])
def test_the_papers_kernels_converge_to_the_same_limit(name: str) -> None:
    process, p = PROCESSES[name], correlated()
    truth, distances = float((p * p.log()).sum()), []
    for steps in (16, 256):
        values, mismatch = estimate(process, p, steps, "paper", rounds=300)
        distances.append(abs(truth - float((p * (values + mismatch).mean(1)).sum())))
    assert distances[1] < distances[0] / 4
    assert distances[1] < 0.02


def test_defogs_printed_kernel_stays_below_the_bridge() -> None:
    """Its rates are not the reversal of the noising process (see grade.estimators.models.defog)."""
    process, p = PROCESSES["defog"], correlated()
    paper, bridge = (
        float((p * estimate(process, p, 128, kernel, 200)[0].mean(1)).sum()) for kernel in ("paper", "bridge")
    )
    assert np.isfinite(paper)
    assert paper < bridge - 0.1


def test_components_below_the_diagonal_take_no_part_in_topological_orders() -> None:
    graphs = Graphs(SPACE.nodes[:1], torch.tensor([[[0, 1], [0, 0]]]), SPACE.sizes[:1])
    seen: list[Tensor] = []

    def denoise(noisy: Graphs, t: float) -> tuple[Tensor, Tensor]:
        seen.append(noisy.edges)
        return torch.full((1, K, 2), 0.5, dtype=torch.float64), torch.full(
            (1, K, K, 2), 0.5, dtype=torch.float64
        )

    def uniforms(step: int, count: int) -> Tensor:
        return counters.uniform(torch.tensor([step]), count)

    value = path_log_likelihood(
        denoise, PROCESSES["digress"], graphs, upper=True, steps=20, kernel="bridge", uniforms=uniforms
    )
    assert torch.cat(seen)[:, 1, 0].sum() == 0
    assert torch.cat(seen)[:, 0, 1].sum() > 0
    assert torch.isfinite(value).all()

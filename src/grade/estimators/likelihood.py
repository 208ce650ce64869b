"""The likelihood of a graph under a diffusion model, by Monte Carlo over noise paths (the paper's algorithm
2).

Along a path G_0, G_1, ... of the forward process, the graph's log-likelihood is bounded (appendix A) by the
expectation of

    log p_T(G_T) + sum over steps of log p(G_s | G_t) - log q(G_t | G_s),

one network evaluation per step; the estimate is the mean over several paths (rounds). The reverse
transition p(G_s | G_t) is a product over components, so with correlated components and few steps the bound
is loose, and it rises as steps grow.

The noise comes from counters (`grade.estimators.counters`), so the estimate of a pattern is a function of
the model, the pattern and the seed, whatever batch the pattern is in. With shared noise all candidates see
the same jump times and values in each round, which cancels in the comparison of their scores.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor

from grade.estimators import counters, orbit
from grade.estimators.encoding import Graphs
from grade.estimators.network import Candidates
from grade.estimators.noise import Noise
from grade.settings import EstimatorSettings

Denoiser = Callable[[Graphs, float], tuple[Tensor, Tensor]]
"""(noisy graphs, time) -> posteriors of the clean node types [n, K, a] and edge types [n, K, K, b]."""

Uniforms = Callable[[int, int], Tensor]
"""(step, count) -> [n, count] numbers in [0, 1)."""


class Process(Protocol):
    """A diffusion model without its network."""

    node: Noise
    edge: Noise

    def times(self, steps: int) -> Sequence[float]:
        """0 = t_0 < t_1 < ... < t_steps = 1."""

    def reverse(self, noise: Noise, posterior: Tensor, z_t: Tensor, s: float, t: float) -> Tensor:
        """[..., S] the paper's reverse transition from t to s, for components in the states ``z_t``."""


def path_log_likelihood(
    denoise: Denoiser,
    process: Process,
    graphs: Graphs,
    *,
    upper: bool,
    steps: int,
    kernel: str,
    uniforms: Uniforms,
) -> Tensor:
    """[n] float64: algorithm 2 for one path per graph.

    ``upper`` says that edges lead forward only, so that the slots below the diagonal carry no noise.
    """
    node_mask, slots = graphs.node_mask, graphs.slot_mask(upper)
    places = graphs.capacity
    total = torch.zeros(len(graphs), dtype=torch.float64, device=graphs.nodes.device)
    nodes, edges = graphs.nodes, graphs.edges
    for step, (s, t) in enumerate(pairwise(process.times(steps))):
        u = uniforms(step, places + places**2)
        new_nodes = advance(process.node, nodes, s, t, u[:, :places], node_mask)
        new_edges = advance(process.edge, edges, s, t, u[:, places:].view_as(edges), slots)
        posteriors = denoise(Graphs(new_nodes, new_edges, graphs.sizes), t)
        for noise, posterior, old, new, mask in (
            (process.node, posteriors[0], nodes, new_nodes, node_mask),
            (process.edge, posteriors[1], edges, new_edges, slots),
        ):
            back = (noise.bridge if kernel == "bridge" else process_reverse(process, noise))(
                posterior, new, s, t
            )
            total += (noise.log_ratio(back, old, new, s, t).double() * mask).flatten(1).sum(1)
        nodes, edges = new_nodes, new_edges
    total += (process.node.prior[nodes].log().double() * node_mask).sum(1)
    total += (process.edge.prior[edges].log().double() * slots).flatten(1).sum(1)
    return total


def process_reverse(process: Process, noise: Noise) -> Callable[[Tensor, Tensor, float, float], Tensor]:
    """The process's own reverse transition with the same arguments as `Noise.bridge`."""
    return lambda posterior, z_t, s, t: process.reverse(noise, posterior, z_t, s, t)


def advance(noise: Noise, z: Tensor, s: float, t: float, uniforms: Tensor, mask: Tensor) -> Tensor:
    """One forward step of the components where the mask is True; the others stay 0."""
    kept = float(noise.keep(t)) / float(noise.keep(s))
    return noise.jump(z, kept, uniforms) * mask


def mean_over_rounds(
    estimate: Callable[[Graphs, Uniforms], Tensor],
    candidates: Candidates,
    settings: EstimatorSettings,
    limit: int,
) -> Tensor:
    """[n] mean over rounds of ``estimate(ordered graphs, noise)`` [rows], each round in an order drawn anew.

    With the orbit correction, minus log q(order): a bound of log p(class) + log |Aut|. At most ``limit``
    rows at a time.
    """
    device, rounds = candidates.keys.device, settings.rounds
    per_chunk = min(max(1, limit // rounds), len(candidates))
    result = []
    for begin in range(0, len(candidates), per_chunk):
        # A compiled network wants batches of one shape: the last one is filled up with its last candidate.
        end = begin + per_chunk if settings.compile else min(begin + per_chunk, len(candidates))
        index = torch.arange(begin, end, device=device).clamp(max=len(candidates) - 1)
        chunk = candidates.take(index)
        row = torch.arange(len(chunk), device=device).repeat_interleave(rounds)
        round_of_row = torch.arange(rounds, device=device).repeat(len(chunk))

        def uniforms(
            step: int,
            count: int,
            chunk: Candidates = chunk,
            row: Tensor = row,
            round_of_row: Tensor = round_of_row,
        ) -> Tensor:
            if settings.shared_noise:
                keys = counters.combine(settings.seed, torch.arange(rounds, device=device), step)
                return counters.uniform(keys, count)[round_of_row]
            return counters.uniform(
                counters.combine(settings.seed, chunk.keys[row], round_of_row, step), count
            )

        order, log_q = orbit.draw_orders(chunk.before[row], uniforms(-1, chunk.graphs.capacity))
        values = estimate(chunk.graphs.take(row).reorder(order), uniforms)
        if settings.orbit:
            values = values - log_q
        result.append(values.view(len(chunk), rounds).mean(1))
    return torch.cat(result)[: len(candidates)]

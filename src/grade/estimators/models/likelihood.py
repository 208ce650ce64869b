"""The likelihood of a graph under a diffusion model, by Monte Carlo over noise paths (the paper's algorithm
2).

Along a path G_0, G_1, ... of the forward process, the graph's log-likelihood is bounded (appendix A) by the
expectation of

    log p_T(G_T) + sum over steps of log p(G_s | G_t) - log q(G_t | G_s),

one network evaluation per step; the estimate is the mean over several paths (rounds). The reverse
transition p(G_s | G_t) is a product over components, so with correlated components and few steps the bound
is loose, and it rises as steps grow.

The noise comes from counters (`grade.estimators.models.counters`), so the estimate of a pattern is a function of
the model, the pattern and the seed, whatever batch the pattern is in. With shared noise all candidates see
the same jump times and values in each round, which cancels in the comparison of their scores.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor

from grade.estimators.models import counters, orders
from grade.estimators.models.batches import Candidates
from grade.estimators.models.encoding import Graphs
from grade.estimators.models.graph_transformer import GraphTransformerSettings
from grade.estimators.models.noise import Noise, Time
from grade.estimators.training.compiling import compiled

Denoiser = Callable[[Graphs, Tensor], tuple[Tensor, Tensor]]
"""(noisy graphs, time) -> posteriors of the clean node types [n, K, a] and edge types [n, K, K, b]."""

Uniforms = Callable[[int, int], Tensor]
"""(step, count) -> [n, count] numbers in [0, 1); negative steps are for numbers that a path needs once."""

ORDER, FIRST_JUMP = -1, -2


class Process(Protocol):
    """A diffusion model without its network."""

    node: Noise
    edge: Noise

    def times(self, steps: int) -> Sequence[float]:
        """0 = t_0 < t_1 < ... < t_steps = 1."""

    def reverse(self, noise: Noise, posterior: Tensor, z_t: Tensor, s: Time, t: Time) -> Tensor:
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
    crowding: float = 1.0,
    compile: bool = False,
) -> Tensor:
    """[n] float64: algorithm 2 for one path per graph.

    ``upper`` says that edges lead forward only, so that the slots below the diagonal carry no noise. The
    process's times are raised to the power ``crowding``: above 1, more of the steps lie near the data.
    """
    masks = graphs.node_mask, graphs.slot_mask(upper)
    places, device = graphs.capacity, graphs.nodes.device
    total = torch.zeros(len(graphs), dtype=torch.float64, device=device)
    first = uniforms(FIRST_JUMP, places + places**2)
    times = torch.tensor(process.times(steps), dtype=torch.float64, device=device) ** crowding
    take_step = compiled(path_step) if compile else path_step
    for step, (s, t) in enumerate(pairwise(times.unbind())):
        later = uniforms(step, places + places**2)
        graphs, gain = take_step(denoise, process, kernel, graphs, masks, first, later, s, t)
        total += gain
    total += (process.node.prior[graphs.nodes].log().double() * masks[0]).sum(1)
    total += (process.edge.prior[graphs.edges].log().double() * masks[1]).flatten(1).sum(1)
    return total


def path_step(
    denoise: Denoiser,
    process: Process,
    kernel: str,
    graphs: Graphs,
    masks: tuple[Tensor, Tensor],
    first: Tensor,
    later: Tensor,
    s: Tensor,
    t: Tensor,
) -> tuple[Graphs, Tensor]:
    """The graphs after one step of noise, and [n] the step's contribution to their log-likelihoods.

    ``masks`` [n, K] and [n, K, K] mark nodes and slots; ``first`` and ``later`` [n, K + K^2] are random numbers for
    each of them, for the time of its first jump and for this step.
    """
    places = graphs.capacity
    both = ((u[:, :places], u[:, places:].view_as(graphs.edges)) for u in (first, later))
    (first_nodes, first_edges), (later_nodes, later_edges) = both
    noisy = Graphs(
        advance(process.node, graphs.nodes, s, t, first_nodes, later_nodes) * masks[0],
        advance(process.edge, graphs.edges, s, t, first_edges, later_edges) * masks[1],
        graphs.sizes,
    )
    posteriors = denoise(noisy, t)
    gain = torch.zeros(len(graphs), dtype=torch.float64, device=first.device)
    for noise, posterior, old, new, mask in (
        (process.node, posteriors[0], graphs.nodes, noisy.nodes, masks[0]),
        (process.edge, posteriors[1], graphs.edges, noisy.edges, masks[1]),
    ):
        if kernel == "bridge":
            back = noise.bridge(posterior, new, s, t)
        else:
            back = process.reverse(noise, posterior, new, s, t)
        gain = gain + (noise.log_ratio(back, old, new, s, t).double() * mask).flatten(1).sum(1)
    return noisy, gain


def advance(noise: Noise, z: Tensor, s: Time, t: Time, first: Tensor, uniforms: Tensor) -> Tensor:
    """One forward step of all components.

    A(t) is the probability of no jump until t, so a component jumps for the first time in the step in which
    A falls to its number in ``first`` or below. Later jumps, and where a jump leads, are up to the step's own
    ``uniforms``.
    """
    kept_s, kept_t = noise.keep(s), noise.keep(t)
    kept = kept_t / kept_s
    stay, leave = torch.zeros_like(uniforms), kept + (1 - kept) * uniforms  # as `Noise.jump` reads them
    untouched = torch.where(first < kept_t, stay, leave)
    return noise.jump(z, kept, torch.where(first < kept_s, untouched, uniforms))


def mean_over_rounds(
    estimate: Callable[[Graphs, Uniforms], Tensor],
    candidates: Candidates,
    settings: GraphTransformerSettings,
    limit: int,
) -> Tensor:
    """[n] mean over rounds of ``estimate(ordered graphs, noise)`` [rows], each round in an order drawn anew.

    With the orbit correction, minus log q(order): a bound of log p(class) + log |Aut|. At most ``limit``
    rows at a time.
    """
    device, rounds = candidates.keys.device, settings.rounds
    per_chunk = max(1, limit // rounds)
    result = []
    for begin in range(0, len(candidates), per_chunk):
        end = min(begin + per_chunk, len(candidates))
        chunk = candidates.take(torch.arange(begin, end, device=device))
        place = torch.arange(len(chunk) * rounds, device=device)
        row = place // rounds
        uniforms = round_noise(chunk.keys, row, place % rounds, settings)
        order, log_q = orders.draw_orders(chunk.before[row], uniforms(ORDER, chunk.graphs.capacity))
        values = estimate(chunk.graphs.take(row).reorder(order), uniforms)
        if settings.orbit:
            values = values - log_q
        result.append(values.view(len(chunk), rounds).mean(1))
    return torch.cat(result)


def round_noise(
    keys: Tensor, row: Tensor, round_of_row: Tensor, settings: GraphTransformerSettings
) -> Uniforms:
    """The noise of rows that are the rounds of candidates with these keys."""
    if settings.shared_noise:
        keys, row = torch.zeros_like(keys[:1]), torch.zeros_like(row)
    rounds = torch.arange(settings.rounds, device=keys.device)

    def uniforms(step: int, count: int) -> Tensor:
        each = counters.combine(settings.seed, keys[:, None], rounds, step)  # [keys, rounds]
        values = counters.uniform(each.flatten(), count).view(*each.shape, count)
        return values[row, round_of_row]

    return uniforms

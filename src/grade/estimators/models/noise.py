"""Noise on one component (a node's type or an edge's type): the forward process of all three diffusion
models.

All have the form

    q(z_t | z_0) = A(t) [z_t = z_0] + (1 - A(t)) pi(z_t),        t from 0 (data) to 1 (noise),

with A falling from 1 and a prior pi over the states. They differ in A and pi only, so everything here is in
closed form: the paper's matrix exponentials (theorem 1) and its products of transition matrices
(appendix D) are two coefficients. Components are independent given the graph they start from; their time is
common.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

TINY = (
    1e-30  # a kernel that gives a transition probability zero is floored here, so that no score is infinite
)


Time = float | Tensor
"""A number; or a tensor of one, which a compiled step takes without being compiled for each."""
Schedule = Callable[[Time], Time]
"""A(t) of a time, or of a tensor of times, in kind."""


@dataclass(frozen=True)
class Noise:
    """The noise of one kind of component.

    >>> noise = Noise(lambda t: 1 - t, torch.tensor([0.25, 0.75], dtype=torch.float64))
    >>> noise.marginal(torch.tensor([0]), 0.5)
    tensor([[0.6250, 0.3750]], dtype=torch.float64)
    """

    keep: Schedule  # A(t)
    prior: Tensor  # [S] pi

    @property
    def states(self) -> int:
        return len(self.prior)

    def one_hot(self, z: Tensor) -> Tensor:
        return functional.one_hot(z, self.states).to(self.prior.dtype)

    def marginal(self, start: Tensor, t: Time) -> Tensor:
        """[..., S] q(z_t | z_0 = start)."""
        kept = self.keep(t)
        return kept * self.one_hot(start) + (1 - kept) * self.prior

    def transition(self, z: Tensor, s: Time, t: Time) -> Tensor:
        """[..., S] q(z_t | z_s = z) for s < t."""
        kept = self.keep(t) / self.keep(s)
        return kept * self.one_hot(z) + (1 - kept) * self.prior

    def jump(self, z: Tensor, kept: Time, uniforms: Tensor) -> Tensor:
        """Keep each component with probability ``kept``, else draw it from the prior; one number in [0, 1)
        each.

        The number decides both: below ``kept`` nothing happens; above it, its excess is uniform again.
        So a component that starts elsewhere jumps at the same time to the same state when it gets the same
        numbers.
        """
        # A number is not made a tensor: that would wait for the device.
        left = (1 - kept).clamp(min=1e-12) if isinstance(kept, Tensor) else max(1 - kept, 1e-12)
        level = ((uniforms - kept) / left).clamp(0, 1)
        drawn = torch.searchsorted(self.prior.to(uniforms.dtype).cumsum(0), level.contiguous(), right=True)
        return torch.where(uniforms < kept, z, drawn.clamp(max=self.states - 1))

    def log_forward(self, z_t: Tensor, z_s: Tensor, s: Time, t: Time) -> Tensor:
        """log q(z_t | z_s), elementwise."""
        kept = self.keep(t) / self.keep(s)
        return (kept * (z_t == z_s) + (1 - kept) * self.prior[z_t]).log()

    def reversed_marginal(self, posterior: Tensor, z_t: Tensor, kept: Time, t: Time) -> Tensor:
        """[..., S] sum over z_0 of p(z_0 | G_t) q(z | z_0) / q(z_t | z_0), where q(z | z_0) keeps with
        ``kept``.

        With weights w(z_0) = p(z_0 | G_t) / q(z_t | z_0) this is kept * w(z) + (1 - kept) * pi(z) * sum of w.
        """
        kept_t = self.keep(t)
        likelihood = kept_t * self.one_hot(z_t) + (1 - kept_t) * self.prior[z_t][..., None]
        weights = posterior / likelihood
        return kept * weights + (1 - kept) * self.prior * weights.sum(-1, keepdim=True)

    def bridge(self, posterior: Tensor, z_t: Tensor, s: Time, t: Time) -> Tensor:
        """[..., S] p(z_s | G_t) = sum over z_0 of q(z_s | z_0, z_t) p(z_0 | G_t), exact for every step size.

        With a posterior [..., S] in place of the true one this is the reverse transition of DiGress
        (appendix D) in O(S), and the limit of DisCo's and DeFoG's small-step kernels for their noise.
        """
        kept = self.keep(t) / self.keep(s)
        forward = (
            kept * self.one_hot(z_t) + (1 - kept) * self.prior[z_t][..., None]
        )  # q(z_t | z_s), a function of z_s
        return forward * self.reversed_marginal(posterior, z_t, self.keep(s), t)

    def log_ratio(self, reverse: Tensor, z_s: Tensor, z_t: Tensor, s: Time, t: Time) -> Tensor:
        """log p(z_s | G_t) - log q(z_t | z_s), elementwise: one factor of equation 3's product."""
        chosen = reverse.gather(-1, z_s[..., None])[..., 0]
        return chosen.clamp(min=TINY).log() - self.log_forward(z_t, z_s, s, t)


def uniform_prior(states: int, like: Tensor) -> Tensor:
    """[states] the uniform distribution."""
    return torch.full((states,), 1 / states, dtype=like.dtype, device=like.device)

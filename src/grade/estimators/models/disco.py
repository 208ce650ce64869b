"""DisCo-E: continuous-time diffusion with uniform noise (Xu et al. 2024; the paper's section 4 and appendix
C).

Forward rate R_t = beta(t) (1 1^T - S I) with beta(t) = alpha gamma^t ln gamma, for S states. Its integral
from 0 to t is B(t) = alpha (gamma^t - 1) times the constant matrix, whose exponential is exp(-S B) I + (1 -
exp(-S B)) 1 1^T / S: so A(t) = exp(-S B(t)), and the prior is uniform. The rate grows with the number of
states (with 314 operators the first of 100 steps destroys 83 % of the node types), which is why it can be
set as if there were a fixed number of states.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from grade.estimators.models.diffusion import Diffusion, DiffusionSettings
from grade.estimators.models.likelihood import Process
from grade.estimators.models.noise import Noise, Time, uniform_prior
from grade.estimators.protocol import estimators
from grade.settings import EstimatorSettings
from grade.settings.parameters import setting


@dataclass(frozen=True)
class Decay:
    """A(t) = exp(-rate (gamma^t - 1))."""

    rate: float
    gamma: float

    def __call__(self, t: Time) -> Time:
        exponent = self.rate * (self.gamma**t - 1)
        return torch.exp(-exponent) if isinstance(exponent, Tensor) else math.exp(-exponent)


class DiscoProcess:
    """The noise and the paper's reverse transition."""

    def __init__(
        self, node_prior: Tensor, edge_prior: Tensor, alpha: float, gamma: float, states: float = 0.0
    ) -> None:
        """``states``: the number of states in the rate; 0 takes the real number, as the paper does."""
        self.alpha, self.gamma, self.states = alpha, gamma, states
        self.node, self.edge = self.noise(node_prior), self.noise(edge_prior)

    def noise(self, prior: Tensor) -> Noise:
        return Noise(Decay(self.speed(len(prior)) * self.alpha, self.gamma), prior)

    def speed(self, states: int) -> float:
        return self.states or float(states)

    def times(self, steps: int) -> Sequence[float]:
        return [i / steps for i in range(steps + 1)]

    def reverse(self, noise: Noise, posterior: Tensor, z_t: Tensor, s: Time, t: Time) -> Tensor:
        """Theorem 2: at most one jump in a Poisson process with the reverse rates (equation 9) of time t.

        The printed rate's diagonal is the forward exit rate; here it is minus the sum of the other entries,
        and (1 - exp(-dt * exit)) / exit becomes dt where nothing leaves.
        """
        # The forward rate from any other state into z_t is speed * beta / S = speed * beta * pi(z_t).
        speed = self.speed(noise.states) * self.alpha * self.gamma**t * math.log(self.gamma)
        ratio = noise.reversed_marginal(posterior, z_t, noise.keep(t), t)
        stays = noise.one_hot(z_t)
        rates = speed * noise.prior[z_t][..., None] * ratio * (1 - stays)  # [..., S]
        leaving = (t - s) * rates.sum(-1, keepdim=True)
        moved = -torch.expm1(-leaving) / leaving.clamp(min=1e-20)
        return torch.where(stays > 0, torch.exp(-leaving), moved * (t - s) * rates)


@dataclass(frozen=True, kw_only=True)
class DiscoSettings(DiffusionSettings):
    """The noise schedule, besides the settings of all diffusion models."""

    estimator: ClassVar[str] = "disco"

    states: float = setting(
        "Number of states in the rate; 0: that of the types, as in the paper.", 5.0, least=0
    )
    alpha: float = setting("Scale of the noise schedule.", 0.8, above=0)
    gamma: float = setting("Growth of the noise schedule.", 2.0, above=0)


@estimators.register("disco")
class Disco(Diffusion[DiscoSettings]):
    """The estimator around the process."""

    settings_type: ClassVar[type[EstimatorSettings]] = DiscoSettings

    @property
    def process(self) -> Process:
        s = self.settings
        nodes = uniform_prior(self.space.node_states, self.node_marginal)
        edges = uniform_prior(self.space.edge_types, self.edge_marginal)
        return DiscoProcess(nodes, edges, s.alpha, s.gamma, s.states)

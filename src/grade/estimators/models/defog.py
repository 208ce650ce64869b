"""DeFoG-E: discrete flow matching towards the marginals (Qin et al. 2025; the paper's appendix E).

Flow time f runs from noise (0) to data (1); here t = 1 - f, so that all models agree. The linear path p(z_f
| z_1) = f [z_f = z_1] + (1 - f) p_0(z_f) is noise with A(t) = 1 - t and the marginals p_0 as prior. The
time distortion polydec, f = 2 u - u^2, puts more steps near the data: t = (1 - u)^2.

The paper's reverse transition is an Euler step of the rates that flow matching constructs (R*, plus eta and
omega terms). Those rates give the right marginals at every time, but they are not the time reversal of the
noising process that the likelihood's path follows, for any eta: R* never leaves the predicted state, the
reversal does. So with this kernel the path estimate diverges as steps grow: on graphs of three nodes it was
-3.2, -8.1 and -23.0 at 5, 20 and 100 steps, where the truth is -2.1. The bridge, which is that reversal, rises to the
truth. With omega above 0 not even the marginals are right; keep it at 0 for likelihoods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from grade.estimators.models.diffusion import Diffusion, DiffusionSettings
from grade.estimators.models.likelihood import Process
from grade.estimators.models.noise import Noise, Time
from grade.estimators.protocol import estimators
from grade.settings import EstimatorSettings
from grade.settings.parameters import setting

FLOOR = 1e-6  # the least probability of staying in an Euler step, which can be negative as printed


def linear(t: Time) -> Time:
    """A(t)."""
    return 1 - t


class DefogProcess:
    """The noise and the paper's reverse transition."""

    def __init__(self, node_marginal: Tensor, edge_marginal: Tensor, eta: float, omega: float) -> None:
        self.eta, self.omega = eta, omega
        self.node, self.edge = Noise(linear, node_marginal), Noise(linear, edge_marginal)

    def times(self, steps: int) -> Sequence[float]:
        return [(i / steps) ** 2 for i in range(steps + 1)]

    def reverse(self, noise: Noise, posterior: Tensor, z_t: Tensor, s: Time, t: Time) -> Tensor:
        """Euler step: [z_s = z_t] + dt R(z_t, z_s), with the rates averaged over the posterior of z_1.

        The sum over z_1 has three kinds of terms: z_1 = z_t gives no R* rate, z_1 = z' gives 1 - p0(z') +
        p0(z_t), and all others the positive part of p0(z_t) - p0(z'); all but the first share the
        denominator S (1 - f) p0(z_t).
        """
        p0, f = noise.prior, 1 - t
        here = noise.one_hot(z_t)
        at_z = p0[z_t][..., None]
        certain = (posterior * here).sum(-1, keepdim=True)  # p(z_1 = z_t)
        others = (1 - certain - posterior).clamp(min=0)
        towards = posterior * (1 - p0 + at_z + self.omega) + others * (at_z - p0).clamp(min=0)
        rates = towards / (noise.states * (1 - f) * at_z) + self.eta * (f * posterior + (1 - f) * p0)
        moves = (t - s) * rates * (1 - here)
        stays = (1 - moves.sum(-1, keepdim=True)).clamp(min=FLOOR)
        result = moves + stays * here
        return result / result.sum(-1, keepdim=True)


@dataclass(frozen=True, kw_only=True)
class DefogSettings(DiffusionSettings):
    """The rates of the paper's kernel, besides the settings of all diffusion models."""

    estimator: ClassVar[str] = "defog"

    eta: float = setting("Stochasticity of the paper's kernel.", 1.0, least=0)
    omega: float = setting("Target guidance of the paper's kernel; 0 for likelihoods.", 0.0, least=0)


@estimators.register("defog")
class Defog(Diffusion[DefogSettings]):
    """The estimator around the process."""

    settings_type: ClassVar[type[EstimatorSettings]] = DefogSettings

    @property
    def process(self) -> Process:
        return DefogProcess(self.node_marginal, self.edge_marginal, self.settings.eta, self.settings.omega)

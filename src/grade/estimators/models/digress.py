"""DiGress-E: discrete-time diffusion towards the marginals (Vignac et al. 2023; the paper's appendix D).

Transition matrices Q_t = alpha_t I + (1 - alpha_t) 1 m^T with the marginals m of the training set; their
products have the same form with the cumulated coefficient of the cosine schedule, A(t) = cos^2(pi/2 (t + s)
/ (1 + s)) relative to its value at 0, s = 0.008, where t counts the steps as a share of T. The reverse
transition is the sum over x_0 of the posterior q(x_{t-1} | x_t, x_0), which `Noise.bridge` gives in closed
form: the paper's kernel and the bridge are the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from grade.estimators.models.diffusion import Diffusion, DiffusionSettings
from grade.estimators.models.likelihood import Process
from grade.estimators.models.noise import Noise, Time
from grade.estimators.protocol import estimators
from grade.settings import EstimatorSettings

OFFSET = 0.008
STEPS = 500  # T


def cosine(t: Time) -> Time:
    """A(t) of the cosine schedule, from 1 at t = 0 to 0 at t = 1.

    >>> cosine(0.0), round(cosine(1.0), 9)
    (1.0, 0.0)
    """
    angle, start = 0.5 * math.pi * (t + OFFSET) / (1 + OFFSET), 0.5 * math.pi * OFFSET / (1 + OFFSET)
    top = torch.cos(angle) if isinstance(angle, Tensor) else math.cos(angle)
    return top**2 / math.cos(start) ** 2


class DigressProcess:
    """The noise; times are multiples of 1 / T when the number of steps divides T."""

    def __init__(self, node_marginal: Tensor, edge_marginal: Tensor) -> None:
        self.node, self.edge = Noise(cosine, node_marginal), Noise(cosine, edge_marginal)

    def times(self, steps: int) -> Sequence[float]:
        return [i / steps for i in range(steps + 1)]

    def reverse(self, noise: Noise, posterior: Tensor, z_t: Tensor, s: Time, t: Time) -> Tensor:
        """Appendix D's Bayes expansion."""
        return noise.bridge(posterior, z_t, s, t)


@dataclass(frozen=True, kw_only=True)
class DigressSettings(DiffusionSettings):
    """The settings of all diffusion models."""

    estimator: ClassVar[str] = "digress"


@estimators.register("digress")
class Digress(Diffusion[DigressSettings]):
    """The estimator around the process."""

    settings_type: ClassVar[type[EstimatorSettings]] = DigressSettings

    @property
    def process(self) -> Process:
        return DigressProcess(self.node_marginal, self.edge_marginal)

    def training_times(self, uniforms: Tensor) -> Tensor:
        """t uniform over 1 ... T, as a share of T."""
        return (uniforms * STEPS).floor().add(1).clamp(max=STEPS) / STEPS

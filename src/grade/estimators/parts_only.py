"""Parts: the posterior of the exact counts of parts and of the sample, without a network; it takes seconds."""

from dataclasses import dataclass
from typing import ClassVar

from grade.estimators.evidence.posterior import Posterior
from grade.estimators.protocol import estimators
from grade.settings import EstimatorSettings


@dataclass(frozen=True, kw_only=True)
class PartsSettings(EstimatorSettings):
    """This estimator has no settings of its own."""

    estimator: ClassVar[str] = "parts"


@estimators.register("parts")
class Parts(Posterior):
    """The posterior of `grade.estimators.evidence.posterior` without a network."""

    settings_type: ClassVar[type[EstimatorSettings]] = PartsSettings

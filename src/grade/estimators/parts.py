"""Parts: the posterior of the exact counts of parts and of the sample, without a network; it takes seconds."""

from grade.estimators.evidence.posterior import Posterior
from grade.estimators.protocol import estimators


@estimators.register("parts")
class Parts(Posterior):
    """What `grade.estimators.evidence.posterior` says without a network."""

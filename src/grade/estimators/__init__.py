"""Estimators: models that learn the distribution of patterns from a sample."""

from grade.estimators import autoregressive, defog, digress, disco, frequency, graphvae
from grade.estimators.base import Estimator, estimators, fit, load_estimator

__all__ = [
    "Estimator",
    "autoregressive",
    "defog",
    "digress",
    "disco",
    "estimators",
    "fit",
    "frequency",
    "graphvae",
    "load_estimator",
]

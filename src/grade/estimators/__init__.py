"""Estimators: models that learn the distribution of patterns from a sample."""

from grade.estimators import autoregressive, frequency
from grade.estimators.base import Estimator, estimators, fit, load_estimator

__all__ = ["Estimator", "autoregressive", "estimators", "fit", "frequency", "load_estimator"]

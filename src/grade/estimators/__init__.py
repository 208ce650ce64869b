"""Estimators: models that learn the distribution of patterns from a sample."""

from grade.estimators import autoregressive, defog, digress, disco, frequency, graphvae
from grade.estimators.base import Estimator, estimators, fit, fit_to_folder, load_estimator
from grade.estimators.presets import parse_changes, preset, preset_for

__all__ = [
    "Estimator",
    "autoregressive",
    "defog",
    "digress",
    "disco",
    "estimators",
    "fit",
    "fit_to_folder",
    "frequency",
    "graphvae",
    "load_estimator",
    "parse_changes",
    "preset",
    "preset_for",
]

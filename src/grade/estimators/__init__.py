"""Estimators: models that learn the distribution of patterns from a sample."""

from grade.estimators import frequency
from grade.estimators.models import autoregressive, defog, digress, disco, graphvae
from grade.estimators.presets import parse_changes, preset, preset_for
from grade.estimators.protocol import Estimator, estimators, fit, fit_to_folder, load_estimator

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

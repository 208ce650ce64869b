"""Estimators: models that learn the distribution of patterns from a sample."""

from grade.estimators.presets import parse_changes, plain_settings, preset, preset_for
from grade.estimators.protocol import Estimator, estimators, fit, fit_to_folder, load_estimator

__all__ = [
    "Estimator",
    "estimators",
    "fit",
    "fit_to_folder",
    "load_estimator",
    "parse_changes",
    "plain_settings",
    "preset",
    "preset_for",
]

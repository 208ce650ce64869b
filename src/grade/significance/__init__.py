"""Counts against null models, and graphs and nodes described by their patterns."""

import sys

from grade.callable_module import CallableModule
from grade.significance.ensemble import Significance, significance
from grade.significance.fingerprints import Features, features, profile_distance
from grade.significance.null_models import NULL_MODELS, NullModel, randomised

__all__ = [
    "NULL_MODELS",
    "Features",
    "NullModel",
    "Significance",
    "features",
    "profile_distance",
    "randomised",
    "significance",
]

CallableModule.make(sys.modules[__name__], significance)

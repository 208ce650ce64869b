"""Verification: what a pattern's supports really are, by exact induced counting."""

from grade.verify.counting import (
    Verifier,
    count_pattern,
    count_patterns,
    list_occurrences,
    verify_pattern,
    verify_patterns,
)
from grade.verify.estimating import COUNTING_SHARE, with_estimates
from grade.verify.supports import Support

__all__ = [
    "COUNTING_SHARE",
    "Support",
    "Verifier",
    "count_pattern",
    "count_patterns",
    "list_occurrences",
    "verify_pattern",
    "verify_patterns",
    "with_estimates",
]

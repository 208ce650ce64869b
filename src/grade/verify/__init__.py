"""Verification: what a pattern's supports really are, by exact induced counting."""

from grade.verify.counting import (
    Verifier,
    count_pattern,
    count_patterns,
    list_occurrences,
    verify_pattern,
    verify_patterns,
)
from grade.verify.supports import Support

__all__ = [
    "Support",
    "Verifier",
    "count_pattern",
    "count_patterns",
    "list_occurrences",
    "verify_pattern",
    "verify_patterns",
]

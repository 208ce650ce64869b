"""Verification: the supports of patterns by exact induced counting."""

from grade.verify.counting import (
    Verifier,
    count_pattern,
    count_patterns,
    list_occurrences,
    verify_patterns,
)
from grade.verify.estimates import COUNTING_SHARE, with_estimates
from grade.verify.given import Given, read_patterns, read_table
from grade.verify.querying import QueryVerifier

__all__ = [
    "COUNTING_SHARE",
    "Given",
    "QueryVerifier",
    "Verifier",
    "count_pattern",
    "count_patterns",
    "list_occurrences",
    "read_patterns",
    "read_table",
    "verify_patterns",
    "with_estimates",
]

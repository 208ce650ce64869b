"""Common parts of all counting: time limits, qualities of counts, refusal of patterns that cannot be counted."""

from collections.abc import Iterator
from contextlib import contextmanager

from grade.errors import InputError
from grade.support import EXACT, LOWER_BOUND, Quality


def quality(complete: bool) -> Quality:
    return EXACT if complete else LOWER_BOUND


def time_limit(seconds: float | None) -> float:
    """The limit for the native core, which takes infinity for none."""
    if seconds is None:
        return float("inf")
    if not seconds >= 0:
        raise InputError(f"The time limit is {seconds} seconds; give 0 or more, or leave it out.")
    return float(seconds)


@contextmanager
def bad_patterns_refused() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise InputError(f"A pattern cannot be counted: {error}; give a connected one.") from error

"""Common parts of all counting: limits, qualities of counts, refusal of patterns that cannot be counted.

Seconds for one pattern stand for steps of the matcher, as one core takes them: so it does not depend on the load, or on
the number of threads, whether a number is exact. The time for a whole list is time of the clock.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from grade.errors import InputError
from grade.support import EXACT, LOWER_BOUND, Quality


def quality(complete: bool) -> Quality:
    return EXACT if complete else LOWER_BOUND


STEPS_PER_SECOND = 50_000_000  # of the matcher, on one core
UNLIMITED_STEPS = 2**63


def steps_in(seconds: float | None) -> int:
    """The number of steps that this many seconds stand for.

    >>> steps_in(2)
    100000000
    """
    limit = time_limit(seconds)
    return UNLIMITED_STEPS if limit == inf else round(min(limit * STEPS_PER_SECOND, UNLIMITED_STEPS))


def time_limit(seconds: float | None) -> float:
    """Infinity for none."""
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

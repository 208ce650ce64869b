"""A moment at which work must have stopped, asked about between pieces of work that are short."""

import time
from dataclasses import dataclass
from math import inf


class OutOfTime(Exception):  # noqa: N818 (not an error: the caller reports what it has)
    """The deadline has passed."""


@dataclass(frozen=True)
class Deadline:
    """A moment of the monotonic clock.

    >>> Deadline().left()
    inf
    >>> Deadline.after(0.0).passed
    True
    """

    at: float = inf

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self.at

    def left(self) -> float:
        """Seconds that are left, 0 when it has passed."""
        return inf if self.at == inf else max(self.at - time.monotonic(), 0.0)

    def check(self) -> None:
        """Raise `OutOfTime` when it has passed."""
        if self.passed:
            raise OutOfTime

    def keep_going(self, share: float = 0.0) -> bool:
        """A progress callback for the native core, which asks about ten times a second."""
        self.check()
        return True


NEVER = Deadline()

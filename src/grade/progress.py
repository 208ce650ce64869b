"""Progress and deadlines: one protocol for all long work."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

# A callback that gets the share done (0 to 1), and the name of the stage from work that has several; where it returns
# False, the work stops with `Stopped`.
Progress = Callable[..., bool | None]


class Stopped(Exception):  # noqa: N818 (not an error: the caller asked for it)
    """A progress callback asked to stop. Stored results stay, and the work can resume from them."""

    def __init__(self, message: str = "The work was stopped by its progress callback.") -> None:
        super().__init__(message)


class OutOfTime(Stopped):
    """The deadline has passed."""

    def __init__(self, message: str = "The time is up.") -> None:
        super().__init__(message)


@dataclass(frozen=True)
class Deadline:
    """A moment of the monotonic clock at which work stops; work checks it between short pieces.

    It may carry a progress callback and the name of the present stage, and then reports, too.

    >>> Deadline().left()
    inf
    >>> Deadline.after(0.0).passed
    True
    """

    at: float = inf
    progress: Progress | None = None
    stage: str = ""

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    def reporting(self, progress: Progress | None, stage: str) -> "Deadline":
        """The same moment for a stage that reports to this callback."""
        return replace(self, progress=progress, stage=stage)

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

    def keep_going(self, share: float = 0.0, stage: str = "") -> bool:
        """A progress callback for the native core, which asks about ten times a second."""
        self.check()
        return self.progress is None or self.progress(share, stage or self.stage) is not False

    def report(self, share: float, stage: str = "") -> None:
        """Call the callback; raise `Stopped` if it returns False. The deadline is not checked."""
        tell(self.progress, share, stage or self.stage)


NEVER = Deadline()


def tell(progress: Progress | None, share: float, stage: str = "") -> None:
    """Call a callback, if there is one; raise `Stopped` if it returns False."""
    if progress is not None and progress(share, stage) is False:
        raise Stopped

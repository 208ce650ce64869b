"""How a time budget is shared between the stages."""

from dataclasses import dataclass

from grade.search.deadline import NEVER, Deadline
from grade.units import parse_seconds

SEARCH_SHARE = 0.8  # of a time budget; the rest is for the verification


@dataclass(frozen=True)
class Clock:
    """Until when patterns are searched for, and until when what was found is verified."""

    search: Deadline = NEVER
    verify: Deadline = NEVER

    @classmethod
    def of(cls, budget: str | None) -> "Clock":
        if budget is None:
            return cls()
        seconds = parse_seconds(budget)
        return cls(Deadline.after(SEARCH_SHARE * seconds), Deadline.after(seconds))

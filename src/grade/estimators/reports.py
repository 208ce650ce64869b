"""Reports of a fit, while it runs and when it is done."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class TrainingReport:
    """How far one training has come."""

    phase: str  # trial, member-0, member-1 ...
    step: int
    steps: int  # planned; a trial may stop earlier
    loss: float  # mean since the last report
    seconds: float
    eta: float  # seconds left, if all steps are taken
    best_step: int | None = None  # with the least loss on held-out patterns so far
    best: float | None = None  # that loss

    def to_json(self) -> dict[str, Any]:
        """Its values, without those that are unknown."""
        return {name: value for name, value in asdict(self).items() if value is not None}


Report = Callable[[TrainingReport], None]
"""Receives a report from time to time; an exception from it ends the fit."""


@dataclass(frozen=True, kw_only=True)
class SizeReport:
    """Weights of the evidence on patterns of one size."""

    parts: dict[str, float] | None = None  # of the estimates from parts; None where no parts were counted
    raked: bool = False
    network: float = 0.0
    shape: float | None = None  # of the gamma prior of the rates
    exchangeable: list[list[str]] = field(default_factory=list)  # classes of node types


@dataclass(frozen=True, kw_only=True)
class FitReport:
    """Cost and results of a fit."""

    seconds: float
    steps: int | None = None  # of each network
    parameters: int | None = None  # of each network
    held_out: list[tuple[int, float]] = field(default_factory=list)  # steps and loss on held-out patterns
    posterior: dict[int, SizeReport] = field(default_factory=dict)  # by the number of nodes

    def to_json(self) -> dict[str, Any]:
        """The fields that are known, as values for JSON."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["posterior"] = {str(k): size_to_json(found) for k, found in self.posterior.items()}
        return {name: value for name, value in values.items() if value not in (None, [], {})}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The report that `to_json` described."""
        posterior = {int(k): SizeReport(**found) for k, found in values.get("posterior", {}).items()}
        held_out = [(step, value) for step, value in values.get("held_out", [])]
        return cls(**{**values, "posterior": posterior, "held_out": held_out})


def size_to_json(found: SizeReport) -> dict[str, Any]:
    """All fields, or ``{"parts": None}`` where no parts were counted."""
    return {"parts": None} if found.parts is None else asdict(found)

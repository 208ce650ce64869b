"""Files of measured costs of operators and patterns, apart and fused.

    JSON   {"unit": "seconds", "bandwidth": 1.5e10,
            "costs": [{"pattern": "Conv", "apart": 0.002},
                      {"pattern": "Conv -> Relu", "apart": 0.003, "fused": 0.0021}]}
    CSV    pattern,apart_seconds,fused_seconds        (or apart_bytes,fused_bytes)
           bandwidth,1.5e10,
           Conv,0.002,
           Conv -> Relu,0.003,0.0021

A pattern is text as everywhere. ``fused`` is its cost as one operator, ``apart`` that of its operators one by one,
left out where each of them has a line of its own. The bandwidth, in bytes a second, turns the bytes that other patterns
save into seconds. `grade time --costs` writes such files.
"""

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from grade.errors import InputError
from grade.graphs import Pattern
from grade.graphs.queries import Query

UNITS = ("bytes", "seconds")
MEASURED = "measured"
BANDWIDTH = "bandwidth"
FORM = "a JSON object with 'unit' and 'costs', or a CSV file with the columns pattern, apart_seconds and fused_seconds"


@dataclass(frozen=True)
class Cost:
    """The cost of one pattern."""

    apart: float | None = None
    fused: float | None = None


@dataclass(frozen=True)
class Costs:
    """Measured costs; none, when made without arguments.

    >>> costs = Costs("seconds", 1e9, {"Conv": Cost(3.0), "Relu": Cost(1.0), "Conv -> Relu": Cost(fused=3.5)})
    >>> costs.saving(Pattern.of([0, 1], [[0, 1], [0, 0]], ["Conv", "Relu"]))
    0.5
    """

    unit: str = "bytes"
    bandwidth: float = 1.0  # bytes a second; 1 where the unit is bytes
    entries: dict[str, Cost] = field(default_factory=dict)  # by the pattern's text

    @property
    def bytes_per_unit(self) -> float:
        return self.bandwidth if self.unit == "seconds" else 1.0

    @property
    def sizes(self) -> set[int]:
        """Numbers of nodes of the patterns that have a cost when fused."""
        return {Query(text).size for text, cost in self.entries.items() if cost.fused is not None}

    def saving(self, pattern: Pattern) -> float | None:
        """The saving by fusing one occurrence; None where nothing was measured."""
        cost = self.entries.get(str(pattern))
        if cost is None or cost.fused is None:
            return None
        apart = cost.apart if cost.apart is not None else self.apart(Counter(pattern.type_names))
        return None if apart is None else apart - cost.fused

    def apart(self, operators: Counter[str]) -> float | None:
        """The sum over operators; None where one was not measured."""
        known = [(self.entries.get(quoted(name)), count) for name, count in operators.items()]
        if any(cost is None or cost.apart is None for cost, _ in known):
            return None
        return sum(count * cost.apart for cost, count in known if cost is not None and cost.apart is not None)


def quoted(name: str) -> str:
    """A type as the text of a pattern of one node has it."""
    return str(Pattern.of([0], [[0]], [name]))


def read_costs(path: Path) -> Costs:
    """Read a file of costs; an error in it is an `InputError` of one sentence."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise InputError(f"The costs {path} cannot be read ({reason}); give {FORM}.") from None
    if path.suffix.lower() == ".csv":
        unit, bandwidth, rows = from_csv(path, text)
    else:
        unit, bandwidth, rows = from_json(path, text)
    entries: dict[str, Cost] = {}
    for place, name, apart, fused in rows:
        key = canonical_text(path, place, name)
        if key in entries:
            raise InputError(f"{path}, {place}: the pattern {name!r} is there twice; keep one.")
        cost = Cost(number(path, place, "apart", apart), number(path, place, "fused", fused))
        if cost == Cost():
            raise InputError(f"{path}, {place}: {name!r} has no cost; give 'apart', 'fused' or both.")
        entries[key] = cost
    if not entries:
        raise InputError(f"{path} holds no costs; give {FORM}.")
    if unit == "seconds" and bandwidth is None:
        raise InputError(
            f"{path} gives seconds without a bandwidth, so patterns that it lacks cannot be compared with those that it"
            " has; add 'bandwidth', in bytes a second."
        )
    costs = Costs(unit, bandwidth or 1.0, entries)
    for text_, cost in entries.items():
        parsed = Query(text_).parsed
        names = Counter(node.name for node in parsed.nodes)
        if cost.fused is not None and cost.apart is None and costs.apart(names) is None:
            if len(parsed.nodes) == 1:
                raise InputError(f"{path}: {text_!r} has no cost apart; add it.")
            missing = next(name for name in names if costs.apart(Counter([name])) is None)
            raise InputError(
                f"{path}: {text_!r} has no cost apart, and neither has its operator {missing}; add one of them."
            )
    return costs


Rows = list[tuple[str, Any, Any, Any]]  # place, pattern, apart, fused


def from_json(path: Path, text: str) -> tuple[str, float | None, Rows]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON ({str(error)[:80]}); give {FORM}.") from None
    if not isinstance(data, dict) or not isinstance(data.get("costs"), list):
        raise InputError(f"{path} holds no costs; give {FORM}.")
    unknown = sorted(set(data) - {"unit", BANDWIDTH, "costs", "machine"})
    if unknown:
        raise InputError(f"{path} has {unknown[0]!r}, which is unknown here; give {FORM}.")
    unit = data.get("unit")
    if unit not in UNITS:
        raise InputError(f"The unit of {path} is {unit!r}; give {' or '.join(UNITS)}.")
    rows: Rows = []
    for place, row in enumerate(data["costs"], start=1):
        where = f"cost {place}"
        if not isinstance(row, dict) or not set(row) <= {"pattern", "apart", "fused"}:
            raise InputError(f"{path}, {where}: give an object with 'pattern', 'apart' and 'fused'.")
        rows.append((where, row.get("pattern"), row.get("apart"), row.get("fused")))
    bandwidth = number(path, BANDWIDTH, BANDWIDTH, data.get(BANDWIDTH))
    return str(unit), positive(path, bandwidth), rows


def from_csv(path: Path, text: str) -> tuple[str, float | None, Rows]:
    try:
        lines = list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise InputError(f"{path} is no CSV ({error}); give {FORM}.") from None
    head = [cell.strip() for cell in lines[0]] if lines else []
    unit = next((unit for unit in UNITS if head == ["pattern", f"apart_{unit}", f"fused_{unit}"]), None)
    if unit is None:
        raise InputError(f"{path} has the columns {', '.join(head) or 'nothing'}; give {FORM}.")
    rows: Rows = []
    bandwidth = None
    for line, cells in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(head):
            raise InputError(f"{path}, line {line}: it has {len(cells)} columns and not {len(head)}.")
        name, apart, fused = (cell.strip() or None for cell in cells)
        if name == BANDWIDTH:
            bandwidth = positive(path, number(path, f"line {line}", BANDWIDTH, apart))
        else:
            rows.append((f"line {line}", name, apart, fused))
    return unit, bandwidth, rows


def number(path: Path, place: str, what: str, given: Any) -> float | None:
    """A cost: finite and not negative; None where it is left out."""
    if given is None:
        return None
    try:
        value = float(given) if not isinstance(given, bool) else float("nan")
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not isfinite(value) or value < 0:
        raise InputError(f"{path}, {place}: '{what}' is {given!r}; give a number that is not negative.")
    return value


def positive(path: Path, bandwidth: float | None) -> float | None:
    if bandwidth == 0:
        raise InputError(f"The bandwidth of {path} is 0; give bytes a second.")
    return bandwidth


def canonical_text(path: Path, place: str, name: Any) -> str:
    """The text that every pattern of the same structure has."""
    if not isinstance(name, str) or not name:
        raise InputError(f"{path}, {place}: it names no pattern; write one such as 'Conv -> Relu'.")
    try:
        pattern = Query(name).pattern((), ())
    except InputError as error:
        raise InputError(f"{path}, {place}: {error}") from None
    if pattern is None:
        raise InputError(f"{path}, {place}: {name!r} stands for several patterns; give it without wildcards.")
    return str(pattern)

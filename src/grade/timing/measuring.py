"""Latencies of a case under all strategies: results compared first, then measured in turns."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import Any

import torch

from grade.errors import InputError
from grade.progress import NEVER, Deadline
from grade.timing.native_kernels import UnavailableError
from grade.timing.pieces import Case
from grade.timing.roofline import Machine, Peaks, Work, synchronise, work_of
from grade.timing.strategies import STRATEGIES, Options, Ready

WARM_UP = 3  # runs of each strategy that are not measured
LEAST_SECONDS = 1e-3  # of one sample: shorter calls are repeated within it
TOLERANCE = {False: 1e-4, True: 5e-3}  # of the largest result; more with TF32


@dataclass(frozen=True)
class Latency:
    """The latency of one strategy; no seconds where it is not available or computes something else."""

    strategy: str
    title: str
    seconds: float | None = None  # the median
    low: float | None = None  # quartiles
    high: float | None = None
    samples: int = 0
    first_seconds: float | None = None  # to make it ready and run it once
    difference: float | None = None  # from the reference, as a share of its largest value
    detail: str = ""
    reason: str = ""  # why there are no seconds

    def share(self, machine: Machine, work: Work) -> float | None:
        """The share of the roofline that is reached: 1 is as fast as the machine allows."""
        return None if not self.seconds else machine.least_seconds(work) / self.seconds

    def data(self) -> dict[str, Any]:
        return asdict(self)


def chosen(names: str | None) -> list[str]:
    """The strategies that a text names; all of them when it is left out.

    >>> chosen("eager, hand")
    ['eager', 'hand']
    """
    if names is None:
        return list(STRATEGIES)
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in STRATEGIES]
    if unknown or not wanted:
        what = f"no strategy {unknown[0]!r}" if unknown else "no strategy in `strategies`"
        raise InputError(f"There is {what}; known: {', '.join(STRATEGIES)}.")
    return list(dict.fromkeys(wanted))


def measure(
    case: Case,
    names: Sequence[str],
    options: Options,
    rounds: int,
    tf32: bool = False,
    deadline: Deadline = NEVER,
) -> tuple[list[Latency], Machine]:
    """Make all strategies ready, compare their results, then time those that are right, in turns, and the machine."""
    peaks = Peaks(work_of(case), case.device)
    found: dict[str, Latency] = {}
    runs: dict[str, Ready] = {}
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, name in enumerate(names):
            deadline.check()
            deadline.report(0.5 * number / len(names))
            found[name], made = prepare(case, name, options, TOLERANCE[tf32])
            if made is not None:
                runs[name] = made
        calls = {**peaks.runs, **{name: made.run for name, made in runs.items()}}
        samples = in_turns(calls, case.device, rounds, deadline)
    torch.compiler.reset()  # not before: what one strategy has compiled must last until all are timed
    machine = peaks.machine({name: samples.pop(name) for name in peaks.runs})
    for name, seconds in samples.items():
        low, _, high = quantiles(seconds, n=4) if len(seconds) > 1 else [seconds[0]] * 3
        known = {
            k: v for k, v in asdict(found[name]).items() if k not in ("seconds", "low", "high", "samples")
        }
        found[name] = Latency(**known, seconds=median(seconds), low=low, high=high, samples=len(seconds))
    return [found[name] for name in names], machine


def prepare(case: Case, name: str, options: Options, tolerance: float) -> tuple[Latency, Ready | None]:
    """A strategy ready to be timed, or why it is not."""
    strategy = STRATEGIES[name]
    begin = time.perf_counter()
    try:
        made = strategy.make(case, options)
        results = made.tensors(made.run())
        synchronise(case.device)
    except UnavailableError as error:
        return Latency(name, strategy.title, reason=str(error)), None
    except (KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:  # compilers have classes of errors of their own
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        return Latency(name, strategy.title, reason=reason), None
    first = time.perf_counter() - begin
    off = difference(results, case.results())
    if not off <= tolerance:
        reason = f"its results differ by {off:.1e} of the largest value, more than {tolerance:.0e}"
        return Latency(name, strategy.title, difference=off, detail=made.detail, reason=reason), None
    return Latency(name, strategy.title, first_seconds=first, difference=off, detail=made.detail), made


def difference(results: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor]) -> float:
    """The largest difference of any two numbers, as a share of the largest of its tensor; infinite for other shapes."""
    worst = 0.0
    if len(results) != len(wanted):
        return float("inf")
    for result, right in zip(results, wanted, strict=True):
        b = right.detach().double()
        a = result.detach().to(b)
        if a.shape != b.shape or not torch.equal(a.isfinite(), b.isfinite()):
            return float("inf")
        finite = b.isfinite()
        if finite.any():
            scale = float(b[finite].abs().max()) or 1.0
            worst = max(worst, float((a[finite] - b[finite]).abs().max()) / scale)
    return worst


def in_turns(
    runs: dict[str, Callable[[], Any]], device: torch.device, rounds: int, deadline: Deadline
) -> dict[str, list[float]]:
    """Seconds of a call of each, round by round: a disturbance of the machine affects all of them."""
    repeats: dict[str, int] = {}
    for name, run in runs.items():
        for _ in range(WARM_UP):
            run()
        synchronise(device)
        begin = time.perf_counter()
        run()
        synchronise(device)
        repeats[name] = max(int(LEAST_SECONDS / max(time.perf_counter() - begin, 1e-7)), 1)
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    for number in range(rounds):
        deadline.check()
        deadline.report(0.5 + 0.5 * number / rounds)
        shift = number % max(len(names), 1)
        for name in names[shift:] + names[:shift]:
            synchronise(device)
            begin = time.perf_counter()
            for _ in range(repeats[name]):
                runs[name]()
            synchronise(device)
            seconds[name].append((time.perf_counter() - begin) / repeats[name])
    return seconds

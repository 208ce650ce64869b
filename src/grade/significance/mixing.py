"""How long a chain has to run: the autocorrelation of counts along it.

A chain starts at the observed graphs; the counts of the most frequent patterns are taken at equal distances. The
integrated autocorrelation time of a count is the number of snapshots that hold as much information as one
independent draw, tau = 1 + 2 (rho_1 + rho_2 + ...), cut off at the first window of five times tau (Sokal, "Monte Carlo
Methods in Statistical Mechanics", 1997). A draw is `DISTANCE` times the median tau away from its start, and at least
once the largest: where correlations fall exponentially, that leaves under one per cent for half of the counts, and
under 14 for all.

Where a pilot is too short for its tau, another one follows with longer distances, up to a limit. A chain that has not
mixed by then is reported as such. Its p-values are valid all the same (`native/null_ensemble.hpp`), but draws stay near
the observed graphs, which hides motifs, and z-scores are too large in absolute value where the spread is too small.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.graphs import GraphSet
from grade.progress import Progress
from grade.significance.null_models import NullModel

SNAPSHOTS = 100
TRACKED = 50  # patterns, the most frequent ones
PILOT_SIZE = 4  # nodes: larger patterns are made of these
ENOUGH = 10  # a pilot is this many autocorrelation times long
DISTANCE = 3
FIRST_STEP, LAST_STEP = 1.0, 64.0  # proposed moves for each edge between two snapshots


@dataclass(frozen=True)
class Mixing:
    """How far apart draws are, in proposed moves for each edge, and why."""

    switches: float
    autocorrelation: float | None  # median time of the counts, same unit; None where it was not measured
    slowest: float | None  # time of the slowest count
    mixed: bool | None  # False: the longest pilot was too short


def choose_switches(
    graphs: GraphSet, k: int, null: NullModel, seed: int, threads: int, progress: Progress | None = None
) -> Mixing:
    """The number of moves after which counts have forgotten where the chain started."""
    step = FIRST_STEP
    while True:
        counts, _, _ = _core.null_series(
            graphs.core, min(k, PILOT_SIZE), *null.arguments, step, seed, SNAPSHOTS, threads, progress
        )
        times = integrated_times(counts)
        median, slowest = float(np.median(times)), float(times.max())
        mixed = slowest * ENOUGH <= SNAPSHOTS
        if mixed or step * 4 > LAST_STEP:
            switches = float(np.ceil(max(DISTANCE * median, slowest) * step))
            return Mixing(switches, median * step, slowest * step, mixed)
        step *= 4


def integrated_times(counts: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The integrated autocorrelation times of the most frequent columns of [snapshots, patterns].

    Constant counts are left out; if all are constant, the time is 1.
    """
    frequent = np.argsort(-counts[0].astype(np.int64), kind="stable")[:TRACKED]
    series = counts[:, frequent].astype(float)
    varied = series[:, series.std(axis=0) > 0]
    return np.array([integrated_time(column) for column in varied.T] or [1.0])


def integrated_time(values: NDArray[np.float64]) -> float:
    """1 + 2 (rho_1 + rho_2 + ...) of a series, with Sokal's window.

    >>> rng = np.random.default_rng(0)
    >>> walk = np.zeros(100_000)
    >>> for i in range(1, len(walk)):
    ...     walk[i] = 0.8 * walk[i - 1] + rng.normal()
    >>> round(integrated_time(walk))  # (1 + 0.8) / (1 - 0.8)
    9
    """
    n = len(values)
    centred = values - values.mean()
    spectrum = np.fft.rfft(centred, 2 * n)
    products = np.fft.irfft(np.abs(spectrum) ** 2)[:n]
    times = 2 * np.cumsum(products / products[0]) - 1
    window = int(np.argmax(np.arange(n) >= 5 * times))
    return max(float(times[window if window else n - 1]), 1.0)

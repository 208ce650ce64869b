"""Figures of a list of patterns, from counts and estimates."""

from typing import Any

import numpy as np

from grade.verify.estimates import mean_and_error


def summary(values: list[float]) -> dict[str, float]:
    return {"median": float(np.median(values)), "mean": float(np.mean(values))} if values else {}


def estimated(drawn: list[Any], counted: list[tuple[float, bool, int]]) -> dict[str, float]:
    """Median and mean of the best counts there are: exact ones, or else estimates; with their errors.

    The error of the median is the spread of the medians of single replicates over the root of their number.
    """
    if not counted:
        return {}
    counts, exact = np.array([row[0] for row in counted], float), np.array([row[1] for row in counted], bool)
    each = [np.where(exact, counts, replicate) for replicate in drawn]
    best, errors = mean_and_error(each)
    _, median_error = mean_and_error([np.array([np.median(values)]) for values in each])
    off = np.abs(mean_and_error(drawn)[0][exact] / counts[exact] - 1) if exact.any() else np.zeros(0)
    return {
        "median": float(np.median(best)),
        "median_error": float(median_error[0]),
        "mean": float(best.mean()),
        "relative_error": float(np.median(errors / np.maximum(best, 1))),
        **({"off_exact": float(np.median(off))} if len(off) else {}),
    }

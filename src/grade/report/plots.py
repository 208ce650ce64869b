"""Plots for experiments: curves over sizes and stacked times, as SVG and PNG.

Every function returns a matplotlib figure; `save` writes it. The same data give the same file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grade.errors import InputError
from grade.files import whole_file
from grade.report.drawing import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#4c78a8", "#f2a541", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#bab0ac")
Points = Sequence[tuple[float, float]]


def discovery_curves(
    curves: Mapping[str, Points], title: str = "", vertical: str = "occurrences"
) -> "Figure":
    """A figure of merit by size k, one curve for each method."""
    figure, axes = canvas(title, "k", vertical)
    lines(axes, curves)
    axes.set_yscale("log")
    axes.set_xticks(sorted({k for points in curves.values() for k, _ in points}))
    return figure


def runtime_stacks(runs: Mapping[str, Mapping[str, float]], title: str = "") -> "Figure":
    """Seconds of each stage, stacked, one bar for each run."""
    figure, axes = canvas(title, "seconds", "")
    stages = list(dict.fromkeys(stage for timings in runs.values() for stage in timings))
    done = np.zeros(len(runs))
    for number, stage in enumerate(stages):
        seconds = np.array([timings.get(stage, 0.0) for timings in runs.values()])
        axes.barh(range(len(runs)), seconds, left=done, label=stage, color=COLOURS[number % len(COLOURS)])
        done += seconds
    axes.set_yticks(range(len(runs)), [literal(name) for name in runs])
    axes.invert_yaxis()
    axes.legend(frameon=False)
    return figure


def lines(axes: "Axes", curves: Mapping[str, Points]) -> None:
    """Curves with their points, named in a legend."""
    for number, (name, points) in enumerate(curves.items()):
        x, y = zip(*sorted(points), strict=True)
        axes.plot(x, y, marker="o", markersize=3, label=literal(name), color=COLOURS[number % len(COLOURS)])
    axes.legend(frameon=False)


def canvas(title: str, horizontal: str, vertical: str) -> "tuple[Figure, Axes]":
    """An empty figure in the style of all plots here."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            "Plots need matplotlib, which is not installed; run 'pip install grade-motifs[plots]'."
        ) from None
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot(title=literal(title), xlabel=horizontal, ylabel=vertical)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e3e6ea", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def save(figure: "Figure", path: Path) -> None:
    """Write a figure as .svg or .png, whole or not at all."""
    import matplotlib as mpl

    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png"):
        raise InputError(f"{path} must end in .svg or .png to hold a plot.")
    fixed = {"Date": None} if kind == "svg" else {"Software": None}
    with mpl.rc_context({"svg.hashsalt": "grade", "svg.fonttype": "none"}), whole_file(path) as temporary:
        figure.savefig(temporary, format=kind, dpi=150, metadata=fixed)

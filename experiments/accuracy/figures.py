"""The figures of the accuracy experiment, as PNG and SVG."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from cells import Settings
from grid import Grid, Place
from summary import AUTOREGRESSIVE, MEASURES, Key, Summaries, best_of_paper, pairs, sample_alone

from grade.files import whole_file

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

mpl.rcParams["svg.hashsalt"] = "accuracy"  # the same figure gives the same file
LEGEND_LINE = 0.17  # inches


def save(figure: Any, path: Path, top: float = 1.0) -> None:
    """Write the figure as PNG and SVG; above ``top`` (a share of the height) there is room for a legend."""
    figure.tight_layout(rect=(0, 0, 1, top))
    for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):
        with whole_file(path.with_suffix(suffix)) as temporary:
            figure.savefig(temporary, dpi=130, metadata=metadata)
    plt.close(figure)


def title(settings: Settings, name: str) -> str:
    """A set's name, short enough for an axis."""
    full: str = settings["sets"][name]["title"]
    return full.split(" (")[0].replace("NAS-Bench", "NB")


def draw_accuracy(settings: Settings, summaries: Summaries, path: Path) -> None:
    """For each set and size: the paper's best, ours, the goal and the ceiling."""
    kinds = {
        "sampling only": ("frequency", "default", "default", "x", "tab:gray"),
        "DisCo-E, as in the paper": ("disco", "paper", "paper", "v", "tab:orange"),
        "DisCo-E, as we score": ("disco", "paper", "default", "^", "tab:green"),
        AUTOREGRESSIVE["sample-only"]: ("autoregressive", "", "sample-only", "o", "tab:blue"),
        AUTOREGRESSIVE["default"]: ("autoregressive", "default", "default", "D", "tab:purple"),
    }
    places = pairs(settings, summaries)
    figure, axes = plt.subplots(2, 1, figsize=(9.5, 7.5), sharex=True)
    for axis, measure, letter in zip(axes, MEASURES, ("Spearman's rho", "Kendall's tau"), strict=True):
        for x, (name, k) in enumerate(places):
            facts = settings["sets"][name]
            best, goal = (
                best_of_paper(facts["paper"], k)[measure],
                facts["goal"][str(k)][MEASURES.index(measure)],
            )
            axis.hlines(goal, x - 0.4, x + 0.4, "tab:red", "dotted", label="goal" if x == 0 else None)
            axis.plot(x - 0.15, best, "s", color="black", label="paper, best" if x == 0 else None)
            top = summaries.get(Key(name, k, "rand-esu", "ceiling", "default", "default"))
            if top is not None:
                axis.hlines(
                    top.figure(measure)[0], x - 0.4, x + 0.4, "lightgray", label="ceiling" if x == 0 else None
                )
        for text, (estimator, variant, scoring, marker, colour) in kinds.items():
            keys = [
                Key(*place, "rand-esu", estimator, variant, scoring)
                if variant
                else sample_alone(settings, *place)
                for place in places
            ]
            points = [(x, *summaries[key].figure(measure)) for x, key in enumerate(keys) if key in summaries]
            if points:
                xs, ys, deviations = zip(*points, strict=True)
                spread = [deviation or 0.0 for deviation in deviations]
                axis.errorbar(
                    [x + 0.15 for x in xs], ys, yerr=spread, fmt=marker, color=colour, capsize=2, label=text
                )
        axis.set_ylabel(letter)
        axis.grid(axis="y", alpha=0.3)
    axes[1].set_xticks(
        range(len(places)),
        [f"{title(settings, name)}\nk = {k}" for name, k in places],
        fontsize=8,
    )
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper center", ncols=4, fontsize=9)
    save(figure, path, top=0.92)


def draw_grid(settings: Settings, grid: Grid, path: Path) -> None:
    """An ablation: a panel for each set and size, Spearman's rho of each method against the choices that it has there.

    Points are joined where the choices are numbers; between kinds there is nothing to read off a line. The paper's
    figures are hollow, or broken lines where they are for all choices.
    """
    places = list(dict.fromkeys(place for place, _ in grid.rows))
    methods = list(dict.fromkeys(method for _, method in grid.rows))
    columns = min(4, len(places))
    rows = -(-len(places) // columns)
    theirs = bool(grid.beside or grid.levels)
    above = 0.25 + LEGEND_LINE * -(-(len(methods) + theirs) // 2)  # inches, of the legend
    figure, axes = plt.subplots(
        rows, columns, figsize=(max(6.0, 3.2 * columns), 3.0 * rows + above), squeeze=False
    )
    for axis, (name, k) in zip(axes.flat, places, strict=False):
        draw_panel(axis, grid, (name, k), methods)
        axis.set_title(f"{title(settings, name)}, k = {k}", fontsize=9)
        axis.set_xlabel(grid.axis, fontsize=8)
    for row in axes:
        row[0].set_ylabel("Spearman's rho")
    for axis in axes.flat[len(places) :]:
        axis.set_visible(False)
    known: dict[str, Any] = {}
    for axis in axes.flat:
        handles, labels = axis.get_legend_handles_labels()
        known |= dict(zip(labels, handles, strict=True))
    if theirs:
        style = {"marker": "D", "ls": ""} if grid.beside else {"ls": "--"}
        known["the paper's figure"] = Line2D([], [], color="gray", mfc="none", markersize=4, **style)
    figure.legend(list(known.values()), list(known), loc="upper center", ncols=2, fontsize=8)
    save(figure, path, top=1 - above / figure.get_figheight())


def draw_panel(axis: Any, grid: Grid, place: Place, methods: list[str]) -> None:
    """One set and size."""
    own = [grid.rows.get((place, method), {}) for method in methods]
    columns = [column for column in grid.columns if any(column in values for values in own)]
    joined = all(column.replace(".", "", 1).isdigit() for column in columns)
    drawn: list[Any] = []  # the paper's figures are the same however we score
    for number, (method, values) in enumerate(zip(methods, own, strict=True)):
        gap = 0.0 if joined else min(0.12, 0.8 / len(methods))
        shift = gap * (number - (len(methods) - 1) / 2)
        points = [(x + shift, *values[c]) for x, c in enumerate(columns) if c in values]
        style = {"markersize": 4, "color": f"C{number}"}
        if points:
            xs, ys, deviations = zip(*points, strict=True)
            spread = [deviation or 0.0 for deviation in deviations]
            axis.errorbar(xs, ys, yerr=spread, fmt="o-" if joined else "o", capsize=2, label=method, **style)
        beside = grid.beside.get((place, method), {})
        theirs = [(x + shift, beside[c][0]) for x, c in enumerate(columns) if c in beside]
        if theirs and beside not in drawn:
            drawn.append(beside)
            axis.plot(*zip(*theirs, strict=True), "D", mfc="none", **style)
        if (place, method) in grid.levels:
            axis.axhline(grid.levels[place, method], ls="--", lw=1, color=f"C{number}")
    low, high = axis.get_ylim()  # differences that mean nothing shall not look large
    margin = max(0.0, 0.1 - (high - low)) / 2
    axis.set_ylim(low - margin, high + margin)
    axis.set_xlim(-0.5, len(columns) - 0.5)
    axis.set_xticks(range(len(columns)), columns, rotation=30, ha="right", fontsize=8)
    axis.grid(alpha=0.3)

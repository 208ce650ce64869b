"""The figures of the accuracy experiment, as PNG and SVG."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from cells import Settings
from summary import MEASURES, SAMPLERS, Summaries, best_of_paper, label, pairs

from grade.files import whole_file

mpl.use("Agg")
import matplotlib.pyplot as plt

mpl.rcParams["svg.hashsalt"] = "accuracy"  # the same figure gives the same file


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
        "sampling only": ("frequency", "default", "x", "tab:gray"),
        "DisCo-E, as in the paper": ("disco", "paper", "v", "tab:orange"),
        "DisCo-E": ("disco", "default", "^", "tab:green"),
        "autoregressive": ("autoregressive", "default", "o", "tab:blue"),
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
            top = summaries.get((name, k, "rand-esu", "ceiling", "default"))
            if top is not None:
                axis.hlines(
                    top.figure(measure)[0], x - 0.4, x + 0.4, "lightgray", label="ceiling" if x == 0 else None
                )
        for text, (estimator, variant, marker, colour) in kinds.items():
            points = [
                (x, *summaries[name, k, "rand-esu", estimator, variant].figure(measure))
                for x, (name, k) in enumerate(places)
                if (name, k, "rand-esu", estimator, variant) in summaries
            ]
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


def draw_samplers(settings: Settings, summaries: Summaries, path: Path) -> bool:
    """Spearman's rho by sampling method; only where more than one method has results."""
    methods = [method for method in SAMPLERS if any(key[2] == method for key in summaries)]
    if len(methods) < 2:
        return False
    several = {key[:2] for key in summaries if key[2] != "rand-esu"}
    places = [place for place in pairs(settings, summaries) if place in several]
    columns = min(5, len(places))
    rows = -(-len(places) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3 * columns, 2.8 * rows), squeeze=False, sharey=True)
    for axis, (name, k) in zip(axes.flat, places, strict=False):
        kinds = {key[3:]: None for key in summaries if key[:2] == (name, k) and key[3] != "ceiling"}
        for estimator, variant in kinds:
            found = [(m, summaries.get((name, k, m, estimator, variant))) for m in methods]
            points = [(methods.index(m), s.figure("spearman")[0]) for m, s in found if s is not None]
            axis.plot(*zip(*points, strict=True), "o-", markersize=4, label=label(estimator, variant))
        axis.set_title(f"{title(settings, name)}, k = {k}", fontsize=9)
        axis.set_xticks(range(len(methods)), [SAMPLERS[m] for m in methods], rotation=30, fontsize=8)
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("Spearman's rho")
    axes[0, 0].legend(fontsize=7)
    for axis in axes.flat[len(places) :]:
        axis.set_visible(False)
    save(figure, path)
    return True

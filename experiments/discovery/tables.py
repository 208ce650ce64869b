"""Tables and figures of the discovery experiment, from results.jsonl alone."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from grade.files import whole_file
from grade.report.plots import discovery_curves, runtime_stacks, save

PAPER = (
    "The paper, on Younger: GraDE (Rand-ESU) is the best of all methods from k = 8 on, and more than 30 times the best"
    " sampler for k >= 10; samplers are better at small k."
)
TITLES = {"none": "no constraints", "case study": "contains a convolution, degrees at most 2"}
Row = dict[str, Any]
Cell = Callable[[Row], str]


class Results:
    """The rows of results.jsonl."""

    def __init__(self, out: Path, settings: dict[str, Any]) -> None:
        rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
        self.rows: list[Row] = [row for row in rows if "cutoffs" not in row]
        self.cutoffs: list[Row] = [row for row in rows if "cutoffs" in row]
        self.methods = list(dict.fromkeys(row["method"] for row in self.rows))
        self.samplers = [method for method in self.methods if method in settings["samplers"]]
        self.first = settings["sensitivity_methods"][0]
        self.under = list(dict.fromkeys(row["constraints"] for row in self.rows))
        self.sizes = sorted({row["k"] for row in self.rows})

    def row(self, method: str, under: str, k: int) -> Row | None:
        wanted = (method, under, k)
        return next((r for r in self.rows if (r["method"], r["constraints"], r["k"]) == wanted), None)

    def value(self, method: str, under: str, k: int, kind: str, figure: str = "median") -> float:
        """A median or mean; 0 where the method named no pattern."""
        row = self.row(method, under, k)
        return float(row[kind].get(figure, 0.0)) if row else 0.0

    def best_sampler(self, under: str, k: int, kind: str) -> float:
        return max(self.value(sampler, under, k, kind) for sampler in self.samplers)


def make_tables(out: Path, settings: dict[str, Any]) -> None:
    """results.csv, results.md and the figures."""
    results = Results(out, settings)
    write(out / "results.csv", csv_lines(results))
    write(out / "results.md", page(results, out, settings))
    for under in results.under:
        name = under.replace(" ", "-")
        curves = {
            method: [(k, v) for k in results.sizes if (v := results.value(method, under, k, "estimated")) > 0]
            for method in results.methods
        }
        figure = discovery_curves(
            {method: points for method, points in curves.items() if points},
            f"Median of the {settings['top']} best, {TITLES[under]}",
            "occurrences, exact or estimated",
        )
        for line in figure.axes[0].lines:
            if line.get_label() in results.samplers:
                line.set_linestyle("--")
        figure.axes[0].legend(frameon=False, fontsize=7, handlelength=4)
        save(figure, out / f"median-{name}.png")
    found = ((k, results.row(results.first, "none", k)) for k in results.sizes)
    timings = {f"k = {k}": row["seconds"] for k, row in found if row}
    ordered = {k: {s: t[s] for s in ("sampling", "training", "search")} for k, t in timings.items()}
    save(runtime_stacks(ordered, f"Seconds, {results.first}"), out / "runtime.png")


def write(path: Path, lines: Iterator[str]) -> None:
    with whole_file(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n")


def csv_lines(results: Results) -> Iterator[str]:
    yield (
        "method,constraints,k,patterns,counted_exactly,median,median_error,mean,median_at_cutoff,mean_at_cutoff,"
        "median_disjoint,mean_disjoint,seconds_sampling,seconds_training,seconds_search"
    )
    for row in results.rows:
        best, counted, disjoint = row["estimated"], row["counted"], row["disjoint"]
        values = [
            row["method"],
            row["constraints"],
            row["k"],
            row["patterns"],
            row["exact"],
            *(f"{best[name]:.6g}" if best else "" for name in ("median", "median_error", "mean")),
            *(
                f"{part[name]:.6g}" if part else ""
                for part in (counted, disjoint)
                for name in ("median", "mean")
            ),
            *(row["seconds"].get(stage, "") for stage in ("sampling", "training", "search")),
        ]
        yield ",".join(map(str, values))


def page(results: Results, out: Path, settings: dict[str, Any]) -> Iterator[str]:
    """results.md."""
    yield from (
        "# Discovery",
        "",
        "Made by `python experiments/discovery/run.py`; see there for the methods.",
        "",
    )
    yield (
        f"Set {settings['set']}, {settings['samples']:,} samples of each size, beam {settings['beam']}, the"
        f" {settings['top']} best of each method; a model for each size. {machine(out)}"
    )
    yield from ("", "| model | samples of | estimator | preset | changes |", "|---|---|---|---|---|")
    for name, given in settings["models"].items():
        preset = given.get("preset", "default")
        yield f"| {name} | {given['sampler']} | {given['estimator']} | {preset} | {changes(given)} |"
    yield from ("", PAPER, "")
    yield from ratios(results)
    for under in results.under:
        yield from (f"## {TITLES[under][0].upper()}{TITLES[under][1:]}", "")
        yield from table(
            results,
            under,
            f"Median occurrences of the {settings['top']} best: the comparison",
            "Exact where counting came to its end; ~ where the median is an unbiased estimate from fresh seeds,"
            " with the standard error of the median. A dash: the method named no pattern.",
            best_median,
        )
        yield from table(
            results,
            under,
            "Mean occurrences, exact or estimated",
            "",
            lambda row: number(row["estimated"], "mean"),
        )
        yield from table(
            results,
            under,
            "Median at the cut-off: the paper's protocol",
            f"What exact counting had found {settings['cutoff']} s after it began, on one thread of a busy machine; +"
            " marks a lower bound, which says more about the counting than about the patterns.",
            cutoff_median,
        )
        yield from table(
            results,
            under,
            "Median of the occurrences that share no node",
            "Greedy, in a fixed order; lower bounds where counting was cut off.",
            lambda row: number(row["disjoint"], "median"),
        )
        yield from (f"![medians](median-{under.replace(' ', '-')}.png)", "")
    yield from table(
        results,
        "none",
        "Seconds at each size: sampling + training + search",
        "On one thread beside other work, so that only their proportions mean something.",
        seconds,
    )
    yield from ("![seconds](runtime.png)", "")
    yield from sensitivity(results)
    yield from accuracy(results)


def table(results: Results, under: str, title: str, note: str, cell: Cell) -> Iterator[str]:
    """One row for each size, one column for each method."""
    yield from (f"### {title}", "")
    if note:
        yield from (note, "")
    yield "| k | " + " | ".join(results.methods) + " |"
    yield "|---" * (len(results.methods) + 1) + "|"
    for k in results.sizes:
        rows = [results.row(method, under, k) for method in results.methods]
        cells = [cell(row) if row and row["patterns"] else "-" for row in rows]
        yield f"| {k} | " + " | ".join(cells) + " |"
    yield ""


def number(values: dict[str, float], name: str) -> str:
    return f"{values[name]:.3g}"


def best_median(row: Row) -> str:
    best = row["estimated"]
    if best["median_error"] == 0:
        return f"{best['median']:.3g}"
    return f"~{best['median']:.3g} ± {best['median_error']:.1g}"


def cutoff_median(row: Row) -> str:
    return number(row["counted"], "median") + ("" if row["exact"] == row["patterns"] else "+")


def seconds(row: Row) -> str:
    stages = [row["seconds"].get(stage) for stage in ("sampling", "training", "search")]
    return " + ".join("-" if value is None else f"{value:.1f}" for value in stages)


def ratios(results: Results) -> Iterator[str]:
    """Searches over the best sampler, beside the paper's statement."""
    methods = [method for method in results.methods if method not in results.samplers]
    for under in results.under:
        yield from (f"## Times the best sampler's median, {TITLES[under]}", "")
        yield "| k | paper | " + " | ".join(methods) + f" | {results.first} at the cut-off |"
        yield "|---" * (len(methods) + 3) + "|"
        for k in results.sizes:
            paper = "not ahead" if k < 8 else "ahead" if k < 10 else "over 30"
            if under != "none":
                paper = "-"
            base = results.best_sampler(under, k, "estimated")
            cells = [ratio(results.value(method, under, k, "estimated"), base) for method in methods]
            first = results.value(results.first, under, k, "counted")
            cells.append(ratio(first, results.best_sampler(under, k, "counted")))
            yield f"| {k} | {paper} | " + " | ".join(cells) + " |"
        yield ""


def ratio(value: float, base: float) -> str:
    """A dash where a method named nothing or was not run, or nothing had been counted."""
    return f"{value / base:.3g}" if base and value else "-"


def sensitivity(results: Results) -> Iterator[str]:
    """The paper's analysis: the ratio of GraDE to its sampler by cut-off."""
    if not results.cutoffs:
        return
    first, sampler = dict.fromkeys(row["method"] for row in results.cutoffs)
    cutoffs = list(dict.fromkeys(row["cutoff"] for row in results.cutoffs))
    yield from ("## Sensitivity to the cut-off", "")
    yield f"Median (mean) at the cut-off of {first} over that of {sampler}."
    yield from ("", "| k | " + " | ".join(f"{cutoff} s" for cutoff in cutoffs) + " |")
    yield "|---" * (len(cutoffs) + 1) + "|"
    for k in dict.fromkeys(row["k"] for row in results.cutoffs):
        found = {(row["method"], row["cutoff"]): row for row in results.cutoffs if row["k"] == k}
        cells = []
        for cutoff in cutoffs:
            ours, theirs = found[first, cutoff], found[sampler, cutoff]
            cells.append(f"{ratio(ours['median'], theirs['median'])} ({ratio(ours['mean'], theirs['mean'])})")
        yield f"| {k} | " + " | ".join(cells) + " |"
    yield ""


def accuracy(results: Results) -> Iterator[str]:
    """How good the estimates are."""
    yield from ("## How good the estimates are", "")
    yield (
        "Over the methods, medians of: how far estimates are from the exact counts where there are such; their stated"
        " standard error, relative to the count, where there are none."
    )
    yield from ("", "| k | constraints | off the exact count | stated error |", "|---|---|---|---|")
    for under in results.under:
        for k in results.sizes:
            rows = [r["estimated"] for r in results.rows if (r["constraints"], r["k"]) == (under, k)]
            off = sorted(row["off_exact"] for row in rows if "off_exact" in row)
            stated = sorted(row["relative_error"] for row in rows if row and row["relative_error"] > 0)
            cells = [f"{values[len(values) // 2]:.2g}" if values else "-" for values in (off, stated)]
            yield f"| {k} | {under} | {cells[0]} | {cells[1]} |"
    yield ""


def changes(settings: dict[str, Any]) -> str:
    """Of a model, those that bear on its result."""
    values = {"seed": settings.get("seed", 0), **settings.get("changes", {})}
    return ", ".join(f"{name} = {value}" for name, value in values.items() if name != "memory" and value != 0)


def machine(out: Path) -> str:
    file = out / "machine.txt"
    return f"Computed {file.read_text().strip()}" if file.exists() else ""

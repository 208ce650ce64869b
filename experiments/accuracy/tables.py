"""Tables and figures of the accuracy experiment, from the results of run.py and the paper's figures in paper.toml.

    python experiments/accuracy/tables.py                       # results/, and tables in docs/ and experiments/
    python experiments/accuracy/tables.py more.jsonl            # takes in results of another machine first
    python experiments/accuracy/tables.py --out /tmp/quick      # another folder of results; the pages stay as they are

Writes results.csv, results.md, ablations.md and, as PNG and SVG, the figure accuracy and one for each ablation. No
number in them is typed.
"""

import argparse
import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ablations import grids
from cells import HERE, LINES, Result, Settings, read_results, read_settings, write_lines, write_result
from figures import draw_accuracy, draw_grid
from grid import Grid
from summary import (
    ABOUT_PARTS,
    AUTOREGRESSIVE,
    MEASURES,
    SAMPLERS,
    SCORINGS,
    TITLES,
    Figure,
    Key,
    Paper,
    Summaries,
    Summary,
    best_of_paper,
    label,
    of_tables,
    pairs,
    read_paper,
    sample_alone,
    summarise,
)

from grade.errors import InputError
from grade.files import whole_file

FRONT = HERE.parents[1] / "docs" / "reproducing.md"
EXPERIMENTS = HERE.parent / "README.md"
BEGIN, END = "<!-- accuracy:begin -->", "<!-- accuracy:end -->"


def show(figure: Figure | None, digits: int = 3) -> str:
    """
    >>> show((0.5, 0.01)), show((0.5, None)), show(None)
    ('0.500 ± 0.010', '0.500', '-')
    """
    if figure is None:
        return "-"
    mean, deviation = figure
    return f"{mean:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


def both(values: dict[str, float] | None) -> str:
    return "-" if values is None else f"{values['spearman']:.3f} / {values['kendall']:.3f}"


def means(summary: Summary | None, prefix: str = "") -> dict[str, float] | None:
    if summary is None or summary.mean(prefix + MEASURES[0]) is None:
        return None
    return {measure: summary.figure(prefix + measure)[0] for measure in MEASURES}


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


# The parts of the page.


def goals(settings: Settings, summaries: Summaries) -> list[str]:
    rows = []
    for name, k in pairs(settings, summaries):
        facts = settings["sets"][name]
        goal = dict(zip(MEASURES, facts["goal"][str(k)], strict=True))
        paper = best_of_paper(facts["paper"], k)
        ours = [
            means(summaries.get(key))
            for key in (
                sample_alone(settings, name, k),
                Key(name, k, "rand-esu", "autoregressive", "default", "default"),
            )
        ]
        top = summaries.get(Key(name, k, "rand-esu", "ceiling", "default", "default"))
        rows.append(
            [
                facts["title"],
                str(k),
                both(means(summaries.get(Key(name, k, "rand-esu", "frequency", "default", "default")))),
                both(paper),
                f"{goal['spearman']:.2f} / {goal['kendall']:.2f}",
                *(text for values in ours for text in (both(values), verdict(values, paper, goal))),
                both(means(top)),
                both(means(top, "ties_")),
                both(means(top, "merged_")),
            ]
        )
    head = ["set", "k", "sampling only", "paper, best", "goal"]
    head += [AUTOREGRESSIVE["sample-only"], "reached", AUTOREGRESSIVE["default"], "reached"]
    return [
        "## Against the paper and the goal",
        "",
        "Spearman's rho / Kendall's tau-b, means over seeds, Rand-ESU samples at density 0.1. 'Paper, best' is the"
        " highest value anywhere in its tables for that set and size. 'Reached' is of the column before it.",
        "",
        ABOUT_PARTS,
        "",
        *table([*head, "ceiling, instances", "ceiling, ties", "ceiling, merged types"], rows),
        "**Ceilings.** 'Instances': the counts of the census against a multinomial draw from their own distribution,"
        " of as many instances as the set has. This is how far one set of this size determines the ranking at all,"
        " were its instances independent; an estimator can be above it where they are not, as in sets that"
        " enumerate a whole space. 'Ties': the counts against themselves with equal counts in random order, which is"
        " what scores in perfect order reach when no two are equal. Only scores that are exactly equal where the"
        " counts are can be above that. 'Merged types': the counts against the true ones of merged types, divided among"
        " the patterns that merge as by default, which is what a perfect model of merged types would reach.",
        "",
    ]


def verdict(ours: dict[str, float] | None, paper: dict[str, float], goal: dict[str, float]) -> str:
    """What the figures reach; both have to be there."""
    if ours is None:
        return "-"
    if all(ours[measure] >= goal[measure] for measure in MEASURES):
        return "goal"
    if all(round(ours[measure], 2) >= round(paper[measure], 2) for measure in MEASURES):
        return "paper"
    return "no"


def estimators_of_sets(settings: Settings, summaries: Summaries, paper: Paper) -> list[str]:
    lines = ["## Every estimator", "", "The paper's figure in brackets.", ""]
    head = [
        "estimator",
        "sampler",
        "rho",
        "tau",
        "seeds",
        "types scored",
        "evaluations",
        "steps",
        "fit, s",
        "score, s",
    ]
    for name, k in pairs(settings, summaries):
        facts, rows = settings["sets"][name], []
        for key, summary in summaries.items():
            if (key.set, key.k) != (name, k) or key.estimator == "ceiling":
                continue
            theirs = paper.get((facts["paper"], k, key.sampler, key.estimator), {})
            cells = [label(key, settings), SAMPLERS[key.sampler]]
            cells += [f"{show(summary.figure(m))} ({show(theirs.get(m))})" for m in MEASURES]
            cells += [str(len(summary.results)), number(summary.mean("scored"))]
            cells += [number(summary.mean("evaluations_per_pattern")), number(summary.mean("steps"))]
            rows.append([*cells, number(summary.mean("fit_seconds")), number(summary.mean("score_seconds"))])
        if rows:
            types = summaries[next(key for key in summaries if (key.set, key.k) == (name, k))].results[0][
                "types"
            ]
            lines += [f"### {facts['title']}, k = {k}: {types:,} types", "", *table(head, rows)]
    return [
        *lines,
        "Evaluations: of a network, per pattern. Seconds are of one of several jobs that shared the machine; several"
        " scorings of one training took the fit's seconds once, and those that differ in the orbit correction alone"
        " took the score's once. Where fewer types were scored than the set has, they are a random subset, drawn anew"
        " for every seed.",
        "",
    ]


def number(value: float | None) -> str:
    """
    >>> number(1234.0), number(3.217), number(None)
    ('1,234', '3.2', '-')
    """
    return (
        "-" if value is None else f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
    )


def reproduction(settings: Settings, summaries: Summaries, paper: Paper) -> list[str]:
    """The paper's estimators on Rand-ESU samples: one training, scored as in the paper and as we recommend."""
    rows = []
    epochs: dict[str, float] = {}
    for name, k in pairs(settings, summaries):
        for estimator in ("disco", "defog", "digress", "graphvae"):
            keys = {scoring: Key(name, k, "rand-esu", estimator, "paper", scoring) for scoring in SCORINGS}
            theirs = paper.get((settings["sets"][name]["paper"], k, "rand-esu", estimator))
            ours = {scoring: summaries[key] for scoring, key in keys.items() if key in summaries}
            if not ours or theirs is None:
                continue
            place = f"{settings['sets'][name]['title']}, k = {k}"
            results = next(iter(ours.values())).results
            epochs[place] = min(float(r["settings"]["epochs"]) for r in results)
            row = [settings["sets"][name]["title"], str(k), TITLES[estimator], show(theirs["spearman"])]
            row += [show(ours[s].figure("spearman")) if s in ours else "-" for s in SCORINGS]
            difference = "-"
            if "paper" in ours:
                difference = f"{ours['paper'].figure('spearman')[0] - theirs['spearman'][0]:+.3f}"
            scored = number(ours["paper"].mean("scored")) if "paper" in ours else "-"
            row += [difference, str(len(results)), scored]
            rows.append(row)
    if not rows:
        return []
    head = [
        "set",
        "k",
        "estimator",
        "paper",
        *SCORINGS.values(),
        "as in the paper - paper",
        "seeds",
        "types scored",
    ]
    text = (
        "Spearman's rho, Rand-ESU samples. One training with the paper's hyperparameters for each seed, scored in four"
        " ways: its kernel, rounds and steps; the same, corrected from a matrix to its class; the exact bridge with"
        " shared and stratified noise, 400 evaluations (DisCo-E: more of them near the data), with and without that"
        " correction"
        " (GraphVAE: 20 latent draws throughout)."
    )
    most = max(epochs.values(), default=0.0)
    text += "".join(f" {p}: {e:g} epochs in place of {most:g}." for p, e in epochs.items() if e < most)
    return ["## The paper's estimators, and orbit correction", "", text, "", *table(head, rows)]


# The ablations.


def cell(ours: Figure | None, theirs: Figure | None) -> str:
    """
    >>> cell((0.5, None), (0.4, 0.01)), cell((0.5, None), None)
    ('0.500 (0.400)', '0.500')
    """
    return show(ours) if theirs is None else f"{show(ours)} ({show((theirs[0], None))})"


def grid_table(one: Grid, settings: Settings) -> list[str]:
    head = ["set", "k", "method", *one.columns, "seeds", *([one.noted] if one.notes else [])]
    rows = [
        [settings["sets"][name]["title"], str(k), method]
        + [
            cell(values.get(column), one.beside.get(((name, k), method), {}).get(column))
            for column in one.columns
        ]
        + [str(one.number[(name, k), method])]
        + ([one.notes.get(((name, k), method), "-")] if one.notes else [])
        for ((name, k), method), values in one.rows.items()
    ]
    return table(head, rows)


def ablations(settings: Settings, made: list[Grid], images: str) -> list[str]:
    """A section for each; ``images`` is where the figures lie, seen from the page."""
    lines = []
    for one in made:
        lines += [f"### {one.title}", "", f"{one.text} Spearman's rho by {one.axis}.", ""]
        lines += [*grid_table(one, settings), f"![{one.title}]({images}{one.name}.png)", ""]
    return lines or ["No results yet.", ""]


def provenance(summaries: Summaries) -> str:
    """Where and when the results were made; each counts once, however often its training was scored."""
    trainings = {
        (
            r["set"],
            r["sampler"],
            r["estimator"],
            r["variant"],
            r["seed"],
            r["density"],
            r["date"],
            r["occurrences"],
        ): r
        for summary in summaries.values()
        for r in summary.results
    }
    results = list(trainings.values())

    def all_of(name: str) -> str:
        return ", ".join(sorted({str(result[name]) for result in results}))

    dates = sorted(result["date"] for result in results)
    reduced = any(result["quick"] for result in results)
    return (
        f"{len(results)} results, from {dates[0]} to {dates[-1]}, on {all_of('device')}, of commit {all_of('commit')};"
        f" {sum(result['seconds'] for result in results):,.0f} seconds of all jobs together. Made by"
        " `experiments/accuracy/run.py` and `tables.py`; ± is the standard deviation over seeds."
        + (" Some are of the reduced matrix, and say nothing about accuracy." if reduced else "")
    )


def page(settings: Settings, summaries: Summaries, paper: Paper) -> str:
    """results.md"""
    lines = [
        "# Accuracy of the estimators",
        "",
        f"{provenance(summaries)} [Ablations](ablations.md).",
        "",
        *goals(settings, summaries),
        "![accuracy](accuracy.png)",
        "",
        *reproduction(settings, summaries, paper),
        *estimators_of_sets(settings, summaries, paper),
        "The DARTS set is our own draw of 10,000 architectures, as the paper's is unknown, and zoo stands in place of"
        " Younger: there the figures compare in kind, not in number.",
    ]
    return "\n".join(lines) + "\n"


def ablations_page(settings: Settings, summaries: Summaries, made: list[Grid]) -> str:
    """ablations.md"""
    lines = ["# Ablations", "", provenance(summaries), "", *ablations(settings, made, "")]
    return "\n".join(lines)


def experiments_part(settings: Settings, summaries: Summaries, paper: Paper, made: list[Grid]) -> str:
    """What stands in experiments/README.md: the tables, without the costs of every estimator."""
    lines = [
        *goals(settings, of_tables(summaries)),
        "![accuracy](accuracy/results/accuracy.png)",
        "",
        *reproduction(settings, of_tables(summaries), paper),
        "## Ablations",
        "",
        *ablations(settings, made, "accuracy/results/"),
    ]
    return "\n".join("#" + line if line.startswith("##") else line for line in lines).rstrip()


def readme_table(settings: Settings, summaries: Summaries) -> str:
    """The short table for the front page."""
    columns = {
        "sampling only": ("frequency", "default", "default"),
        "DisCo-E, as in the paper": ("disco", "paper", "paper"),
        "DisCo-E, as we score": ("disco", "paper", "default"),
    }
    rows = []
    for name, k in pairs(settings, summaries):
        facts = settings["sets"][name]
        keys = [Key(name, k, "rand-esu", *column) for column in columns.values()]
        keys += [
            sample_alone(settings, name, k),
            Key(name, k, "rand-esu", "autoregressive", "default", "default"),
        ]
        ours = [both(means(summaries.get(key))) for key in keys]
        ceiling = both(means(summaries.get(Key(name, k, "rand-esu", "ceiling", "default", "default"))))
        rows.append([facts["title"], str(k), both(best_of_paper(facts["paper"], k)), *ours, ceiling])
    learned = [AUTOREGRESSIVE["sample-only"], AUTOREGRESSIVE["default"]]
    return "\n".join(table(["set", "k", "paper, best", *columns, *learned, "ceiling"], rows)[:-1])


def write_page(path: Path, content: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(content, encoding="utf-8")


def write_between_marks(path: Path, content: str) -> None:
    """Put what is generated between its two marks."""
    text = path.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise InputError(f"{path} has no lines {BEGIN} and {END}; add them where the table should stand.")
    write_page(path, f"{head}{BEGIN}\n{content}\n{END}{tail}")


def write_csv(settings: Settings, summaries: Summaries, paper: Paper, path: Path) -> None:
    with whole_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        head = [*Key._fields, "seeds"]
        for measure in MEASURES:
            head += [measure, f"{measure}_deviation", f"{measure}_paper", f"{measure}_goal"]
        costs = ["types", "scored", "evaluations_per_pattern", "steps", "fit_seconds", "score_seconds"]
        writer.writerow([*head, *costs])
        for key, summary in summaries.items():
            facts = settings["sets"][key.set]
            row: list[Any] = [*key, len(summary.results)]
            for measure, goal in zip(MEASURES, facts["goal"].get(str(key.k), ("", "")), strict=True):
                theirs = paper.get((facts["paper"], key.k, key.sampler, key.estimator), {}).get(measure)
                row += [*map(rounded, summary.figure(measure)), theirs[0] if theirs else "", goal]
            writer.writerow([*row, *(rounded(summary.mean(name)) for name in costs)])


def is_quick(results: Iterable[Result]) -> bool:
    """Whether the settings of the reduced matrix are those of the results."""
    return any(result["quick"] for result in results)


def rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 5)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("more", type=Path, nargs="*", help="files of results (.jsonl) to take in")
    parser.add_argument("--out", type=Path, help="the folder of the results (experiments/accuracy/results)")
    parser.add_argument(
        "--readme", type=Path, help="the page whose table is renewed (docs/reproducing.md without --out)"
    )
    parser.add_argument(
        "--experiments", type=Path, help="likewise the page with all tables (experiments/README.md)"
    )
    arguments = parser.parse_args()
    out = arguments.out or HERE / "results"
    readme = arguments.readme or (FRONT if arguments.out is None else None)
    experiments = arguments.experiments or (EXPERIMENTS if arguments.out is None else None)
    try:
        results = read_results(out, *arguments.more)
        if not results:
            raise InputError(f"{out} holds no results; make some with run.py --out {out}.")
        write_lines(results.values(), out / LINES)
        for taken in read_results(*arguments.more).values():
            write_result(taken, out)  # its own file, which counts more than the lines
        settings, paper, everything = (
            read_settings(quick=is_quick(results.values())),
            read_paper(),
            summarise(results.values()),
        )
        summaries, made = of_tables(everything), grids(settings, everything, paper)
        write_csv(settings, everything, paper, out / "results.csv")
        draw_accuracy(settings, summaries, out / "accuracy.png")
        for one in made:
            draw_grid(settings, one, out / f"{one.name}.png")
        write_page(out / "results.md", page(settings, summaries, paper))
        write_page(out / "ablations.md", ablations_page(settings, everything, made))
        if readme is not None:
            write_between_marks(readme, readme_table(settings, summaries))
        if experiments is not None:
            write_between_marks(experiments, experiments_part(settings, everything, paper, made))
    except InputError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()

"""Tables and figures of the accuracy experiment, from the results of run.py and the paper's figures in paper.toml.

    python experiments/accuracy/tables.py                       # results/ and the table in README.md
    python experiments/accuracy/tables.py more.jsonl            # takes in results of another machine first
    python experiments/accuracy/tables.py --out /tmp/quick      # another folder of results; README.md stays as it is

Writes results.csv, results.md, accuracy.png, accuracy.svg and, where there are samples of other methods, samplers.png
and samplers.svg. No figure in them is typed.
"""

import argparse
import csv
from pathlib import Path
from typing import Any

from cells import HERE, LINES, Settings, read_results, read_settings, write_lines
from figures import draw_accuracy, draw_samplers
from summary import (
    MEASURES,
    SAMPLERS,
    TITLES,
    Figure,
    Paper,
    Summaries,
    Summary,
    best_of_paper,
    label,
    pairs,
    read_paper,
    summarise,
)

from grade.errors import InputError
from grade.files import whole_file

README = HERE.parents[1] / "README.md"
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
    if summary is None:
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
        ours = means(summaries.get((name, k, "rand-esu", "autoregressive", "default")))
        top = summaries.get((name, k, "rand-esu", "ceiling", "default"))
        rows.append(
            [
                facts["title"],
                str(k),
                both(means(summaries.get((name, k, "rand-esu", "frequency", "default")))),
                both(paper),
                both(ours),
                f"{goal['spearman']:.2f} / {goal['kendall']:.2f}",
                verdict(ours, paper, goal),
                both(means(top)),
                both(means(top, "ties_")),
            ]
        )
    head = ["set", "k", "sampling only", "paper, best", "autoregressive, default", "goal", "reached"]
    return [
        "## Against the paper and the goal",
        "",
        "Spearman's rho / Kendall's tau-b, means over seeds, Rand-ESU samples at density 0.1. 'Paper, best' is the"
        " highest value anywhere in its tables for that set and size.",
        "",
        *table([*head, "ceiling, instances", "ceiling, ties"], rows),
        "**Ceilings.** 'Instances': the counts of the census against a multinomial draw from their own distribution,"
        " of as many instances as the set has. This is how far one set of this size determines the ranking at all,"
        " were its instances independent; an estimator can be above it where they are not, as in sets that"
        " enumerate a whole space. 'Ties': the counts against themselves with equal counts in random order, which is"
        " what scores in perfect order reach when no two are equal. Only scores that are exactly equal where the"
        " counts are can be above that.",
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
        for (its_set, size, sampler, estimator, variant), summary in summaries.items():
            if (its_set, size) != (name, k) or estimator == "ceiling":
                continue
            theirs = paper.get((facts["paper"], k, sampler, estimator), {})
            cells = [label(estimator, variant), SAMPLERS[sampler]]
            cells += [f"{show(summary.figure(m))} ({show(theirs.get(m))})" for m in MEASURES]
            cells += [str(len(summary.results)), number(summary.mean("scored"))]
            cells += [number(summary.mean("evaluations_per_pattern")), number(summary.mean("steps"))]
            rows.append([*cells, number(summary.mean("fit_seconds")), number(summary.mean("score_seconds"))])
        if rows:
            lines += [f"### {facts['title']}, k = {k}", "", *table(head, rows)]
    return [
        *lines,
        "Evaluations: of a network, per pattern. Seconds are of one of several jobs that shared the machine. Where"
        " fewer types were scored than the set has, they are a random subset.",
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
    rows = []
    for name, k in pairs(settings, summaries):
        for estimator in ("disco", "defog", "digress", "graphvae"):
            summary = summaries.get((name, k, "rand-esu", estimator, "paper"))
            theirs = paper.get((settings["sets"][name]["paper"], k, "rand-esu", estimator))
            if summary is None or theirs is None:
                continue
            ours, figures = summary.figure("spearman")[0], [settings["sets"][name]["title"], str(k)]
            figures += [TITLES[estimator], show(summary.figure("spearman")), show(theirs["spearman"])]
            rows.append([*figures, f"{ours - theirs['spearman'][0]:+.3f}"])
    if not rows:
        return []
    head = ["set", "k", "estimator", "rho, ours", "rho, paper", "difference"]
    return ["## As in the paper, against the paper", "", *table(head, rows)]


def orbit(settings: Settings, summaries: Summaries) -> list[str]:
    rows = []
    for (name, k, sampler, estimator, variant), summary in summaries.items():
        if "spearman_with_orbit" not in summary.results[0] or sampler != "rand-esu":
            continue
        cells = [settings["sets"][name]["title"], str(k), label(estimator, variant)]
        without, corrected = (
            {m: summary.figure(f"{m}_{word}_orbit")[0] for m in MEASURES} for word in ("without", "with")
        )
        difference = corrected["spearman"] - without["spearman"]
        rows.append([*cells, both(without), both(corrected), f"{difference:+.3f}"])
    if not rows:
        return []
    head = ["set", "k", "estimator", "matrix", "class", "rho gained"]
    text = "The same scores as probabilities of one matrix and, orbit-corrected, of the class (rho / tau)."
    return ["## Orbit correction", "", text, "", *table(head, rows)]


def page(settings: Settings, summaries: Summaries, paper: Paper, figures: list[str]) -> str:
    results = [result for summary in summaries.values() for result in summary.results]

    def all_of(name: str) -> str:
        return ", ".join(sorted({str(result[name]) for result in results}))

    dates = sorted(result["date"] for result in results)
    reduced = any(result["quick"] for result in results)
    lines = [
        "# Accuracy of the estimators",
        "",
        f"{len(results)} results, from {dates[0]} to {dates[-1]}, on {all_of('device')}, of commit {all_of('commit')};"
        f" {sum(result['seconds'] for result in results):,.0f} seconds of all jobs together. Made by"
        " `experiments/accuracy/run.py` and `tables.py`; ± is the standard deviation over seeds.",
        "",
        *(["Some are of the reduced matrix, and say nothing about accuracy.", ""] if reduced else []),
        *goals(settings, summaries),
        *(line for name in figures for line in (f"![{name.removesuffix('.png')}]({name})", "")),
        *reproduction(settings, summaries, paper),
        *orbit(settings, summaries),
        *estimators_of_sets(settings, summaries, paper),
        "The DARTS set is our own draw of 10,000 architectures, as the paper's is unknown, and zoo stands in place of"
        " Younger: there the figures compare in kind, not in number.",
    ]
    return "\n".join(lines) + "\n"


def readme_table(settings: Settings, summaries: Summaries) -> str:
    """The short table for the front page."""
    columns = {
        "sampling only": ("frequency", "default"),
        "DisCo-E, as in the paper": ("disco", "paper"),
        "DisCo-E": ("disco", "default"),
        "autoregressive": ("autoregressive", "default"),
    }
    rows = []
    for name, k in pairs(settings, summaries):
        facts = settings["sets"][name]
        ours = [both(means(summaries.get((name, k, "rand-esu", *column)))) for column in columns.values()]
        ceiling = both(means(summaries.get((name, k, "rand-esu", "ceiling", "default"))))
        rows.append([facts["title"], str(k), both(best_of_paper(facts["paper"], k)), *ours, ceiling])
    return "\n".join(table(["set", "k", "paper, best", *columns, "ceiling"], rows)[:-1])


def write_readme(path: Path, content: str) -> None:
    """Put the table between its two marks."""
    text = path.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise InputError(f"{path} has no lines {BEGIN} and {END}; add them where the table should stand.")
    with whole_file(path) as temporary:
        temporary.write_text(f"{head}{BEGIN}\n{content}\n{END}{tail}", encoding="utf-8")


def write_csv(settings: Settings, summaries: Summaries, paper: Paper, path: Path) -> None:
    with whole_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        head = ["set", "k", "sampler", "estimator", "variant", "seeds"]
        for measure in MEASURES:
            head += [measure, f"{measure}_deviation", f"{measure}_paper", f"{measure}_goal"]
        costs = ["types", "scored", "evaluations_per_pattern", "steps", "fit_seconds", "score_seconds"]
        writer.writerow([*head, *costs])
        for key, summary in summaries.items():
            name, k, sampler, estimator, _ = key
            facts = settings["sets"][name]
            row: list[Any] = [*key, len(summary.results)]
            for measure, goal in zip(MEASURES, facts["goal"][str(k)], strict=True):
                theirs = paper.get((facts["paper"], k, sampler, estimator), {}).get(measure)
                row += [*map(rounded, summary.figure(measure)), theirs[0] if theirs else "", goal]
            writer.writerow([*row, *(rounded(summary.mean(name)) for name in costs)])


def rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 5)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("more", type=Path, nargs="*", help="files of results (.jsonl) to take in")
    parser.add_argument("--out", type=Path, help="the folder of the results (experiments/accuracy/results)")
    parser.add_argument(
        "--readme", type=Path, help="the file whose table is renewed (README.md without --out)"
    )
    arguments = parser.parse_args()
    out = arguments.out or HERE / "results"
    readme = arguments.readme or (README if arguments.out is None else None)
    try:
        results = read_results(out, *arguments.more)
        if not results:
            raise InputError(f"{out} holds no results; make some with run.py --out {out}.")
        write_lines(results.values(), out / LINES)
        settings, paper, summaries = read_settings(), read_paper(), summarise(results.values())
        write_csv(settings, summaries, paper, out / "results.csv")
        draw_accuracy(settings, summaries, out / "accuracy.png")
        figures = ["accuracy.png"]
        if draw_samplers(settings, summaries, out / "samplers.png"):
            figures.append("samplers.png")
        with whole_file(out / "results.md") as temporary:
            temporary.write_text(page(settings, summaries, paper, figures), encoding="utf-8")
        if readme is not None:
            write_readme(readme, readme_table(settings, summaries))
    except InputError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()

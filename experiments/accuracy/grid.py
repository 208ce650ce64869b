"""A grid: a row for each set, size and method, a column for each choice, and what stands beside it. Tables and figures
are made of the same grids.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from cells import PARTS, Settings
from summary import SAMPLERS, TITLES, Figure, Key, Paper, Summaries, Summary, pairs

Place = tuple[str, int]  # set and size


@dataclass(frozen=True)
class Grid:
    """One ablation."""

    name: str  # of its figure's file
    title: str
    text: str
    axis: str  # what the columns are
    columns: list[str]
    rows: dict[tuple[Place, str], dict[str, Figure]]  # place and method -> column -> Spearman's rho
    number: dict[tuple[Place, str], int]  # seeds, of each row
    beside: dict[tuple[Place, str], dict[str, Figure]] = field(
        default_factory=dict
    )  # the paper's figures, likewise
    noted: str = ""  # what the notes are
    notes: dict[tuple[Place, str], str] = field(default_factory=dict)  # a last column, of text
    levels: dict[tuple[Place, str], float] = field(default_factory=dict)  # the paper's figure for a whole row


Cells = Iterable[tuple[str, str, Key]]  # method, column, and which entry


def grid(
    name: str,
    title: str,
    text: str,
    axis: str,
    settings: Settings,
    summaries: Summaries,
    cells: Callable[[Place], Cells],
) -> Grid | None:
    """The grid of what has results; None where less than two choices have.

    A row is the mean over the seeds that all its choices have; what is the same for every sample counts for all seeds.
    """
    order: dict[str, None] = {}
    found: dict[tuple[Place, str], dict[str, Summary]] = {}
    for place in pairs(settings, summaries):
        for method, column, key in cells(place):
            if key in summaries:
                order[column] = None
                found.setdefault((place, method), {})[column] = summaries[key]
    rows, seeds = {}, {}
    for row, choices in found.items():
        if len(choices) > 1:
            drawn = {
                c: choice for c, choice in choices.items() if choice.results[0]["estimator"] not in PARTS
            }
            of_choices = [{r["seed"] for r in choice.results} for choice in (drawn or choices).values()]
            common = set.intersection(*of_choices)
            seeds[row] = len(common)
            rows[row] = {
                column: Summary(
                    [r for r in choice.results if column not in drawn or r["seed"] in common]
                ).figure("spearman")
                for column, choice in choices.items()
                if common
            }
    columns = [column for column in order if any(column in choices for choices in rows.values())]
    return Grid(name, title, text, axis, columns, rows, seeds) if rows else None


def with_paper(one: Grid, settings: Settings, paper: Paper) -> Grid:
    """The grid of the sampling methods with the paper's figures, which are of its own way to score."""
    estimators, samplers = ({title: name for name, title in t.items()} for t in (TITLES, SAMPLERS))
    beside: dict[tuple[Place, str], dict[str, Figure]] = {}
    for (name, k), method in one.rows:
        for column in one.columns:
            key = (
                settings["sets"][name]["paper"],
                k,
                samplers[column],
                estimators.get(method.partition(", ")[0], method),
            )
            if key in paper:
                beside.setdefault(((name, k), method), {})[column] = paper[key]["spearman"]
    return replace(one, beside=beside)


def with_weights(one: Grid, summaries: Summaries) -> Grid:
    """The grid of the counts of parts with the weights that the fits gave them: means over all seeds."""
    notes = {}
    for place, method in one.rows:
        summary = summaries.get(Key(*place, "rand-esu", "autoregressive", "default", "default"))
        results = [] if summary is None else summary.results
        # Earlier versions left the model's score as it is where too few classes could be held out.
        alone = {"weights": [1.0, 0.0, 0.0]}
        fits = [r["calibration"].get(str(place[1]), alone)["weights"] for r in results]
        if fits:
            notes[place, method] = ", ".join(f"{sum(w) / len(w):.2f}" for w in zip(*fits, strict=True))
    return replace(one, noted="weights of model, joined, rarest", notes=notes)


def with_papers_figure(one: Grid, settings: Settings, paper: Paper) -> Grid:
    """The grid of what the paper leaves open with the paper's own figure."""
    levels, estimators = {}, {title: name for name, title in TITLES.items()}
    for (name, k), method in one.rows:
        estimator = estimators[method.partition(", ")[0]]
        known = paper.get((settings["sets"][name]["paper"], k, "rand-esu", estimator))
        if known is not None:
            levels[(name, k), method] = known["spearman"][0]
    notes = {row: f"{level:.3f}" for row, level in levels.items()}
    return replace(one, noted="paper", notes=notes, levels=levels)

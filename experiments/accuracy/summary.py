"""Results of all seeds together, and the paper's figures beside them."""

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from cells import DENSITY, ESTIMATORS, HERE, Result, Settings

SAMPLERS = {"rand-esu": "Rand-ESU", "nrs": "NRS", "ars": "ARS", "rand-fase": "Rand-FaSE"}
TITLES = {
    "frequency": "sampling only",
    "joined": "counts of parts alone, joined",
    "rarest": "counts of parts alone, rarest",
    "graphvae": "GraphVAE",
    "digress": "DiGress-E",
    "defog": "DeFoG-E",
    "disco": "DisCo-E",
    "autoregressive": "autoregressive",
}
SCORINGS = {  # how a training is scored, in tables
    "paper": "as in the paper",
    "paper-orbit": "as in the paper, orbit correction",
    "default": "as we recommend",
    "default-no-orbit": "as we recommend, no orbit correction",
}
AUTOREGRESSIVE = {  # likewise those of the autoregressive estimator
    "sample-only": "autoregressive, sample alone",
    "default": "autoregressive + counts of parts (default)",
    "default-no-orbit": "autoregressive, sample alone, no orbit correction",
}
INTERCHANGED = {  # of the default training, where types are interchangeable
    "sample-only": "autoregressive, interchangeable types, parts not weighed",
    "default-no-orbit": "autoregressive, interchangeable types, parts not weighed, no orbit correction",
}
ABOUT_PARTS = (
    "'+ counts of parts' uses more than the sample, and more than the paper's estimators do: the exact counts of all"
    " connected subgraphs of at most 3 nodes (4 for k = 5) and of their neighbours, which take seconds to count. They"
    " also tell which node types are interchangeable (all operations of NAS-Bench-101, 201 and DARTS, two groups in"
    " NLP, none in zoo), so that their patterns are learned as one."
)
MEASURES = ("spearman", "kendall")

Figure = tuple[float, float | None]  # mean and standard deviation, where it is known
Paper = dict[tuple[str, int, str, str], dict[str, Figure]]  # set, k, sampler, estimator -> measure -> figure


class Key(NamedTuple):
    """An entry of the tables: a scoring of a training."""

    set: str
    k: int
    sampler: str
    estimator: str
    variant: str
    scoring: str
    density: float = DENSITY


@dataclass(frozen=True)
class Summary:
    """All seeds of one entry of the tables."""

    results: list[Result]

    def figure(self, name: str) -> Figure:
        values = [result[name] for result in self.results]
        return fmean(values), stdev(values) if len(values) > 1 else None

    def mean(self, name: str) -> float | None:
        values = [result[name] for result in self.results if result.get(name) is not None]
        return fmean(values) if values else None


Summaries = dict[Key, Summary]


def flat(results: Iterable[Result]) -> Iterator[Result]:
    """One result per scoring: what was measured beside what is common to the training.

    Scores after some of the rounds are scorings of their own, named NAME/ROUNDS.
    """
    for result in results:
        common = {name: value for name, value in result.items() if name != "scorings"}
        for name, entry in result["scorings"].items():
            k = entry.get("k", result["k"])
            row = {**common, **entry, "k": k, "scoring": name.removesuffix(f"-{k}")}
            yield row
            for rounds, values in entry.get("by_rounds", {}).items():
                yield {**row, **values, "scoring": f"{row['scoring']}/{rounds}"}


def summarise(results: Iterable[Result]) -> Summaries:
    """The results of all seeds together, in the order of the tables."""
    groups: defaultdict[Key, list[Result]] = defaultdict(list)
    for row in flat(results):
        groups[Key(*(row[name] for name in Key._fields))].append(row)
    samplers, estimators, scorings = list(SAMPLERS), list(ESTIMATORS), list(SCORINGS | AUTOREGRESSIVE)

    def place(key: Key) -> tuple[Any, ...]:
        scoring = scorings.index(key.scoring) if key.scoring in scorings else len(scorings)
        order = samplers.index(key.sampler), estimators.index(key.estimator)
        return key.set, key.k, key.density, *order, key.variant, scoring, key.scoring

    return {key: Summary(groups[key]) for key in sorted(groups, key=place)}


def of_tables(summaries: Summaries) -> Summaries:
    """Without the ablations."""
    return {
        key: summary
        for key, summary in summaries.items()
        if key.density == DENSITY
        and (
            (key.variant in ("paper", "default") and key.scoring in SCORINGS | AUTOREGRESSIVE)
            or (key.variant == "no-interchange" and key.scoring in INTERCHANGED)
        )
    }


def read_paper(path: Path = HERE / "paper.toml") -> Paper:
    """The paper's figures by the paper's set names: the main table's where it has one, else the appendix's."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    paper: Paper = {}
    for table in ("appendix", "main"):
        for name, sizes in tables[table].items():
            for k, estimators in sizes.items():
                for estimator, samplers in estimators.items():
                    for sampler, values in samplers.items():
                        rho, rho_deviation, tau, tau_deviation = (
                            values if table == "main" else (values[0], None, values[1], None)
                        )
                        paper[name, int(k), sampler, estimator] = {
                            "spearman": (rho, rho_deviation),
                            "kendall": (tau, tau_deviation),
                        }
    return paper


def best_of_paper(name: str, k: int, path: Path = HERE / "paper.toml") -> dict[str, float]:
    """The highest figures for a set and size anywhere in the paper's tables."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    places = {"main": (0, 2), "appendix": (0, 1)}
    values = [
        tuple(row[place] for place in places[table])
        for table in places
        for samplers in tables[table].get(name, {}).get(str(k), {}).values()
        for row in samplers.values()
    ]
    return {"spearman": max(v[0] for v in values), "kendall": max(v[1] for v in values)}


def sample_alone(
    settings: Settings, name: str, k: int, sampler: str = "rand-esu", density: float = DENSITY
) -> Key:
    """The entry of the autoregressive estimator that uses nothing but the sample."""
    variant = "no-interchange" if settings["sets"][name].get("interchange", True) else "default"
    return Key(name, k, sampler, "autoregressive", variant, "sample-only", density)


def label(key: Key, settings: Settings) -> str:
    """What is shown for the estimator and its scoring; one that has a single way needs no more than its name."""
    if key.estimator == "autoregressive":
        uses_types = key.variant == "default" and settings["sets"][key.set].get("interchange", True)
        return (AUTOREGRESSIVE | (INTERCHANGED if uses_types else {}))[key.scoring]
    plain = key.variant == "default" and key.scoring == "default"
    return TITLES[key.estimator] + ("" if plain else f", {SCORINGS[key.scoring]}")


def pairs(settings: Settings, summaries: Summaries) -> list[tuple[str, int]]:
    """Sets and sizes that have results, in the order of the settings."""
    present = {(key.set, key.k) for key in summaries}
    return [(name, k) for name in settings["sets"] for k in (4, 5) if (name, k) in present]

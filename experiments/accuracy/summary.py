"""Results of all seeds together, and the paper's figures beside them."""

import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from cells import ESTIMATORS, HERE, Result, Settings

SAMPLERS = {"rand-esu": "Rand-ESU", "nrs": "NRS", "ars": "ARS", "rand-fase": "Rand-FaSE"}
TITLES = {
    "frequency": "sampling only",
    "graphvae": "GraphVAE",
    "digress": "DiGress-E",
    "defog": "DeFoG-E",
    "disco": "DisCo-E",
    "autoregressive": "autoregressive",
}
VARIANTS = {"paper": ", as in the paper", "default": ""}
MEASURES = ("spearman", "kendall")

Key = tuple[str, int, str, str, str]  # set, k, sampler, estimator, variant
Figure = tuple[float, float | None]  # mean and standard deviation, where it is known
Paper = dict[tuple[str, int, str, str], dict[str, Figure]]  # set, k, sampler, estimator -> measure -> figure


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


def summarise(results: Iterable[Result]) -> Summaries:
    """The results of all seeds together, in the order of the tables."""
    groups: defaultdict[Key, list[Result]] = defaultdict(list)
    for r in results:
        groups[r["set"], r["k"], r["sampler"], r["estimator"], r["variant"]].append(r)
    samplers, estimators, variants = list(SAMPLERS), list(ESTIMATORS), list(VARIANTS)

    def place(key: Key) -> tuple[Any, ...]:
        name, k, sampler, estimator, variant = key
        return name, k, samplers.index(sampler), estimators.index(estimator), variants.index(variant)

    return {key: Summary(groups[key]) for key in sorted(groups, key=place)}


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


def label(estimator: str, variant: str) -> str:
    return TITLES[estimator] + VARIANTS[variant]


def pairs(settings: Settings, summaries: Summaries) -> list[tuple[str, int]]:
    """Sets and sizes that have results, in the order of the settings."""
    present = {(key[0], key[1]) for key in summaries}
    return [(name, k) for name in settings["sets"] for k in (4, 5) if (name, k) in present]

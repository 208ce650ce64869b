"""The cells of the accuracy tables: which there are, in what order, where their inputs lie and how results are kept.

A cell is one training: an estimator in one variant (a preset with changes), fitted to one sample. It is scored in one
way or several, and every scoring is compared with a census. Which cells and scorings there are, settings.toml says for
the tables and ablations.toml for the ablations. Inputs are a folder of

    SET-K.npz                              the census
    SET-K[-SAMPLER][-dDENSITY]-sSEED       the sample; no sampler means Rand-ESU, no density that of the settings

Results are one JSON file per cell in `FOLDER/cells`, and all of them in `FOLDER/cells.jsonl`.
"""

import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from grade.errors import InputError
from grade.files import whole_file

HERE = Path(__file__).parent
LINES = "cells.jsonl"
FIELDS = ("set", "k", "sampler", "estimator", "variant", "seed", "density")
PARTS = (
    "joined",
    "rarest",
)  # the counts of parts alone: the same whatever the sample, so one seed stands for all
PLAIN = ("ceiling", "frequency", *PARTS)  # nothing is trained, so there is one variant and one scoring
ESTIMATORS = (*PLAIN, "graphvae", "digress", "defog", "disco", "autoregressive")
DENSITY = 0.1  # of the tables

Settings = dict[str, Any]
Result = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One training, for one seed (of the sample and of the estimator alike)."""

    set: str
    k: int
    sampler: str
    estimator: str
    variant: str
    seed: int
    density: float = DENSITY

    @property
    def name(self) -> str:
        """
        >>> Cell("zoo", 4, "nrs", "disco", "paper", 1).name
        'zoo-4-nrs-disco-paper-s1'
        """
        density = "" if self.density == DENSITY else f"-d{self.density:g}"
        return f"{self.set}-{self.k}-{self.sampler}-{self.estimator}-{self.variant}{density}-s{self.seed}"

    @classmethod
    def of(cls, result: Result) -> "Cell":
        return cls(*(result[field] for field in FIELDS))


Plan = dict[Cell, list[str]]
"""Cells in the order of their value, each with the names of its scorings."""


# Settings.


def read_settings(folder: Path = HERE, quick: bool = False) -> Settings:
    """Both settings files as one; those of the reduced matrix take the place of the full ones.

    ``groups`` has the groups of settings.toml, then those of ablations.toml, which are marked.
    """
    settings: Settings = {"variants": {}, "scorings": {}, "groups": []}
    for name in ("settings.toml", "ablations.toml"):
        part = tomllib.loads((folder / name).read_text(encoding="utf-8"))
        reduced = part.pop("quick")
        if quick:
            tables = {key: {**part.get(key, {}), **reduced.pop(key, {})} for key in ("variants", "scorings")}
            part = {**part, **reduced, **tables}
        groups = [{**group, "ablation": name == "ablations.toml"} for group in part.pop("groups")]
        tables = {key: {**settings[key], **part.pop(key)} for key in ("variants", "scorings")}
        settings = {**settings, **part, **tables, "groups": settings["groups"] + groups}
    return settings


def changes(settings: Settings, table: str, name: str) -> dict[str, Any]:
    """A variant or scoring with what it takes over from its base.

    >>> changes({"variants": {"a": {"layers": 1, "width": 2}, "b": {"base": "a", "width": 3}}}, "variants", "b")
    {'layers': 1, 'width': 3}
    """
    if name not in settings[table]:
        raise InputError(f"The settings have no {name!r} in [{table}]; add it, or correct the name.")
    own = dict(settings[table][name])
    base = own.pop("base", None)
    return own if base is None else {**changes(settings, table, base), **own}


def members(settings: Settings, group: Settings) -> Iterator[Cell]:
    """The cells of one group."""
    axes = {
        "seeds": settings["seeds"],
        "densities": [DENSITY],
        "sizes": sorted(settings["sizes"], reverse=True),
        "estimators": list(ESTIMATORS),
        "variants": ["default"],
        "samplers": settings["samplers"],
        "sets": list(settings["sets"]),
    } | group
    order = ("seeds", "densities", "sizes", "estimators", "variants", "samplers", "sets")
    for seed, density, k, estimator, variant, sampler, name in product(*(axes[axis] for axis in order)):
        if variant == "default" or estimator not in PLAIN:
            yield Cell(name, k, sampler, estimator, variant, seed, density)


def matrix(settings: Settings, groups: Sequence[str] | None = None) -> Plan:
    """The cells of all groups, or of some, most valuable first. A cell of several groups has the scorings of all."""
    names = [group["name"] for group in settings["groups"]]
    for name in groups or []:
        if name not in names:
            raise InputError(f"There is no group {name!r}; there are {', '.join(names)}.")
    everything: Plan = {}
    chosen: dict[Cell, None] = {}
    for group in settings["groups"]:
        for cell in members(settings, group):
            wanted = everything.setdefault(cell, [])
            always = ["default"] if cell.estimator in PLAIN else scorings_of(settings, cell.variant)
            wanted += [name for name in [*always, *group.get("scorings", [])] if name not in wanted]
            if groups is None or group["name"] in groups:
                chosen[cell] = None
    return {cell: everything[cell] for cell in chosen}


def scorings_of(settings: Settings, variant: str) -> list[str]:
    names: list[str] = changes(settings, "variants", variant)["scorings"]
    return names


def rank_of_groups(settings: Settings, groups: Sequence[str] | None = None) -> dict[Cell, int]:
    """The first of the groups that each cell is in, counted from 0 in the order given or else of the settings."""
    ranks: dict[Cell, int] = {}
    known = {group["name"]: group for group in settings["groups"]}
    for rank, name in enumerate(known if groups is None else groups):
        for cell in members(settings, known[name]):
            ranks.setdefault(cell, rank)
    return ranks


def select(plan: Plan, only: Iterable[str]) -> Plan:
    """The cells that pass all filters FIELD=VALUE[,VALUE...].

    >>> plan = {Cell("zoo", k, "nrs", "disco", "paper", 0): ["paper"] for k in (4, 5)}
    >>> [cell.k for cell in select(plan, ["k=5,6", "set=zoo"])]
    [5]
    """
    filters: list[tuple[str, list[str]]] = []
    for text in only:
        field, equals, values = text.partition("=")
        if not equals or field not in FIELDS:
            raise InputError(f"--only {text!r} is not FIELD=VALUE with a field of {', '.join(FIELDS)}.")
        filters.append((field, values.split(",")))
    return {
        cell: names
        for cell, names in plan.items()
        if all(str(getattr(cell, field)) in values for field, values in filters)
    }


# Inputs.


def sizes_of(settings: Settings, cell: Cell) -> list[int]:
    """The sizes that the cell's training sees; the cell's k is the largest of them."""
    if cell.estimator in PLAIN:
        return [cell.k]
    return sorted(changes(settings, "variants", cell.variant).get("together", [cell.k]))


def census_path(inputs: Path, cell: Cell, k: int) -> Path:
    return inputs / f"{cell.set}-{k}.npz"


def sample_path(inputs: Path, cell: Cell, k: int) -> Path:
    """
    >>> sample_path(Path("in"), Cell("zoo", 5, "rand-esu", "disco", "paper", 1, 0.2), 4).name
    'zoo-4-d0.2-s1'
    """
    method = "" if cell.sampler == "rand-esu" else f"-{cell.sampler}"
    density = "" if cell.density == DENSITY else f"-d{cell.density:g}"
    return inputs / f"{cell.set}-{k}{method}{density}-s{cell.seed}"


def inputs_of(inputs: Path, settings: Settings, cell: Cell) -> list[Path]:
    return [find(inputs, cell, k) for k in sizes_of(settings, cell) for find in (census_path, sample_path)]


# Results.


def read_results(*places: Path) -> dict[Cell, Result]:
    """What result folders and .jsonl files hold; of two results of one cell, the later place's (see `renewed`)."""
    results: dict[Cell, Result] = {}
    for place in places:
        files = [place] if place.suffix == ".jsonl" else [place / LINES, *sorted(place.glob("cells/*.json"))]
        if place.suffix == ".jsonl" and not place.is_file():
            raise InputError(f"There is no file {place}; run.py writes one with --out or --lines.")
        for file in files:
            for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else []:
                try:
                    result = json.loads(line)
                    cell = Cell.of(result)
                    results[cell] = renewed(
                        results.get(cell), {**result, "scorings": dict(result["scorings"])}
                    )
                except (ValueError, KeyError, TypeError):
                    raise InputError(f"{file} is damaged; remove it, and run its cells again.") from None
    return results


def renewed(earlier: Result | None, later: Result) -> Result:
    """A result that takes the place of an earlier one of its cell. Scorings that only the earlier training had are
    kept, each with what was different about that training (commit, date, settings ...).

    >>> old = {"commit": "a", "scorings": {"paper": {"spearman": 0.8}, "default": {"spearman": 0.9}}}
    >>> renewed(old, {"commit": "b", "scorings": {"paper": {"spearman": 0.7}}})["scorings"]
    {'default': {'commit': 'a', 'spearman': 0.9}, 'paper': {'spearman': 0.7}}
    """
    if earlier is None:
        return later
    other = {
        name: value for name, value in earlier.items() if name != "scorings" and value != later.get(name)
    }
    missing = {name: entry for name, entry in earlier["scorings"].items() if name not in later["scorings"]}
    kept = {name: other | entry for name, entry in missing.items()}
    return {**later, "scorings": kept | later["scorings"]}


def is_done(wanted: Sequence[str], result: Result | None) -> bool:
    """Whether a result has all scorings that are wanted; those of several sizes are named NAME-K."""
    if result is None:
        return False
    found = result["scorings"].items()
    return all(any(key in (name, f"{name}-{entry.get('k')}") for key, entry in found) for name in wanted)


def write_result(result: Result, folder: Path) -> None:
    """One cell's file."""
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    with whole_file(folder / "cells" / f"{Cell.of(result).name}.json") as temporary:
        temporary.write_text(json.dumps(result) + "\n", encoding="utf-8")


def write_lines(results: Iterable[Result], path: Path) -> None:
    """All results in one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted(results, key=lambda result: tuple(asdict(Cell.of(result)).values()))
    with whole_file(path) as temporary:
        temporary.write_text("".join(json.dumps(result) + "\n" for result in ordered), encoding="utf-8")

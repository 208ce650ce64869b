"""The cells of the accuracy tables: which there are, in what order, where their inputs lie and how results are kept.

A cell is one estimator, in one variant, fitted to one sample and compared with one census. Inputs are a folder of

    SET-K.npz                   the census
    SET-K-sSEED                 the Rand-ESU sample of that seed, at the density of the settings
    SET-K-SAMPLER-sSEED         samples of the other methods

Results are one JSON file per cell in `FOLDER/cells`, and all of them in `FOLDER/cells.jsonl`.
"""

import json
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from grade.errors import InputError
from grade.files import whole_file

HERE = Path(__file__).parent
LINES = "cells.jsonl"
FIELDS = ("set", "k", "sampler", "estimator", "variant", "seed")
ESTIMATORS = ("ceiling", "frequency", "graphvae", "digress", "defog", "disco", "autoregressive")
PLAIN = ("ceiling", "frequency")  # nothing is trained, so there is one variant

Settings = dict[str, Any]
Result = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One entry of the tables, for one seed (of the sample and of the estimator alike)."""

    set: str
    k: int
    sampler: str
    estimator: str
    variant: str
    seed: int

    @property
    def name(self) -> str:
        """
        >>> Cell("zoo", 4, "nrs", "disco", "paper", 1).name
        'zoo-4-nrs-disco-paper-s1'
        """
        return f"{self.set}-{self.k}-{self.sampler}-{self.estimator}-{self.variant}-s{self.seed}"

    @classmethod
    def of(cls, result: Result) -> "Cell":
        return cls(*(result[field] for field in FIELDS))


def read_settings(path: Path = HERE / "settings.toml", quick: bool = False) -> Settings:
    """The settings; those of the reduced matrix take the place of the full ones."""
    settings = tomllib.loads(path.read_text(encoding="utf-8"))
    reduced = settings.pop("quick")
    return {**settings, **reduced} if quick else settings


def census_path(inputs: Path, cell: Cell) -> Path:
    return inputs / f"{cell.set}-{cell.k}.npz"


def sample_path(inputs: Path, cell: Cell) -> Path:
    method = "" if cell.sampler == "rand-esu" else f"-{cell.sampler}"
    return inputs / f"{cell.set}-{cell.k}{method}-s{cell.seed}"


def matrix(settings: Settings) -> list[Cell]:
    """All cells in the order of their value: group by group, seed by seed; inside, the longest first."""
    cells: dict[Cell, None] = {}
    for group in settings["groups"]:
        axes = {
            "seeds": settings["seeds"],
            "sizes": sorted(settings["sizes"], reverse=True),
            "sets": list(settings["sets"]),
            "samplers": settings["samplers"],
            "estimators": list(ESTIMATORS),
            "variants": list(settings["variants"]),
        } | group
        order = ("seeds", "sizes", "estimators", "variants", "samplers", "sets")
        for seed, k, estimator, variant, sampler, name in product(*(axes[axis] for axis in order)):
            if variant == "default" or estimator not in PLAIN:
                cells[Cell(name, k, sampler, estimator, variant, seed)] = None
    return list(cells)


def select(cells: Iterable[Cell], only: Iterable[str]) -> Iterator[Cell]:
    """The cells that pass all filters FIELD=VALUE[,VALUE...].

    >>> cells = [Cell("zoo", k, "nrs", "disco", "paper", 0) for k in (4, 5)]
    >>> [cell.k for cell in select(cells, ["k=5,6", "set=zoo"])]
    [5]
    """
    filters: list[tuple[str, list[str]]] = []
    for text in only:
        field, equals, values = text.partition("=")
        if not equals or field not in FIELDS:
            raise InputError(f"--only {text!r} is not FIELD=VALUE with a field of {', '.join(FIELDS)}.")
        filters.append((field, values.split(",")))
    for cell in cells:
        if all(str(getattr(cell, field)) in values for field, values in filters):
            yield cell


def read_results(*places: Path) -> dict[Cell, Result]:
    """What result folders and .jsonl files hold; of two results of one cell, the later place's."""
    results: dict[Cell, Result] = {}
    for place in places:
        files = [place] if place.suffix == ".jsonl" else [place / LINES, *sorted(place.glob("cells/*.json"))]
        if place.suffix == ".jsonl" and not place.is_file():
            raise InputError(f"There is no file {place}; run.py writes one with --out or --lines.")
        for file in files:
            for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else []:
                try:
                    result = json.loads(line)
                    results[Cell.of(result)] = result
                except (ValueError, KeyError, TypeError):
                    raise InputError(f"{file} is damaged; remove it, and run its cells again.") from None
    return results


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

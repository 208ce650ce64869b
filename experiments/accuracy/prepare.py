"""The inputs of the accuracy experiment and its ablations: censuses, and samples of every method, density and seed.

    python experiments/accuracy/prepare.py --inputs carry [--only set=zoo] [--quick]

What is there already is kept. NAS-Bench-NLP needs its recipes in the folder that GRADE_TEST_DATA names, and is left out
without them. Fitting and scoring need nothing but this folder, so they can run on a machine that has no graph sets.
"""

import argparse
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from cells import (
    FIELDS,
    Cell,
    Settings,
    census_path,
    matrix,
    read_settings,
    sample_path,
    select,
    sizes_of,
)

from grade import GraphSet
from grade.errors import InputError


@lru_cache(maxsize=1)
def open_set(source: str) -> GraphSet:
    from grade.sources import load  # here, as a machine that only fits may lack what the sources need

    return load(source)


def source_of(facts: dict[str, Any]) -> str:
    """What to load; an InputError where the set's file is not at hand."""
    if "file" not in facts:
        return str(facts["source"])
    path = Path(os.environ.get("GRADE_TEST_DATA", "")) / facts["file"]
    if not path.is_file():
        raise InputError(
            f"{facts['title']} needs {facts['file']}; name its folder by the environment variable GRADE_TEST_DATA."
        )
    return f"{facts['source']}:{path}"


def prepare(cells: Iterable[Cell], inputs: Path, settings: Settings) -> None:
    """Make what is missing for these cells."""
    from grade.graphs.sample import save_sample
    from grade.sampling import sample
    from grade.sampling.census import Census, take_census

    inputs.mkdir(parents=True, exist_ok=True)
    refused: set[str] = set()
    wanted = {(c.set, k, c.density, c.seed, c.sampler): c for c in cells for k in sizes_of(settings, c)}
    for (name, k, density, seed, sampler), cell in sorted(wanted.items()):
        census, drawn = census_path(inputs, cell, k), sample_path(inputs, cell, k)
        if name in refused or (census.exists() and drawn.exists()):
            continue
        try:
            graphs = open_set(source_of(settings["sets"][name]))
        except InputError as error:
            print(f"{name}: left out. {error}", flush=True)
            refused.add(name)
            continue
        if not census.exists():
            take_census(graphs, k).save(census)
        if not drawn.exists():
            result = sample(graphs, k, sampler, density=density, seed=seed, census=Census.load(census))
            save_sample(result, drawn)
            print(f"{drawn.name}: {result}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=Path, default=Path("carry"), help="the folder to fill (carry)")
    parser.add_argument("--quick", action="store_true", help="for the reduced matrix only")
    parser.add_argument(
        "--only", action="append", default=[], metavar="FIELD=VALUES", help=f"of {', '.join(FIELDS)}"
    )
    arguments = parser.parse_args()
    settings = read_settings(quick=arguments.quick)
    try:
        prepare(select(matrix(settings), arguments.only), arguments.inputs, settings)
    except InputError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()

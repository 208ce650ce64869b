"""Tests of the patterns of a run's set against null models, kept in the run folder for its page."""

import math
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from grade.graphs import GraphSet, PatternTable
from grade.runs import Catalogue, RunFolder
from grade.runs.folder import RUN_FILE
from grade.runs.searched import searched_set
from grade.sealed import DamagedError, load_json
from grade.significance import NullModel, Significance
from grade.significance.mixing import Mixing
from grade.significance.p_values import Scores

KEPT = 4000  # patterns of a test, the most significant first: those that a page shows
COLUMNS = ("observed", "mean", "deviation", "z", "p_over", "p_under", "p", "q")
FACTS = (
    "set",
    "k",
    "draws",
    "seed",
    "instances",
    "null_instances",
    "quality",
    "acceptance",
    "seconds",
    "threads",
)


def set_of(run: Path) -> GraphSet | None:
    """The graph set of the run in this folder; None where there is no run."""
    if not (run / RUN_FILE).is_file():
        return None
    return searched_set(Catalogue.load(RunFolder.open(run).catalogue))


def keep(run: Path, result: Significance) -> Path:
    """Write a test into the folder of the run; one with the same size and null model is replaced."""
    folder = RunFolder.open(run)
    name = f"significance/k-{result.k:02}-{result.null.name}.json"
    (run / "significance").mkdir(exist_ok=True)
    facts = result.facts()
    rows = np.sort(result.order[result.scores.tested[result.order]][:KEPT])  # in the fixed order of patterns
    folder.save_json(
        name,
        {
            **{fact: facts[fact] for fact in FACTS},
            "null": asdict(result.null),
            "mixing": [facts[part] for part in ("switches", "autocorrelation", "slowest", "mixed")],
            "codes": [result.patterns[row].code for row in rows.tolist()],
            **{
                column: [number(x) for x in getattr(result.scores, column)[rows].tolist()]
                for column in COLUMNS
            },
        },
    )
    return run / name


def kept(folder: RunFolder, catalogue: Catalogue) -> list[Significance]:
    """The tests that were kept, the smallest patterns first."""
    found = []
    for path in sorted((folder.path / "significance").glob("k-*.json")):
        try:
            data = load_json(path, folder.label(f"significance/{path.name}"))
        except DamagedError:
            warnings.warn(
                f"{path} is damaged and left out; test again with 'grade significance'.", stacklevel=2
            )
            continue
        if not data["codes"]:
            continue
        words = catalogue.node_vocabulary, catalogue.edge_vocabulary
        scores = {column: np.array([float(x) for x in data[column]]) for column in COLUMNS}
        found.append(
            Significance(
                **{fact: data[fact] for fact in FACTS},
                null=NullModel(**data["null"]),
                mixing=Mixing(*data["mixing"]),
                patterns=PatternTable.from_keys(data["codes"], *words),
                scores=Scores(**scores, tested=np.ones(len(data["codes"]), bool)),
            )
        )
    return found


def number(value: float) -> float | str:
    """A number for JSON; as text where it is infinite or none."""
    return value if math.isfinite(value) else str(value)


def scores_by_key(tests: list[Significance]) -> dict[str, list[Any]]:
    """Key -> [null model, z, q, 1 over or -1 under] of the patterns that were tested; of two tests, the later."""
    found = {}
    for test in tests:
        for row, pattern in enumerate(test.patterns):
            z, sign = float(test.scores.z[row]), 1 if test.scores.over[row] else -1
            z = max(min(z, 1e9), -1e9) if not math.isnan(z) else 0.0
            found[pattern.key] = [test.null.name, z, float(test.scores.q[row]), sign]
    return found

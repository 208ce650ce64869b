"""Files of scores."""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.estimators.protocol import Estimator
from grade.files import whole_file, writable_target
from grade.graphs import PatternTable

SUFFIXES = (".csv", ".npz")


def vocabularies_of(estimator: Estimator) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the node and the edge types that a model was fitted to; empty where it does not know them."""
    space = getattr(estimator, "space", None)
    return getattr(space, "node_vocabulary", ()), getattr(space, "edge_vocabulary", ())


def check_target(path: Path) -> None:
    """Refuse a file that scores cannot be written to; worth calling before scoring."""
    writable_target(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path} must end in {' or '.join(SUFFIXES)} to hold scores.")


def score(estimator: Estimator, patterns: PatternTable, out: Path) -> NDArray[np.float64]:
    """Write the log-probability of each pattern, in the order of the patterns, and return them."""
    check_target(out)
    scores = estimator.log_probability(patterns)
    with whole_file(out) as temporary:
        if out.suffix.lower() == ".csv":
            with temporary.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(["key", "log_probability"])
                rows = zip(patterns, scores.tolist(), strict=True)
                writer.writerows([pattern.key, repr(value)] for pattern, value in rows)
        else:
            with temporary.open("wb") as file:
                np.savez_compressed(
                    file, node_types=patterns.node_types, edges=patterns.edges, log_probability=scores
                )
    return scores

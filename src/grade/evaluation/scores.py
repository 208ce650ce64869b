"""Files of patterns to score, and files of scores."""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grade.errors import InputError
from grade.estimators.protocol import Estimator
from grade.files import whole_file, writable_target
from grade.graphs import PatternTable
from grade.graphs.sample import load_sample
from grade.sampling.census import Census

SUFFIXES = (".csv", ".npz")


def read_patterns(path: Path) -> PatternTable:
    """The patterns of a census (.npz, .parquet), of a sample's folder, or of a text file with one key per
    line.
    """
    if path.is_dir():
        return load_sample(path).patterns
    if path.suffix.lower() in (".npz", ".parquet"):
        return Census.load(path).patterns
    try:
        keys = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read; give a census (.npz, .parquet), a sample, or a text file of pattern keys."
        ) from error
    if not keys:
        raise InputError(f"{path} holds no pattern keys; write one per line, such as 0.1.1/0>1.1>2.")
    return PatternTable.from_keys(keys)


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
                writer.writerow(["key", "log_probability", "pattern"])
                rows = zip(patterns, scores.tolist(), strict=True)
                writer.writerows([pattern.key, repr(value), str(pattern)] for pattern, value in rows)
        else:
            with temporary.open("wb") as file:
                np.savez_compressed(
                    file, node_types=patterns.node_types, edges=patterns.edges, log_probability=scores
                )
    return scores

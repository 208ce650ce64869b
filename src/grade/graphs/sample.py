"""SubgraphSample: occurrences that a sampler drew, with their patterns and the settings of the draw."""

import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import frames
from grade.errors import InputError
from grade.files import whole_folder, writable_target
from grade.graphs.part_counts import PartCounts
from grade.graphs.patterns import PatternTable
from grade.reprs import shown_by
from grade.sealed import FolderKind, arrays_in, damaged_file, write_description

DESCRIPTION = "sample.json"
KIND = FolderKind(
    "sample",
    DESCRIPTION,
    "grade-sample",
    2,  # version 1 has no checksums
    "grade sample",
    "draw it again with 'grade sample'",
)
PARTS = "parts.npz"
ERRORS = "errors.npy"
DTYPES: dict[str, np.dtype[Any]] = {
    "occurrences": np.dtype(np.uint32),
    "weights": np.dtype(np.float64),
    "pattern_ids": np.dtype(np.int32),
    "node_types": np.dtype(np.uint16),
    "edges": np.dtype(np.uint8),
    "errors": np.dtype(np.float64),
}


@dataclass(frozen=True, eq=False)
class SubgraphSample:
    """A multiset of occurrences: the same node set drawn twice counts twice, as in the paper's training sets.

    ``weights`` are inverse inclusion probabilities up to a common factor; all 1 for a uniform sample.
    """

    occurrences: NDArray[np.uint32]  # [n, k] ascending global node ids
    weights: NDArray[np.float64]  # [n]
    pattern_ids: NDArray[np.int32]  # [n] rows of `patterns`
    patterns: PatternTable  # the distinct patterns of the occurrences
    drawn: dict[str, Any] = field(default_factory=dict)  # method, seed, count, density, seconds, ...
    parts: PartCounts | None = None  # exact counts of all small subgraphs of the set
    errors: NDArray[np.float64] | None = (
        None  # [patterns] bound on the relative error of their counts; infinite: none
    )

    @property
    def size(self) -> int:
        """Number of nodes of every occurrence, the paper's k."""
        return self.patterns.size

    def __len__(self) -> int:
        return len(self.occurrences)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """[patterns] how often each pattern was drawn."""
        return np.bincount(self.pattern_ids, minlength=len(self.patterns)).astype(np.int64)

    @cached_property
    def weighted_counts(self) -> NDArray[np.float64]:
        """[patterns] sum of the weights of each pattern's occurrences."""
        return np.bincount(self.pattern_ids, self.weights, len(self.patterns)).astype(np.float64, copy=False)

    def columns(self) -> dict[str, list[Any]]:
        """The drawn patterns column by column, the most frequent first."""
        order = np.argsort(-self.weighted_counts, kind="stable").tolist()
        columns = {
            "key": [self.patterns[row].key for row in order],
            "drawn": self.counts[order].tolist(),
            "weight": self.weighted_counts[order].tolist(),
        }
        return columns if self.errors is None else {**columns, "error": self.errors[order].tolist()}

    def to_pandas(self) -> Any:
        """The drawn patterns as a pandas.DataFrame, the most frequent first."""
        return frames.to_pandas(self.columns())

    _repr_html_ = shown_by("grade.report.notebook", "sample_html")

    def __repr__(self) -> str:
        how = json.dumps(self.drawn.get("method", "?"))
        what = f"{len(self):,} occurrences of {len(self.patterns):,} patterns"
        return f"SubgraphSample({what}, k={self.size}, by {how})"


def save_sample(sample: SubgraphSample, folder: str | os.PathLike[str]) -> None:
    """Write a sample to a folder, whole or not at all: arrays as .npy, all else in ``sample.json``.

    A folder that exists is replaced only when it is empty or a sample itself.

    Examples
    --------
    >>> import tempfile
    >>> table = PatternTable.canonical([[0, 1]], [[[0, 1], [0, 0]]], ["input", "conv"], ["none", "edge"])
    >>> sample = SubgraphSample(np.array([[0, 1]], np.uint32), np.ones(1), np.zeros(1, np.int32), table,
    ...                         {"method": "nrs"})
    >>> folder = Path(tempfile.mkdtemp()) / "sample"
    >>> save_sample(sample, folder)
    >>> load_sample(folder)
    SubgraphSample(1 occurrences of 1 patterns, k=2, by "nrs")
    """
    check_sample_target(folder)
    description = {
        "format": KIND.format,
        "version": KIND.version,
        "k": sample.size,
        "occurrences": len(sample),
        "patterns": len(sample.patterns),
        "node_vocabulary": list(sample.patterns.node_vocabulary),
        "edge_vocabulary": list(sample.patterns.edge_vocabulary),
        "drawn": sample.drawn,
    }
    arrays: dict[str, NDArray[Any]] = {
        "occurrences": sample.occurrences,
        "weights": sample.weights,
        "pattern_ids": sample.pattern_ids,
        "node_types": sample.patterns.node_types,
        "edges": sample.patterns.edges,
    }
    with whole_folder(folder) as temporary:
        for name, array in arrays.items():
            np.save(temporary / f"{name}.npy", array.astype(DTYPES[name], copy=False), allow_pickle=False)
        if sample.parts is not None:
            np.savez_compressed(temporary / PARTS, allow_pickle=False, **sample.parts.to_arrays())
        if sample.errors is not None:
            np.save(temporary / ERRORS, sample.errors, allow_pickle=False)
        write_description(temporary, DESCRIPTION, description)


def load_sample(folder: str | os.PathLike[str]) -> SubgraphSample:
    """Read a sample that `save_sample` wrote; a damaged or foreign folder is refused."""
    place = Path(folder)
    description = read_description(place)
    try:
        k, rows, distinct = (int(description[name]) for name in ("k", "occurrences", "patterns"))
        vocabularies = [tuple(map(str, description[f"{kind}_vocabulary"])) for kind in ("node", "edge")]
        drawn = dict(description["drawn"])
    except (KeyError, TypeError, ValueError):
        raise KIND.damaged(place, f"{DESCRIPTION} is incomplete") from None
    shapes = {
        "occurrences": (rows, k),
        "weights": (rows,),
        "pattern_ids": (rows,),
        "node_types": (distinct, k),
        "edges": (distinct, k, k),
    }
    arrays = {name: read_array(place, name, shape) for name, shape in shapes.items()}
    try:
        table = PatternTable.canonical(arrays["node_types"], arrays["edges"], *vocabularies)
    except InputError:
        raise KIND.damaged(place, "its patterns are out of range") from None
    whole = (
        np.array_equal(table.node_types, arrays["node_types"])
        and np.array_equal(table.edges, arrays["edges"])
        and len(np.unique(table.keys)) == distinct
    )
    if not whole:
        raise KIND.damaged(place, "its patterns are not distinct canonical forms")
    ids, weights = arrays["pattern_ids"], arrays["weights"]
    if rows and not (ids.min() >= 0 and ids.max() < distinct):
        raise KIND.damaged(place, "an occurrence is of no pattern")
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise KIND.damaged(place, "a weight is not a positive number")
    return SubgraphSample(
        arrays["occurrences"], weights, ids, table, drawn, read_parts(place), read_errors(place, distinct)
    )


def read_parts(folder: Path) -> PartCounts | None:
    """The counts of small subgraphs, where the sample has them."""
    if not (folder / PARTS).exists():
        return None
    try:
        with np.load(folder / PARTS, allow_pickle=False) as archive:
            parts = PartCounts.from_arrays(arrays_in(archive))
        whole = parts is not None and all(
            np.array_equal(PatternTable.canonical(table.node_types, table.edges).keys, table.keys)
            and (table.automorphisms > 0).all()
            and counts.weights[size].shape == (len(table),)
            and (counts.weights[size] > 0).all()
            for counts in (parts.counts, parts.neighbours)
            if counts is not None
            for size, table in counts.tables.items()
        )
    except Exception as error:  # errors of numpy on a damaged file
        raise KIND.damaged(folder, f"{PARTS} cannot be read") from error
    if parts is None or not whole or list(parts.counts.tables) != list(range(1, parts.size + 1)):
        raise KIND.damaged(folder, f"{PARTS} is not a list of counts")
    return parts


def read_errors(folder: Path, patterns: int) -> NDArray[np.float64] | None:
    """The bounds on the errors of the counts, where the sample has them."""
    if not (folder / ERRORS).exists():
        return None
    errors = read_array(folder, "errors", (patterns,))
    if not (errors >= 0).all():
        raise KIND.damaged(folder, "a bound on an error is not 0 or more")
    return errors


def check_sample_target(folder: str | os.PathLike[str]) -> None:
    """Refuse a place where a sample cannot be saved; worth calling before a long draw."""
    place = writable_target(folder)
    if not os.path.lexists(place) or (place.is_dir() and not any(place.iterdir())):
        return
    if not KIND.is_at(place):
        raise InputError(f"{folder} exists and is not a sample, so it is not replaced; choose another name.")


def read_description(folder: Path) -> dict[str, Any]:
    description = KIND.description(folder)
    if description["version"] > 1 and (file := damaged_file(folder, DESCRIPTION, description)):
        raise KIND.damaged(folder, f"{file} does not match its checksum")
    return description


def read_array(folder: Path, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    try:
        array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise KIND.damaged(folder, f"{path.name} is missing") from None
    except Exception:  # numpy has no class of its own for a header or a length that is wrong
        raise KIND.damaged(folder, f"{path.name} cannot be read or ends too early") from None
    if not isinstance(array, np.ndarray) or array.dtype != DTYPES[name] or array.shape != shape:
        raise KIND.damaged(folder, f"{path.name} is not a {DTYPES[name]} array of shape {list(shape)}")
    return array

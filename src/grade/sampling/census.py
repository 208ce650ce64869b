"""The exact census: every connected induced subgraph of k nodes, counted by pattern.

The work is done by ESU (Wernicke, "Efficient Detection of Network Motifs", 2006) in the native core; here are
its checks, its result and how that is kept in a file.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core, frames
from grade.engine import LOCAL, Crew, Engine, Part
from grade.errors import InputError
from grade.files import whole_file, writable_target
from grade.graphs import GraphSet, Pattern, PatternTable
from grade.graphs.patterns import MAX_SIZE
from grade.machine import available_memory, thread_count
from grade.progress import Progress
from grade.reprs import shown_by
from grade.sealed import CHECKSUM, arrays_in, digest_of_arrays, digest_of_json

FORMAT = "grade-census"
VERSION = 2  # version 1 has no checksum
SUFFIXES = (".npz", ".parquet")


@dataclass(frozen=True, eq=False)
class Census:
    """All patterns of one size in a graph set, with their exact counts."""

    set: str  # origin of the graph set
    k: int
    patterns: PatternTable  # [patterns], in the order of the native core: by node types, then edges
    counts: NDArray[np.uint64]  # [patterns]
    seconds: float
    threads: int

    @property
    def instances(self) -> int:
        """Number of connected induced k-subgraphs."""
        return sum(self.counts.tolist())  # in Python's integers: the sum may pass what one count may not

    def top(self, n: int) -> list[tuple[Pattern, int]]:
        """The n most frequent patterns with their counts; ties in the order of the patterns."""
        check_top(n)
        order = np.argsort(~self.counts, kind="stable")[:n]  # descending: ~ turns unsigned numbers round
        return [(self.patterns[i], int(self.counts[i])) for i in order.tolist()]

    def columns(self) -> dict[str, list[Any]]:
        """The census column by column, the most frequent pattern first."""
        top = self.top(len(self.patterns))
        return {
            "key": [pattern.key for pattern, _ in top],
            "count": [count for _, count in top],
        }

    def to_pandas(self) -> Any:
        """The census as a pandas.DataFrame, the most frequent pattern first."""
        return frames.to_pandas(self.columns())

    def __repr__(self) -> str:
        first = f"Census({self.instances:,} instances of {len(self.patterns):,} patterns, k={self.k})"
        return "\n".join([first, *(f"{count:>12,}  {pattern}" for pattern, count in self.top(5))])

    _repr_html_ = shown_by("grade.report.notebook", "census_html")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write patterns and counts to an .npz or .parquet file, whole or not at all."""
        write = write_parquet if check_target(path) == ".parquet" else write_npz
        with whole_file(path) as temporary:
            write(self, temporary)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Census":
        """Read a file that `save` wrote; a damaged or foreign one is refused."""
        place = Path(path)
        if not place.is_file():
            raise InputError(f"There is no census {place}; make one with 'grade census SET -k K --out FILE'.")
        parquet = import_pyarrow().parquet if suffix_of(place) == ".parquet" else None
        try:
            content = read_npz(place) if parquet is None else read_parquet(place, parquet)
            return restore(*content)
        except NewerFormatError:
            raise InputError(f"The census {place} is of a newer format; install a newer GraDE.") from None
        except Exception as error:  # numpy, pyarrow and json raise all kinds of errors on a foreign file
            raise InputError(
                f"{place} is not a census, or is damaged; make one with 'grade census SET -k K --out FILE'."
            ) from error


class NewerFormatError(Exception):
    """A file was written by a newer GraDE."""


def take_census(
    graphs: GraphSet,
    k: int,
    threads: int | None = None,
    progress: Progress | None = None,
    engine: Engine = LOCAL,
) -> Census:
    """Count every connected induced subgraph of k nodes by pattern.

    The result does not depend on the engine or the number of threads (all available cores when left out).

    Examples
    --------
    >>> graphs = GraphSet.from_edges(node_counts=[3], node_types=[0, 1, 1], edge_counts=[2],
    ...                              edges=[[0, 1], [0, 2]], node_vocabulary=["input", "conv"])
    >>> census = take_census(graphs, k=2)
    >>> census.instances, len(census.patterns), str(census.top(1)[0][0])
    (2, 1, 'input -> conv')
    """
    check_size(graphs, k)
    begin = time.perf_counter()
    spread = engine.over(graphs, thread_count(threads))
    with counts_that_fit(graphs, k):
        counted = spread.begin(count_block, k, keep_going=progress)
        types, edges, automorphisms, counts = spread.merged(counted, add_counts)
    table = PatternTable(types, edges, automorphisms, graphs.node_vocabulary, graphs.edge_vocabulary)
    return Census(graphs.origin, k, table, counts, time.perf_counter() - begin, spread.threads)


CountedPatterns = tuple[NDArray[np.uint16], NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint64]]


def count_block(part: Part, crew: Crew, k: int) -> CountedPatterns:
    """The census of one block: node types, edges, automorphisms and counts of its patterns."""
    return _core.census(part.graphs.core, k, crew.threads, crew.keep_going)


def add_counts(counted: Sequence[CountedPatterns]) -> CountedPatterns:
    """Counts of several blocks by pattern, in the order of the native core."""
    types, edges, automorphisms, counts = (np.concatenate(columns) for columns in zip(*counted, strict=True))
    keys = PatternTable(types, edges, automorphisms).keys
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    sums = np.zeros(len(first), np.uint64)
    np.add.at(sums, which, counts)
    if (np.bincount(which, counts.astype(np.float64)) > 2.0**63).any():  # perhaps they passed 64 bits
        totals = [0] * len(first)
        for row, count in zip(which.tolist(), counts.tolist(), strict=True):
            totals[row] += count
        if max(totals) >= 2**64:
            raise OverflowError
    return types[first], edges[first], automorphisms[first], sums


def collect_occurrences(
    graphs: GraphSet,
    k: int,
    limit: int = 100_000_000,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.uint32]:
    """[n, k] every connected induced subgraph of k nodes as ascending global node ids.

    They are counted first: more than ``limit``, or more than fit into memory, are refused before anything is
    allocated.

    Examples
    --------
    >>> graphs = GraphSet.from_edges(node_counts=[3], node_types=[0, 0, 0], edge_counts=[2],
    ...                              edges=[[0, 1], [1, 2]], node_vocabulary=["conv"])
    >>> sorted(collect_occurrences(graphs, k=2).tolist())
    [[0, 1], [1, 2]]
    """
    check_size(graphs, k)
    threads = thread_count(threads)
    with counts_that_fit(graphs, k):
        count = _core.count_instances(graphs.core, k, threads, progress)
    if count > limit:
        raise InputError(
            f"{graphs.origin} has {count:,} occurrences of {k} nodes, more than the limit of {limit:,}; raise"
            " the limit, or draw a sample."
        )
    needed, free = count * k * np.dtype(np.uint32).itemsize, available_memory()
    if needed > free:
        raise InputError(
            f"The {count:,} occurrences of {k} nodes in {graphs.origin} need {needed / 2**30:,.1f} GiB and"
            f" {free / 2**30:,.1f} GiB are free; draw a sample instead."
        )
    return _core.enumerate(graphs.core, k, count, threads, progress)


@contextmanager
def counts_that_fit(graphs: GraphSet, k: int) -> Iterator[None]:
    """Say in one sentence that a count of the native core passes 64 bits."""
    try:
        yield
    except OverflowError:
        raise InputError(
            f"{graphs.origin} has more than 2^64 subgraphs of {k} nodes of one pattern; give a smaller k, or draw"
            " a sample."
        ) from None


def check_size(graphs: GraphSet, k: int) -> None:
    """Refuse a size for which there is nothing to count."""
    if not isinstance(k, (int, np.integer)):
        raise InputError(f"The subgraph size k is {k!r}; give a whole number from 2 to {MAX_SIZE}.")
    if not 2 <= k <= MAX_SIZE:
        raise InputError(f"The subgraph size k is {k}; give 2 to {MAX_SIZE}.")
    if graphs.nodes == 0:
        raise InputError(f"{graphs.origin} has no nodes, so there is nothing to count; give another set.")
    if k > graphs.largest:
        raise InputError(
            f"The subgraph size k is {k}, but the largest graph of {graphs.origin} has {graphs.largest}"
            " nodes; give a smaller k."
        )


def check_top(n: int) -> None:
    """Refuse a number of patterns that cannot be shown; worth calling before a long census."""
    if n < 0:
        raise InputError(f"The number of patterns to show is {n}; give 0 or more.")


def check_target(path: str | os.PathLike[str]) -> str:
    """The suffix of a file that a census can be written to; worth calling before a long census."""
    suffix = suffix_of(path)
    writable_target(path)
    if suffix == ".parquet":
        import_pyarrow()
    return suffix


def suffix_of(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path} must end in {' or '.join(SUFFIXES)} to hold a census.")
    return suffix


def describe(census: Census) -> str:
    """All that is not an array, as JSON."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "set": census.set,
        "k": census.k,
        "seconds": census.seconds,
        "threads": census.threads,
        "node_vocabulary": census.patterns.node_vocabulary,
        "edge_vocabulary": census.patterns.edge_vocabulary,
    }
    patterns = census.patterns
    content[CHECKSUM] = checksum(content, patterns.node_types, patterns.edges, census.counts)
    return json.dumps(content)


def checksum(content: dict[str, Any], types: NDArray[Any], edges: NDArray[Any], counts: NDArray[Any]) -> str:
    """SHA-256 of the arrays and of a description, without the checksum in it."""
    arrays = {"node_types": types, "edges": edges, "counts": counts}
    described = {name: value for name, value in content.items() if name != CHECKSUM}
    return digest_of_json([described, digest_of_arrays(arrays).hex()])


def write_npz(census: Census, path: Path) -> None:
    with path.open("wb") as file:  # given a name, numpy would add .npz to one that ends in .NPZ
        np.savez_compressed(
            file,
            description=np.array(describe(census)),
            node_types=census.patterns.node_types,
            edges=census.patterns.edges,
            counts=census.counts,
        )


Content = tuple[dict[str, Any], NDArray[Any], NDArray[Any], NDArray[Any]]  # description, types, edges, counts


def read_npz(path: Path) -> Content:
    with np.load(path, allow_pickle=False) as archive:
        arrays = arrays_in(archive)
    description = json.loads(str(arrays["description"]))
    return description, arrays["node_types"], arrays["edges"], arrays["counts"]


def write_parquet(census: Census, path: Path) -> None:
    """Columns: key, count, automorphisms, node_types (names), code (by numbers; see `Pattern.code`)."""
    pyarrow = import_pyarrow()
    patterns = list(census.patterns)
    table = pyarrow.table(
        {
            "key": pyarrow.array([pattern.key for pattern in patterns], pyarrow.string()),
            "count": pyarrow.array(census.counts, pyarrow.uint64()),
            "automorphisms": pyarrow.array(census.patterns.automorphisms, pyarrow.int64()),
            "node_types": pyarrow.array(
                [pattern.type_names for pattern in patterns], pyarrow.list_(pyarrow.string())
            ),
            "code": pyarrow.array([pattern.code for pattern in patterns], pyarrow.string()),
        }
    )
    pyarrow.parquet.write_table(table.replace_schema_metadata({FORMAT: describe(census)}), path)


def read_parquet(path: Path, parquet: Any) -> Content:
    table = parquet.read_table(path)
    description = json.loads(table.schema.metadata[FORMAT.encode()])
    column = "code" if "code" in table.column_names else "key"  # those of GraDE 0.1 were codes
    codes, k = table[column].to_pylist(), description["k"]
    patterns = PatternTable.from_keys(codes) if codes else None
    types = np.zeros((0, k), np.uint16) if patterns is None else patterns.node_types
    edges = np.zeros((0, k, k), np.uint8) if patterns is None else patterns.edges
    return description, types, edges, table["count"].to_numpy()


def restore(
    description: dict[str, Any], types: NDArray[Any], edges: NDArray[Any], counts: NDArray[Any]
) -> Census:
    """A census from the content of a file, which may come from anywhere: everything is checked."""
    if description["format"] != FORMAT:
        raise ValueError("another format")
    if description["version"] > VERSION:
        raise NewerFormatError
    if description["version"] > 1 and description[CHECKSUM] != checksum(description, types, edges, counts):
        raise ValueError("another checksum")
    node_vocabulary, edge_vocabulary = (
        tuple(map(str, description[name])) for name in ("node_vocabulary", "edge_vocabulary")
    )
    table = PatternTable.canonical(types, edges, node_vocabulary, edge_vocabulary)
    whole = (
        types.dtype == np.uint16
        and edges.dtype == np.uint8
        and counts.dtype == np.uint64
        and counts.shape == (len(types),)
        and types.max(initial=0) < len(node_vocabulary)
        and edges.max(initial=0) < len(edge_vocabulary)
        and table.size == description["k"]
        and np.array_equal(table.node_types, types)
        and np.array_equal(table.edges, edges)
        and len(np.unique(table.keys)) == len(table)
    )
    if not whole:
        raise ValueError("arrays that do not belong together, or patterns that are not canonical")
    seconds, threads = float(description["seconds"]), int(description["threads"])
    return Census(str(description["set"]), table.size, table, counts, seconds, threads)


def import_pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            "Parquet files need pyarrow, which is not installed; run 'pip install grade-motifs[parquet]', or"
            " use .npz."
        ) from None
    return pyarrow

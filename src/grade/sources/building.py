"""Building a graph set on disk from files, folders, globs, models and sets."""

import hashlib
import json
import os
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

import grade
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.digests import structure_digests
from grade.graphs.in_pieces import ranges_of_graphs
from grade.graphs.storage import check_target, save_graph_set
from grade.graphs.writer import GraphSetWriter
from grade.machine import thread_count
from grade.progress import Progress, tell
from grade.settings import ReadSettings
from grade.sources.loading import find
from grade.sources.readers import Item
from grade.sources.worker_pool import Failure, Limits, Message, read_in_workers

CHECKPOINT_SECONDS = 5.0  # between two checkpoints, or
CHECKPOINT_REST = 20  # times as long as one took: its notes grow with the set
PIECE = 1_000_000  # nodes of a large set that are appended at a time


@dataclass
class BuildReport:
    """The inputs read and skipped; field names are the keys of the JSON."""

    out: str = ""
    graphs: int = 0
    nodes: int = 0
    edges: int = 0
    inputs: int = 0
    read: int = 0
    skipped: list[str] = field(default_factory=list)  # one sentence for each input that could not be read
    duplicates: list[list[str]] = field(default_factory=list)  # [graph, the one it is the same as]
    resumed: int = 0  # inputs that an earlier, interrupted build had read
    seconds: float = 0.0


def build_graph_set(
    specs: Sequence[str],
    out: str | os.PathLike[str],
    settings: ReadSettings | None = None,
    *,
    overwrite: bool = False,
    strict: bool = False,
    merge_duplicates: bool = False,
    workers: int | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> BuildReport:
    """Read all inputs and save them as one set, in memory bounded by one graph for each worker.

    An input that cannot be read is skipped, or with ``strict`` ends the build. ``merge_duplicates`` keeps the
    first of all graphs with one structure. The same call goes on where a killed one stopped.
    """
    check_target(out, overwrite)
    begin = time.perf_counter()
    settings = settings or ReadSettings()
    count = thread_count(workers)
    inputs = [part.check() if isinstance(part, GraphSet) else part for spec in specs for part in find(spec)]
    origin = ", ".join(specs) if len(specs) <= 3 else f"{specs[0]} and {len(specs) - 1} others"
    if len(inputs) == 1 and isinstance(inputs[0], GraphSet) and not merge_duplicates:
        save_graph_set(inputs[0], out, overwrite)  # as it is, with all of its vocabulary
        report, size = BuildReport(inputs=1, read=1), (len(inputs[0]), inputs[0].nodes, inputs[0].edges)
    else:
        key = fingerprint(inputs, settings, merge_duplicates)
        with GraphSetWriter(out, origin=origin, key=key, overwrite=overwrite) as writer:
            build = Build(writer, len(inputs), merge_duplicates)
            report = build.report
            stream = read_inputs(inputs[build.done :], settings, count, limits or Limits())
            with closing(stream):  # ends the workers, also after an interrupt
                for name, message in stream:
                    stage = f"{build.done + 1:,} of {len(inputs):,}: {name[-60:]}"
                    tell(progress, build.done / len(inputs), stage)
                    build.take(message)
                    if strict and report.skipped:
                        break
            if strict and report.skipped:
                raise InputError(report.skipped[0])
            if report.read == 0:
                raise InputError(f"No input could be read, so {out} is not written: {report.skipped[0]}")
            writer.finish()
            size = writer.size
    report.out, (report.graphs, report.nodes, report.edges) = str(out), size
    report.seconds = time.perf_counter() - begin
    return report


class Build:
    """How far a build has got: all that a checkpoint needs to know."""

    def __init__(self, writer: GraphSetWriter, inputs: int, merge: bool) -> None:
        self.writer, self.merge = writer, merge
        self.report = BuildReport(inputs=inputs)
        self.first: dict[bytes, str] = {}  # the graph of each structure that came first
        self.done = 0
        if writer.notes:
            self.done = writer.notes["done"]
            for name in ("read", "skipped", "duplicates"):
                setattr(self.report, name, writer.notes[name])
            self.first = {bytes.fromhex(digest): name for digest, name in writer.notes["first"].items()}
            self.report.resumed = self.done
        self.next_checkpoint = time.monotonic() + CHECKPOINT_SECONDS
        self.begin_input()

    def begin_input(self) -> None:
        self.start = self.writer.position()
        self.failure = ""  # why the present input cannot be taken, although it was read
        self.new: list[bytes] = []  # structures that the present input brought
        self.known = len(self.report.duplicates)

    def take(self, message: Message) -> None:
        """The next graphs of the present input, or its end."""
        if isinstance(message, GraphSet):
            try:
                if not self.failure:
                    self.append(message)
            except InputError as error:
                self.failure = f"{message.origin}: {error}"
            return
        if self.failure:
            message = Failure(self.failure)
        if isinstance(message, Failure):
            self.writer.rewind(self.start)  # an input is read whole or not at all
            for digest in self.new:
                del self.first[digest]
            del self.report.duplicates[self.known :]
            self.report.skipped.append(message.reason)
        else:
            self.report.read += 1
        self.done += 1
        self.begin_input()
        begin = time.monotonic()
        if begin >= self.next_checkpoint:
            self.writer.checkpoint(self.notes())
            taken = time.monotonic() - begin
            self.next_checkpoint = begin + max(CHECKPOINT_SECONDS, CHECKPOINT_REST * taken)

    def append(self, graphs: GraphSet) -> None:
        if self.merge:
            kept = []
            for number, digest in enumerate(structure_digests(graphs)):
                name = graphs.graph_names[number]
                if digest in self.first:
                    self.report.duplicates.append([name, self.first[digest]])
                else:
                    self.first[digest] = name
                    self.new.append(digest)
                    kept.append(number)
            graphs = graphs if len(kept) == len(graphs) else graphs.subset(kept)
        self.writer.append(graphs)

    def notes(self) -> dict[str, Any]:
        names = ("read", "skipped", "duplicates")
        first = {digest.hex(): name for digest, name in self.first.items()}
        return {"done": self.done, "first": first, **{name: getattr(self.report, name) for name in names}}


def read_inputs(
    inputs: Sequence[Item | GraphSet], settings: ReadSettings, workers: int, limits: Limits
) -> Generator[tuple[str, Message], None, None]:
    """(name, next graphs or end) of all inputs in their order: sets from here, the rest from child processes."""
    for at_hand, group in groupby(inputs, lambda part: isinstance(part, GraphSet)):
        if at_hand:
            for graphs in group:
                assert isinstance(graphs, GraphSet)
                yield from ((graphs.origin, piece) for piece in pieces(graphs))
                yield graphs.origin, None
        else:
            items = [item for item in group if isinstance(item, Item)]
            for item, message in read_in_workers(items, settings, workers, limits):
                yield item.place, message


def pieces(graphs: GraphSet) -> Iterator[GraphSet]:
    """A large set part by part, each with its share of the memory."""
    for first, last in ranges_of_graphs(graphs.node_offsets, PIECE):
        yield graphs.subset(np.arange(first, last))


def fingerprint(inputs: Iterable[Item | GraphSet], settings: ReadSettings, merge: bool) -> str:
    """A digest of all that a build depends on: its inputs as they are now, and how they are read."""
    digest = hashlib.blake2b(
        json.dumps([grade.__version__, asdict(settings), merge]).encode(), digest_size=16
    )
    for part in inputs:
        facts: list[Any]
        if isinstance(part, GraphSet):
            facts = [part.origin, part.digest]
        else:
            facts = [part.reader, part.place]
            if Path(part.place).is_file():
                status = Path(part.place).stat()
                facts += [status.st_size, status.st_mtime_ns]
        digest.update(json.dumps(facts).encode())
    return digest.hexdigest()

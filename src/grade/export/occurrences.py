"""Occurrences of a motif: graphs, files, names of nodes, tensors that enter and leave."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.errors import InputError
from grade.export.cutting import Cutout, cut
from grade.export.model_files import ModelFile
from grade.files import whole_file, writable_target
from grade.graphs import GraphSet, Pattern
from grade.graphs.origins import file_digest
from grade.graphs.queries import Query
from grade.report.surroundings import name_of
from grade.runs import RunFolder
from grade.runs.folder import RUN_FILE
from grade.runs.searched import searched_set
from grade.sources import load
from grade.verify import QueryVerifier, Verifier, read_patterns

SUFFIXES = {"jsonl": ".jsonl", "csv": ".csv", "onnx": ""}


MOST = 2**62  # occurrences; the native core counts in 64 bits


@dataclass(frozen=True)
class Occurrence:
    """One occurrence of a pattern. The nodes stand in the order of the pattern's own."""

    graph: str
    file: str | None
    nodes: list[str]
    types: list[str]
    producers: list[str]  # nodes outside whose results enter
    consumers: list[str]  # nodes outside that read its results
    inputs: list[str] | None  # tensors that enter, weights aside; None where the file is not at hand
    outputs: list[str] | None


@dataclass(frozen=True)
class Files:
    """The model files of a graph set that were opened, to be shared by the occurrences of many patterns."""

    opened: dict[str, ModelFile | InputError] = field(default_factory=dict)  # by path
    kept: dict[int, tuple[set[int], set[int]]] = field(default_factory=dict)  # by graph: `Occurrences.kept`


class Occurrences:
    """The occurrences of one pattern in a graph set."""

    pattern: Pattern | Query | None

    def __init__(
        self,
        graphs: GraphSet,
        pattern: Pattern | Query,
        limit: int,
        fusible: bool = False,
        seconds: float = 60.0,
        files: "Files | None" = None,
    ) -> None:
        if limit < 1:
            raise InputError(f"`limit` is {limit}; give 1 or more.")
        limit = min(limit, MOST)
        self.graphs, self.pattern, self.what = graphs, pattern, str(pattern)
        if isinstance(pattern, Query):
            found, whole = QueryVerifier(graphs, 1, fusible).listed(pattern, limit + 1, seconds)
        else:
            found, whole = Verifier(graphs, 1, fusible).listed(pattern, limit + 1, seconds)
        self.complete = whole and len(found) <= limit
        self.rows = found[:limit].astype(np.int64)  # [n, k] global node ids
        self.begin(files)
        if not whole and len(found) <= limit:
            self.notes.append(f"Listing was cut off after {seconds:g} s; there are more.")

    @classmethod
    def of_rows(
        cls, graphs: GraphSet, rows: NDArray[np.int64], what: str, files: "Files | None" = None
    ) -> "Occurrences":
        """Known occurrences [n, k], ascending, of something that is no pattern: a block of any size."""
        made = cls.__new__(cls)
        made.graphs, made.pattern, made.what, made.rows, made.complete = graphs, None, what, rows, True
        made.begin(files)
        return made

    def begin(self, files: "Files | None" = None) -> None:
        self.notes: list[str] = []  # why there are no tensors, one sentence for each reason
        self.files = Files() if files is None else files

    def __repr__(self) -> str:
        more = "" if self.complete else " or more"
        return f"Occurrences({self.what!r} in {self.graphs.origin!r}: {len(self):,}{more})"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Occurrence]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Occurrence:
        graphs, row = self.graphs, self.rows[number]
        inside = set(row.tolist())
        ordered = [int(row[place]) for place in self.order(row)]
        graph = graphs.graph_of(ordered[0])
        origin = None if graphs.origins is None else graphs.origins.file(graph)
        inputs = outputs = None
        if origin is not None and origin[0].endswith(".onnx"):
            try:
                file = self.file_of(graph)
                _, numbers = file.in_one_graph([file.find(*self.place_of(node)) for node in ordered])
                inputs, outputs = file.tensors(sorted(numbers), self.kept(graph)[1])
            except InputError as error:
                if str(error) not in self.notes:
                    self.notes.append(str(error))
        return Occurrence(
            graph=graphs.graph_names[graph],
            file=None if origin is None else origin[0],
            nodes=[name_of(graphs, node) for node in ordered],
            types=[graphs.node_vocabulary[graphs.node_types[node]] for node in ordered],
            producers=self.around(graphs.predecessors, ordered, inside),
            consumers=self.around(graphs.successors, ordered, inside),
            inputs=inputs,
            outputs=outputs,
        )

    def order(self, row: Any) -> list[int]:
        """The places in an occurrence that the pattern's nodes take, one after the other."""
        graphs, place = self.graphs, {int(node): i for i, node in enumerate(row)}
        edges = np.zeros((1, len(row), len(row)), np.uint8)
        for node, i in place.items():
            begin, end = graphs.out_offsets[node], graphs.out_offsets[node + 1]
            for target, kind in zip(graphs.out_targets[begin:end], graphs.out_types[begin:end], strict=True):
                if int(target) in place:
                    edges[0, i, place[int(target)]] = kind
        return [int(p) for p in _core.canonical_forms(graphs.node_types[row][None], edges)[2][0]]

    def around(self, neighbours: Any, nodes: Sequence[int], inside: set[int]) -> list[str]:
        found = [int(other) for node in nodes for other in neighbours(node)]
        return [name_of(self.graphs, other) for other in dict.fromkeys(found) if other not in inside]

    def place_of(self, node: int) -> tuple[str, str, int | None]:
        """Name, type and place in the file of a node."""
        graphs = self.graphs
        place = None if graphs.node_places is None else int(graphs.node_places[node])
        return name_of(graphs, node), graphs.node_vocabulary[graphs.node_types[node]], place

    def file_of(self, graph: int) -> ModelFile:
        """The ONNX file of a graph; one sentence where it is missing, has changed, or was never known."""
        name = self.graphs.graph_names[graph]
        origin = None if self.graphs.origins is None else self.graphs.origins.file(graph)
        if origin is None or not origin[0].endswith(".onnx"):
            raise InputError(f"{name} did not come from an ONNX file, so nothing can be cut out of it.")
        path, digest = origin
        if path not in self.files.opened:
            self.files.opened[path] = opened(path, digest, name)
        found = self.files.opened[path]
        if isinstance(found, InputError):
            raise found
        return found

    def kept(self, graph: int) -> tuple[set[int], set[int]]:
        """The operators of its file that are nodes of a graph, and those that compute constants for them."""
        if graph not in self.files.kept:
            file = self.file_of(graph)
            begin, end = self.graphs.node_offsets[graph : graph + 2].tolist()
            nodes = {file.find(*self.place_of(node)) for node in range(begin, end)}
            self.files.kept[graph] = nodes, file.constants_beside(nodes)
        return self.files.kept[graph]

    def cut(self, number: int, values: bool = False) -> Cutout:
        """One occurrence as an ONNX model of its own."""
        row = self.rows[number]
        graph = self.graphs.graph_of(int(row[0]))
        file = self.file_of(graph)
        chosen = [file.find(*self.place_of(int(node))) for node in row]
        about = f"An occurrence of {self.what} in {self.graphs.graph_names[graph]}"
        return cut(file, chosen, self.kept(graph)[0], values=values, about=about)

    def first_cut(self, values: bool = False) -> tuple[Cutout, Occurrence]:
        """The first occurrence that can be cut out, with its model; the reason, if none can."""
        reasons = []
        for number in range(len(self)):
            try:
                return self.cut(number, values), self[number]
            except InputError as error:
                reasons.append(str(error))
        raise InputError(reasons[0] if reasons else f"{self.what} has no occurrence in {self.graphs.origin}.")

    def write(self, to: str, out: Path, values: bool = False) -> list[Path]:
        """Write a file of all occurrences, or a folder with a model for each; returns the paths."""
        if to not in SUFFIXES:
            raise InputError(f"There is no format {to!r} for occurrences; known: {', '.join(SUFFIXES)}.")
        writable_target(out)
        if to == "onnx":
            return self.write_models(out, values)
        rows = [asdict(occurrence) for occurrence in self]
        with whole_file(out) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            if to == "jsonl":
                file.writelines(json.dumps(row) + "\n" for row in rows)
            else:
                writer = csv.writer(file)
                writer.writerow(list(Occurrence.__dataclass_fields__))
                writer.writerows(
                    [json.dumps(cell) if isinstance(cell, list) else cell for cell in row.values()]
                    for row in rows
                )
        return [out]

    def write_models(self, folder: Path, values: bool) -> list[Path]:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; give a folder for the models.")
        models, reasons = [], []
        for number in range(len(self)):
            try:
                models.append((number + 1, self.cut(number, values).model))
            except InputError as error:
                reasons.append(str(error))
        if reasons and not models:
            raise InputError(reasons[0])
        if reasons:
            self.notes.append(
                f"{len(reasons):,} of {len(self):,} occurrences cannot be cut out, the first because: {reasons[0]}"
            )
        folder.mkdir(exist_ok=True)
        written = []
        for number, model in models:
            graph = self.graphs.graph_of(int(self.rows[number - 1][0]))
            name = re.sub(r"[^\w.-]+", "_", Path(self.graphs.graph_names[graph]).name)[-80:]
            target = folder / f"{number:04}-{name.removesuffix('.onnx')}.onnx"
            with whole_file(target) as temporary:
                temporary.write_bytes(model.SerializeToString())
            written.append(target)
        return written


def occurrences_of(
    run: Path, pattern: int | str, limit: int = 1000, graphs: GraphSet | None = None, induced: bool = True
) -> Occurrences:
    """The occurrences of a motif of a run, by its number, in the set that the run searched.

    Or those of any pattern that `grade verify` takes, in that set, or in one that stands in the place of the run.
    """
    if re.fullmatch(r"-?\d+", str(pattern)):
        catalogue = RunFolder.open(run).load_catalogue()
        motif = catalogue.motif(int(pattern), run)
        fusible = bool(catalogue.run["settings"].get("fusible"))
        wanted: Pattern | Query = motif.pattern if induced else Query(motif.text, induced=False)
        return Occurrences(graphs or searched_set(catalogue), wanted, limit, fusible)
    if graphs is None:
        in_run = (run / RUN_FILE).is_file()
        graphs = searched_set(RunFolder.open(run).load_catalogue()) if in_run else load(str(run))
    given = read_patterns(str(pattern), graphs.node_vocabulary, graphs.edge_vocabulary, induced=induced)
    if len(given) != 1:
        raise InputError(f"{pattern} holds {len(given)} patterns; give one at a time.")
    return Occurrences(graphs, given[0].pattern, limit)


def opened(path: str, digest: str, graph: str) -> ModelFile | InputError:
    """The file, if it is the one that the set was built from."""
    if not Path(path).is_file():
        return InputError(
            f"The file {path} that {graph} came from is not there; put it back, or build the set again."
        )
    if digest and file_digest(path) != digest:
        return InputError(
            f"The file {path} has changed since the set was built from it; build the set again."
        )
    try:
        return ModelFile(path)
    except InputError as error:
        return error

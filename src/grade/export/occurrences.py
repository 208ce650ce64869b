"""Occurrences of a motif: graphs, files, names of nodes, tensors that enter and leave."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
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
from grade.report.surroundings import name_of
from grade.runs import RunFolder
from grade.runs.searched import searched_set
from grade.verify import Verifier

SUFFIXES = {"jsonl": ".jsonl", "csv": ".csv", "onnx": ""}


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


class Occurrences:
    """The occurrences of one pattern in a graph set."""

    pattern: Pattern | None

    def __init__(
        self, graphs: GraphSet, pattern: Pattern, limit: int, fusible: bool = False, seconds: float = 60.0
    ) -> None:
        if limit < 1:
            raise InputError(f"`limit` is {limit}; give 1 or more.")
        self.graphs, self.pattern, self.what = graphs, pattern, str(pattern)
        found = Verifier(graphs, 1, fusible).occurrences(pattern, limit + 1, seconds)
        self.complete = len(found) <= limit
        self.rows = found[:limit].astype(np.int64)  # [n, k] global node ids
        self.begin()

    @classmethod
    def of_rows(cls, graphs: GraphSet, rows: NDArray[np.int64], what: str) -> "Occurrences":
        """Known occurrences [n, k], ascending, of something that is no pattern: a block of any size."""
        made = cls.__new__(cls)
        made.graphs, made.pattern, made.what, made.rows, made.complete = graphs, None, what, rows, True
        made.begin()
        return made

    def begin(self) -> None:
        self.notes: list[str] = []  # why there are no tensors, one sentence for each reason
        self.files: dict[str, ModelFile | InputError] = {}

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
                inputs, outputs = file.tensors(sorted(numbers))
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
        if path not in self.files:
            self.files[path] = opened(path, digest, name)
        found = self.files[path]
        if isinstance(found, InputError):
            raise found
        return found

    def cut(self, number: int, values: bool = False) -> Cutout:
        """One occurrence as an ONNX model of its own."""
        row = self.rows[number]
        graph = self.graphs.graph_of(int(row[0]))
        file = self.file_of(graph)
        begin, end = self.graphs.node_offsets[graph : graph + 2].tolist()
        kept = {file.find(*self.place_of(node)) for node in range(begin, end)}
        chosen = [file.find(*self.place_of(int(node))) for node in row]
        about = f"An occurrence of {self.what} in {self.graphs.graph_names[graph]}"
        return cut(file, chosen, kept, values=values, about=about)

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
        models = [
            (self.cut(number, values).model, self.graphs.graph_of(int(self.rows[number][0])))
            for number in range(len(self))
        ]
        folder.mkdir(exist_ok=True)
        written = []
        for number, (model, graph) in enumerate(models, start=1):
            name = re.sub(r"[^\w.-]+", "_", Path(self.graphs.graph_names[graph]).name)[-80:]
            target = folder / f"{number:04}-{name.removesuffix('.onnx')}.onnx"
            with whole_file(target) as temporary:
                temporary.write_bytes(model.SerializeToString())
            written.append(target)
        return written


def occurrences_of(run: Path, number: int, limit: int = 1000, graphs: GraphSet | None = None) -> Occurrences:
    """The occurrences of a motif of a run, in the set that the run searched."""
    catalogue = RunFolder.open(run).load_catalogue()
    motif = catalogue.motif(number, run)
    fusible = bool(catalogue.run["settings"].get("fusible"))
    return Occurrences(graphs or searched_set(catalogue), motif.pattern, limit, fusible)


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

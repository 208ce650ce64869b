"""The folder of a run: everything that it made, each file whole or not there at all.

    run.json            what was asked for, and of which set
    samples/k-05/       a sample (grade sample)
    models/k-05/        an estimator (grade fit)
    levels/k-05.npz     what the search kept of a size
    supports/           the verified supports of each pattern, by size and rank
    timings.json        seconds by stage; differs from run to run, so it is kept out of the catalogue
    catalogue.sqlite    the result

A stage whose file is there is not done again: a run that was killed goes on, and ends with the same catalogue.
"""

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from grade import __version__
from grade.errors import InputError
from grade.files import refuse_writing, whole_file, writable_target
from grade.graphs import GraphSet, Pattern, PatternTable
from grade.runs.catalogue import Catalogue
from grade.search import Level, OccurrenceLists
from grade.support import Support

FORMAT = 2
RUN_FILE, CATALOGUE_FILE = "run.json", "catalogue.sqlite"
FREE = ("threads", "time_budget", "out")  # settings that may change when a run goes on


class RunFolder:
    """A run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def begin(cls, path: Path, settings: dict[str, Any], graphs: GraphSet) -> "RunFolder":
        """Start a run, or go on with one of the same settings and the same set."""
        wanted = json.loads(json.dumps({name: value for name, value in settings.items() if name not in FREE}))
        description = {
            "format": FORMAT,
            "version": __version__,
            "settings": wanted,
            "set": {"graphs": len(graphs), "nodes": graphs.nodes, "edges": graphs.edges},
        }
        run = cls(path)
        if (path / RUN_FILE).is_file():
            stored = run.description()
            changed = [name for name, value in wanted.items() if stored["settings"].get(name) != value]
            if changed or stored["set"] != description["set"]:
                what = f"other settings ({', '.join(changed)})" if changed else "another graph set"
                raise InputError(
                    f"{path} holds a run with {what}; choose another folder, or remove that one."
                )
            run.remove_leftovers()
            run.make_folders()
            return run
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InputError(f"{path} exists and is no run; choose another folder.")
        writable_target(path)
        run.make_folders()
        try:
            run.write_json(RUN_FILE, description)
        except InputError:
            shutil.rmtree(path)  # a folder without run.json would not be taken for a run
            raise
        return run

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """A run that exists."""
        if not (path / RUN_FILE).is_file():
            raise InputError(f"{path} is no run: it has no {RUN_FILE}; make one with 'grade mine'.")
        run = cls(path)
        run.description()
        return run

    def make_folders(self) -> None:
        try:
            for folder in ("samples", "models", "levels", "supports"):
                (self.path / folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refuse_writing(self.path, error) from error

    def remove_leftovers(self) -> None:
        """Remove what a killed run was writing (`grade.files` writes under such names, then renames)."""
        for left in list(self.path.rglob(".*")):
            if re.match(r"\.[0-9a-f]{12}-", left.name):
                shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)

    def description(self) -> dict[str, Any]:
        """What run.json says."""
        try:
            data = json.loads((self.path / RUN_FILE).read_text())
            version = data["format"]
            data["settings"], data["set"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"The run {self.path} is damaged: {RUN_FILE} cannot be read; mine again."
            ) from error
        if version != FORMAT:
            raise InputError(
                f"The run {self.path} has format {version}; this version of GraDE reads format {FORMAT}."
            )
        return dict(data)

    def sample(self, k: int) -> Path:
        return self.path / "samples" / f"k-{k:02}"

    def model(self, k: int) -> Path:
        return self.path / "models" / f"k-{k:02}"

    @property
    def catalogue(self) -> Path:
        return self.path / CATALOGUE_FILE

    def finished_catalogue(self) -> Catalogue | None:
        """The catalogue, if there is one; that of a run which a time budget stopped is made again."""
        found = Catalogue.load(self.catalogue) if self.catalogue.is_file() else None
        return None if found is None or found.run["partial"] else found

    def load_support(self, size: int, row: int) -> Support | None:
        """The verified supports of a pattern, by its size and its row in the level; None where there are none."""
        known = self.read_json(f"supports/k-{size:02}-{row:04}.json")
        if known is None:
            return None
        return Support(**{**known, "per_graph": [(graph, count) for graph, count in known["per_graph"]]})

    def save_support(self, size: int, row: int, support: Support) -> None:
        self.write_json(f"supports/k-{size:02}-{row:04}.json", asdict(support))

    def write_json(self, name: str, data: Any) -> None:
        with whole_file(self.path / name) as temporary:
            temporary.write_text(json.dumps(data, indent=1) + "\n")

    def read_json(self, name: str) -> Any:
        """The content of a file of this run; None where there is none."""
        file = self.path / name
        if not file.is_file():
            return None
        try:
            return json.loads(file.read_text())
        except ValueError as error:
            raise InputError(f"{file} is damaged; remove it, and the run makes it again.") from error

    def add_seconds(self, stage: str, seconds: float) -> None:
        """Add to the time that a stage took, over all the times that the run was started."""
        timings = self.read_json("timings.json") or {}
        timings[stage] = timings.get(stage, 0.0) + seconds
        self.write_json("timings.json", timings)

    def save_level(self, level: Level) -> None:
        lists = level.lists
        with (
            whole_file(self.path / "levels" / f"k-{level.size:02}.npz") as temporary,
            temporary.open("wb") as file,
        ):
            np.savez(
                file,
                node_types=lists.patterns.node_types,
                edges=lists.patterns.edges,
                automorphisms=lists.patterns.automorphisms,
                offsets=lists.offsets,
                occurrences=lists.occurrences,
                weights=lists.weights,
                counts=lists.counts,
                exact=lists.exact,
                complete=lists.complete,
                scores=level.scores,
                numbers=np.array([level.candidates, level.instances]),
                seconds=level.seconds,
            )

    def load_levels(self, graphs: GraphSet) -> list[Level]:
        """The levels that are there, from size 3 on without a gap."""
        levels = []
        for size in range(3, 17):
            file = self.path / "levels" / f"k-{size:02}.npz"
            if not file.is_file():
                break
            try:
                with np.load(file, allow_pickle=False) as data:
                    patterns = PatternTable(
                        data["node_types"],
                        data["edges"],
                        data["automorphisms"],
                        graphs.node_vocabulary,
                        graphs.edge_vocabulary,
                    )
                    names = ("offsets", "occurrences", "weights", "counts", "exact", "complete")
                    lists = OccurrenceLists(patterns, *(data[name] for name in names))
                    numbers = data["numbers"].tolist()
                    levels.append(
                        Level(lists, data["scores"], numbers[0], numbers[1], float(data["seconds"]))
                    )
            except (OSError, ValueError, KeyError) as error:
                raise InputError(f"{file} is damaged; remove it, and the run makes it again.") from error
        return levels

    def level_patterns(
        self, size: int, node_vocabulary: tuple[str, ...], edge_vocabulary: tuple[str, ...]
    ) -> list[tuple[Pattern, float]]:
        """(pattern, count) of what the search kept of a size, most frequent first; empty if there is no such level."""
        file = self.path / "levels" / f"k-{size:02}.npz"
        if not file.is_file():
            return []
        try:
            with np.load(file, allow_pickle=False) as data:
                table = PatternTable.canonical(
                    data["node_types"], data["edges"], node_vocabulary, edge_vocabulary
                )
                counts = data["counts"]
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{file} is damaged; remove it, and the run makes it again.") from error
        return [(table[row], float(counts[row])) for row in np.argsort(-counts, kind="stable").tolist()]

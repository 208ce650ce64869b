"""The folder of a run: all its results, each file whole or absent.

    run.json            the settings, and the graph set
    samples/k-05/       a sample (grade sample); k-05.json beside it has the checksums of its files
    models/k-05/        an estimator (grade fit); the same
    levels/k-05.npz     the patterns that the search kept of a size
    supports/           the verified supports of each pattern, by size and rank
    timings.json        seconds by stage; differs from run to run, so it is kept out of the catalogue
    catalogue.sqlite    the result

A stage whose file is there is skipped: a run that was killed resumes, and ends with the same catalogue. Every file
carries a checksum; a damaged file is named in a warning and rebuilt.
"""

import json
import re
import shutil
import warnings
from collections.abc import Callable, Collection
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from grade import __version__
from grade.errors import FileError, InputError
from grade.files import refuse_writing, writable_target
from grade.graphs import GraphSet, PatternTable
from grade.runs.catalogue import Catalogue
from grade.sealed import (
    DamagedError,
    digest_of_json,
    is_sealed,
    load_arrays,
    load_json,
    save_arrays,
    save_json,
    seal_folder,
)
from grade.search import Level, OccurrenceLists
from grade.support import Support

FORMAT = 4
RUN_FILE, CATALOGUE_FILE = "run.json", "catalogue.sqlite"
FREE = (
    "threads",
    "engine",
    "address",
    "time_budget",
    "out",
)  # settings that may change when a run is resumed; they are not stored

Stored = TypeVar("Stored")


class RunFolder:
    """A run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def identity(self) -> str:
        """Digest of the settings of this run and of its set."""
        return digest_of_json(self.description())

    def label(self, name: str) -> str:
        """The label of a file's checksum: its place, in a run of the same settings and set."""
        return f"{self.identity}/{name}"

    @classmethod
    def begin(
        cls, path: Path, settings: dict[str, Any], graphs: GraphSet, unused: Collection[str] = ()
    ) -> "RunFolder":
        """Start a run, or resume one of the same settings (``unused`` ones aside) and a set of the same content,
        whatever its name.
        """
        wanted = json.loads(json.dumps({name: value for name, value in settings.items() if name not in FREE}))
        set_ = {"graphs": len(graphs), "nodes": graphs.nodes, "edges": graphs.edges, "digest": graphs.digest}
        run = cls(path)
        if (path / RUN_FILE).is_file():
            stored = run.description()
            names = [name for name in wanted if name != "graphs" and name not in unused]
            changed = [name for name in names if stored["settings"].get(name) != wanted[name]]
            if changed or stored["set"] != set_:
                what = f"other settings ({', '.join(changed)})" if changed else "another graph set"
                raise InputError(
                    f"{path} holds a run with {what}; choose another folder, or remove that one."
                )
            run.remove_leftovers()
            run.make_folders()
            return run
        if path.exists() and not (path.is_dir() and all(map(is_leftover, path.iterdir()))):
            raise InputError(f"{path} exists and is no run; choose another folder.")
        writable_target(path)
        run.remove_leftovers()  # of a start that was killed
        run.make_folder(path)
        try:
            description = {"format": FORMAT, "version": __version__, "settings": wanted, "set": set_}
            save_json(path / RUN_FILE, description, RUN_FILE)
        except (InputError, FileError):
            shutil.rmtree(path)  # a folder without run.json would not be taken for a run
            raise
        run.make_folders()
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
        for folder in ("samples", "models", "levels", "supports"):
            self.make_folder(self.path / folder)

    def make_folder(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refuse_writing(self.path, error) from error

    def remove_leftovers(self) -> None:
        """Remove the temporary files of a killed run (`grade.files` writes to them, then renames)."""
        for left in list(self.path.rglob(".*")):
            if is_leftover(left):
                shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)

    def description(self) -> dict[str, Any]:
        """The content of run.json."""
        try:
            version = json.loads((self.path / RUN_FILE).read_text()).get("data", {}).get("format", "1 or 2")
            data = load_json(self.path / RUN_FILE, RUN_FILE) if version == FORMAT else None
        except (OSError, ValueError, AttributeError, DamagedError) as error:
            raise InputError(
                f"The run {self.path} is damaged: {RUN_FILE} does not match its checksum; choose another folder, or"
                " remove that one."
            ) from error
        if data is None:
            raise InputError(
                f"The run {self.path} has format {version}, made by an earlier version of GraDE, and this one reads"
                f" format {FORMAT}; make it again with 'grade mine' in another folder, or remove that one first."
            )
        return dict(data)

    @property
    def catalogue(self) -> Path:
        return self.path / CATALOGUE_FILE

    def load_catalogue(self) -> Catalogue:
        """The catalogue of this run; that of another one is refused."""
        found = Catalogue.load(self.catalogue)
        if any(found.run.get(name) != value for name, value in self.description().items()):
            raise DamagedError(self.catalogue)
        return found

    def finished_catalogue(self) -> Catalogue | None:
        """The catalogue, if there is one; that of a run which a time budget stopped is rebuilt."""
        found = self.mended(lambda: self.load_catalogue() if self.catalogue.is_file() else None)
        return None if found is None or found.run["partial"] else found

    def mended(self, load: Callable[[], Stored | None]) -> Stored | None:
        """Stored data; None and a warning where it is damaged, so that it is rebuilt."""
        try:
            return load()
        except DamagedError as error:
            warnings.warn(f"{error.path} was damaged and is rebuilt.", stacklevel=2)
            return None

    def folder(self, name: str, make: Callable[[Path], object]) -> Path:
        """A folder of the run, e.g. ``samples/k-05``; made if it is not there as it was sealed."""
        path = self.path / name
        if not self.mended(lambda: is_sealed(path, self.label(name))):
            if path.is_dir():
                shutil.rmtree(path)
            make(path)
            seal_folder(path, self.label(name))
        return path

    def json(self, name: str) -> Any:
        """The content of a file of this run; None where there is none, or it is damaged."""
        return self.mended(lambda: load_json(self.path / name, self.label(name)))

    def save_json(self, name: str, data: Any) -> None:
        save_json(self.path / name, data, self.label(name))

    def load_support(self, size: int, row: int) -> Support | None:
        """The verified supports of a pattern, by its size and its row in the level; None where there are none."""
        known = self.json(f"supports/k-{size:02}-{row:04}.json")
        if known is None:
            return None
        return Support(**{**known, "per_graph": [(graph, count) for graph, count in known["per_graph"]]})

    def save_support(self, size: int, row: int, support: Support) -> None:
        self.save_json(f"supports/k-{size:02}-{row:04}.json", asdict(support))

    def add_seconds(self, stage: str, seconds: float) -> None:
        """Add to the time of a stage, over all sessions of the run."""
        timings = self.timings()
        timings[stage] = timings.get(stage, 0.0) + seconds
        self.save_json("timings.json", timings)

    def timings(self) -> dict[str, float]:
        """Seconds by stage; values that are no numbers of seconds are dropped."""
        stored = self.json("timings.json") or {}
        return {stage: seconds for stage, seconds in stored.items() if isinstance(seconds, float)}

    def level_file(self, size: int) -> str:
        return f"levels/k-{size:02}.npz"

    def save_level(self, level: Level) -> None:
        lists = level.lists
        arrays = {
            "node_types": lists.patterns.node_types,
            "edges": lists.patterns.edges,
            "automorphisms": lists.patterns.automorphisms,
            **{name: getattr(lists, name) for name in LISTED},
            "scores": level.scores,
            "numbers": np.array([level.candidates, level.instances, level.followed, level.whole]),
            "seconds": np.array(level.seconds),
        }
        name = self.level_file(level.size)
        save_arrays(self.path / name, arrays, self.label(name))

    def load_levels(self, graphs: GraphSet, first: int = 3) -> list[Level]:
        """The levels that are there, from the first size on without a gap."""
        levels = []
        for size in range(first, 17):
            name = self.level_file(size)
            arrays = self.mended(lambda name=name: load_arrays(self.path / name, self.label(name)))  # type: ignore[misc]  # bound in the loop
            if arrays is None:
                break
            patterns = PatternTable(
                arrays["node_types"],
                arrays["edges"],
                arrays["automorphisms"],
                graphs.node_vocabulary,
                graphs.edge_vocabulary,
            )
            listed: Any = {name: arrays[name] for name in LISTED}
            candidates, instances, followed, whole = arrays["numbers"].tolist()
            levels.append(
                Level(
                    OccurrenceLists(patterns, **listed),
                    arrays["scores"],
                    candidates,
                    instances,
                    float(arrays["seconds"]),
                    bool(followed),
                    bool(whole),
                )
            )
        return levels


def is_leftover(path: Path) -> bool:
    """Whether this is a temporary file or folder of a killed run."""
    return re.match(r"\.[0-9a-f]{12}-", path.name) is not None


LISTED = ("offsets", "occurrences", "weights", "counts", "exact", "complete")

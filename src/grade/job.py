"""One run of `grade.mine`: its settings, its folder, and its time budget."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from grade.costs import Costs, Savings, read_costs
from grade.engine import LOCAL, Engine
from grade.errors import InputError
from grade.export.shapes import sizes_from_files
from grade.graphs import GraphSet
from grade.machine import thread_count
from grade.progress import NEVER, Deadline, Progress
from grade.runs import RunFolder
from grade.sampling import samplers
from grade.sealed import digest_of_json
from grade.search import Constraints, budget
from grade.search.beam import Bounds
from grade.search.ranking import needs_estimator, ranking
from grade.settings import MineSettings
from grade.units import parse_bytes, parse_seconds

METHODS = ("search", "sampling")
WEIGHTINGS = ("occurrences", "graphs")
NAMED = 3  # most reasons shown for values of unknown size
SEARCH_SHARE = 0.8  # of a time budget; the rest is for the verification


@dataclass
class Job:
    """One run: its settings, its folder, and its time budget."""

    settings: MineSettings
    constraints: Constraints
    graphs: GraphSet
    run: RunFolder
    bounds: Bounds
    memory: int  # bytes
    threads: int
    engine: Engine = LOCAL
    search_until: Deadline = NEVER
    verify_until: Deadline = NEVER
    progress: Progress | None = None
    cut_short: bool = False  # whether the time budget ran out
    notes: list[str] = field(default_factory=list)  # sentences for the reader of the result
    savings: Savings | None = None  # where they are asked for

    @classmethod
    def begin(
        cls,
        settings: MineSettings,
        constraints: Constraints,
        graphs: GraphSet,
        progress: Progress | None = None,
        engine: Engine = LOCAL,
    ) -> "Job":
        """Refuse impossible settings before anything is written; then start the run, or resume it."""
        sizes = settings.sizes
        if sizes[0] > graphs.largest or (sizes[-1] > graphs.largest and len(sizes) == 1):
            raise InputError(
                f"`k` is {settings.k}, but the largest graph of {settings.graphs} has {graphs.largest} nodes; lower it."
            )
        if sizes[-1] > graphs.largest:
            settings = replace(settings, k=f"{sizes[0]}-{graphs.largest}")
            sizes = settings.sizes
        check(settings, graphs)
        costs = None if settings.costs is None else read_costs(settings.costs)
        constraints.check(graphs, sizes[-1])
        if settings.start_from is not None and constraints.fusible:
            raise InputError(
                "`start_from` and `fusible` do not go together: parts of fusible patterns need not be fusible."
            )
        memory = parse_bytes(settings.memory)
        bounds = bounds_within(memory, settings, graphs)
        search_until = verify_until = NEVER
        if settings.time_budget is not None:
            seconds = parse_seconds(settings.time_budget)
            search_until, verify_until = Deadline.after(SEARCH_SHARE * seconds), Deadline.after(seconds)
        stored = {**asdict(settings), "out": str(settings.out), **asdict(constraints)}
        stored["costs"] = None if costs is None else digest_of_json(asdict(costs))
        stored["k"] = sizes[0] if len(sizes) == 1 else settings.k
        drawn = settings.method == "sampling" or needs_estimator(settings.rank_by)
        unused = () if drawn else ("sampler", "samples", "estimator", "preset")
        job = cls(
            settings,
            constraints,
            graphs,
            RunFolder.begin(Path(settings.out or "run"), stored, graphs, unused),
            bounds,
            memory,
            thread_count(settings.threads),
            engine,
            search_until,
            verify_until,
            progress,
        )
        if costs is not None or settings.rank_by == "saving":
            job.price(costs)
        return job

    def price(self, costs: Costs | None) -> None:
        """Find the sizes of all values, which savings need."""
        with self.stage("search", "sizes of values") as deadline:
            sizes, reasons = sizes_from_files(self.graphs, deadline)
        self.notes += reasons[:NAMED]
        self.savings = Savings(self.graphs, sizes, costs, self.constraints.fusible)

    @contextmanager
    def stage(self, name: str, label: str, share: float = 0.0) -> Iterator[Deadline]:
        """Report that a stage begins; its seconds are added to those that the run folder keeps under its name."""
        deadline = self.search_until.reporting(self.progress, label)
        deadline.report(share)
        begin = time.perf_counter()
        yield deadline
        self.run.add_seconds(name, time.perf_counter() - begin)


def bounds_within(memory: int, settings: MineSettings, graphs: GraphSet) -> Bounds:
    """The limits of a search within the memory budget; a budget that is too small is refused."""
    k, beam = settings.sizes[-1], settings.beam
    if settings.complete or settings.method != "search":  # they keep no lists
        return Bounds.from_memory(max(memory, budget.MIB), k, beam, settings.list_size)
    budget.check(memory, graphs, k, beam)
    bounds = Bounds.from_memory(memory, k, beam, settings.list_size)
    list_size, room = budget.room(memory, graphs, k, beam, bounds.list_size)
    return replace(bounds, list_size=list_size, room=room)


def check(settings: MineSettings, graphs: GraphSet) -> None:
    """Refuse unknown names, those that are not used among them, and settings that exclude each other."""
    from grade.estimators.presets import PRESETS
    from grade.estimators.protocol import estimators

    if settings.start_from is not None and (settings.complete or settings.method == "sampling"):
        raise InputError("`start_from` is for the search; leave out `complete` and the method sampling.")
    for kind, value, known in (
        ("method", settings.method, METHODS),
        ("weighting", settings.weighting, WEIGHTINGS),
        ("preset", settings.preset, PRESETS),
    ):
        if value not in known:
            raise InputError(f"There is no {kind} {value!r}; known: {', '.join(known)}.")
    ranking(settings.rank_by, graphs, settings.beam)
    samplers.check(settings.sampler)
    estimators.check(settings.estimator)
    if settings.complete and (settings.method != "search" or needs_estimator(settings.rank_by)):
        raise InputError("`complete` finds patterns by their supports; leave out `method` and estimators.")
    if (settings.closed or settings.maximal) and not settings.complete:
        raise InputError("`closed` and `maximal` compare all patterns; set `complete` as well.")


def folder_for(graphs: str) -> Path:
    """The default folder of a run on the command line: in the current folder, named after its set.

    >>> str(folder_for("models/**/*.onnx")), str(folder_for("zoo"))
    ('models-onnx-motifs', 'zoo-motifs')
    """
    return Path("-".join(re.findall(r"\w[\w.]*", graphs.replace("*.", ""))[-3:]).strip("-.") + "-motifs")


def split(values: dict[str, Any], *kinds: Any) -> list[dict[str, Any]]:
    """The values grouped by the dataclass with a field of that name; unknown names are refused."""
    names = [{each.name for each in fields(kind)} - {"graphs", "k", "out"} for kind in kinds]
    known = sorted(set().union(*names))
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise InputError(f"There is no setting {', '.join(unknown)}; known: {', '.join(known)}.")
    return [{name: value for name, value in values.items() if name in own} for own in names]

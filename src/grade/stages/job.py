"""What the stages of one run share."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from grade.graphs import GraphSet
from grade.machine import thread_count
from grade.runs import RunFolder
from grade.search import Constraints
from grade.search.beam import Bounds
from grade.settings import MineSettings
from grade.stages.clock import Clock
from grade.units import parse_bytes

Report = Callable[[str, float], None]  # gets the stage and the share of it that is done


class Job:
    """One run: what is asked for, where it is kept, and how much time is left."""

    def __init__(
        self,
        settings: MineSettings,
        graphs: GraphSet,
        constraints: Constraints,
        run: RunFolder,
        clock: Clock,
        report: Report | None,
    ) -> None:
        self.settings, self.graphs, self.constraints, self.run = settings, graphs, constraints, run
        self.clock, self.cut_short = clock, False  # whether the time budget ran out
        self.report = report or (lambda stage, share: None)
        self.threads = thread_count(settings.threads)
        self.bounds = Bounds.from_memory(
            parse_bytes(settings.memory), settings.k, settings.beam, settings.list_size
        )

    @contextmanager
    def stage(self, label: str | None, name: str) -> Iterator[None]:
        """Report that a stage begins, and add its seconds to those that the run folder keeps under the name."""
        begin = time.perf_counter()
        if label:
            self.report(label, 0.0)
        yield
        self.run.add_seconds(name, time.perf_counter() - begin)

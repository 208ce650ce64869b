"""Fit and score the cells of the accuracy tables and of the ablations, several at a time.

    python experiments/accuracy/prepare.py --inputs carry                                  # once: censuses and samples
    python experiments/accuracy/run.py --inputs carry --jobs 3 --cpu-jobs 9    # the tables
    python experiments/accuracy/run.py --inputs carry --jobs 3 --ablations     # the ablations
    python experiments/accuracy/run.py --quick --out /tmp/quick                            # both reduced, in a minute
    python experiments/accuracy/run.py --inputs carry --group disco,scoring --only set=nlp --list

Groups of cells are run in the order of the settings, most valuable first; inside a group, the longest first. A cell
whose scorings are all in the output folder is skipped, so the same command goes on where it stopped. Every job is a
process of its own; on a GPU they share it through NVIDIA's multi-process service where that can be started, because
networks as small as these leave most of it idle. `--cpu-jobs` run the smallest cells on processor cores beside it.
`tables.py` makes tables and figures of the results.
"""

import argparse
import math
import multiprocessing
import os
import platform
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from cells import (
    FIELDS,
    HERE,
    LINES,
    PLAIN,
    Cell,
    Plan,
    Result,
    Settings,
    census_path,
    inputs_of,
    is_done,
    matrix,
    rank_of_groups,
    read_results,
    read_settings,
    renewed,
    select,
    write_lines,
    write_result,
)
from cost import expected_seconds, size_of_samples, suits_cpu
from fitting import read_census, run_cell
from prepare import prepare
from sharing import shared_gpu

from grade.errors import InputError
from grade.estimators import parse_changes


@dataclass(frozen=True)
class Task:
    """A cell that is to be run."""

    cell: Cell
    scorings: list[str]
    seconds: float  # expected, on a GPU that does nothing else
    cpu: bool  # as well on a processor core
    rank: int  # of its group
    again: bool = False  # failed once

    @property
    def kind(self) -> tuple[Any, ...]:
        """Tasks of one kind share what a process compiles."""
        return self.cell.set, self.cell.k, self.cell.estimator, self.cell.variant

    @property
    def name(self) -> str:
        return self.cell.name


def tasks_of(plan: Plan, inputs: Path, settings: Settings, groups: list[str] | None) -> list[Task]:
    """Group by group, and in a group the longest first."""
    ranks = rank_of_groups(settings, groups)
    tasks = []
    for cell, scorings in plan.items():
        sampled = size_of_samples(cell, inputs, settings)
        types = len(read_census(census_path(inputs, cell, cell.k)).patterns)
        seconds = expected_seconds(cell, scorings, sampled, types, settings)
        tasks.append(Task(cell, scorings, seconds, suits_cpu(cell, sampled[0], settings), ranks[cell]))
    return sorted(tasks, key=lambda task: (task.rank, -task.seconds))


# The processes.


def work(pipe: Connection, gpu: bool, inputs: Path, settings: Settings, jobs: int, facts: Result) -> None:
    """A job: runs the cells that it is sent. After a failure it ends, for the device may be in any state."""
    if not gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch

    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    device = device_name()
    pipe.send(None)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        begin = time.perf_counter()
        try:
            result = run_cell(task.cell, task.scorings, inputs, settings, jobs)
            more = {**facts, "device": device, "jobs": jobs, "seconds": round(time.perf_counter() - begin, 3)}
            pipe.send({**result, **more, "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")})
        except Exception:
            pipe.send(traceback.format_exc())
            return
        pipe.send(None)


@dataclass
class Job:
    """A process, and what it is doing."""

    process: SpawnProcess
    gpu: bool
    task: Task | None = None
    last: Task | None = None  # the one before
    seconds: float = 0.0  # that it took


class Jobs:
    """All processes."""

    def __init__(self, number: int, on_cpu: int, *arguments: Any) -> None:
        self.context, self.arguments = multiprocessing.get_context("spawn"), arguments
        self.running: dict[Connection, Job] = {}
        for job in range(number + on_cpu):
            self.start(job < number)

    def start(self, gpu: bool) -> None:
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=work, args=(theirs, gpu, *self.arguments), daemon=True)
        process.start()
        theirs.close()
        self.running[ours] = Job(process, gpu)

    def send(self, pipe: Connection, task: Task) -> None:
        job = self.running[pipe]
        job.last, job.task, job.seconds = job.task, task, 0.0
        pipe.send(task)

    def dismiss(self, pipe: Connection) -> None:
        job = self.running.pop(pipe)
        pipe.close()
        if job.process.is_alive():
            job.process.terminate()


@dataclass
class Queue:
    """The tasks that wait, and how long tasks take here in truth."""

    waiting: list[Task]
    for_cpu: bool  # there are jobs for the processor's cores
    slowness: dict[bool, float] = field(default_factory=dict)  # by gpu or not: seconds for one expected

    def note(self, task: Task, gpu: bool, seconds: float, last: Task | None) -> None:
        """A task ended, in a process whose task before was the last one."""
        # What trains nothing says nothing about training, and the first of a kind on a GPU is compiled for.
        compiled = gpu and (last is None or last.kind != task.kind)
        if task.cell.estimator not in PLAIN and not compiled:
            # The least: others may have been compiled for, too.
            self.slowness[gpu] = min(self.slowness.get(gpu, math.inf), seconds / task.seconds)

    def estimate(self, task: Task, gpu: bool) -> float:
        """Seconds that the task will take, by the tasks that ended; 0 as long as there are none."""
        return task.seconds * self.slowness.get(gpu, 0.0)

    def take(self, gpu: bool, left: float, last: Task | None, others: list[Task]) -> Task | None:
        """One that ends in time, of the first group that has any: for a core one that suits it, for the GPU rather one
        that suits no core. Rather one of the kind of the process's last task, whose compiled code serves again; else
        one of a kind that no other process works on.
        """
        fitting = [task for task in self.waiting if self.estimate(task, gpu) < left]
        mine = [task for task in fitting if (not task.cpu if gpu and self.for_cpu else gpu or task.cpu)]
        mine = mine or (fitting if gpu else [])
        if not mine:
            return None
        taken = {task.kind for task in others}

        def preference(task: Task) -> int:
            return 0 if last is not None and task.kind == last.kind else 1 + (task.kind in taken)

        chosen = min((task for task in mine if task.rank == mine[0].rank), key=preference)
        self.waiting.remove(chosen)
        return chosen


def run(
    tasks: list[Task], jobs: Jobs, seconds: float, stop: float, out: Path, lines: Path | None
) -> list[Cell]:
    """Run tasks until none is left or the time is over; returns the cells that failed.

    Processes that share a GPU through the multi-process service end with any of them that faults, so cells that failed
    are tried once more, each by itself.
    """
    begin, failed = time.monotonic(), []
    queue = Queue(list(tasks), any(not job.gpu for job in jobs.running.values()))
    results = read_results(out)
    while jobs.running:
        left = stop - (time.monotonic() - begin)
        if left <= 0:
            names = [job.task.name for job in jobs.running.values() if job.task is not None]
            print(f"Time is over; given up: {', '.join(names) or 'none'}.", flush=True)
            break
        for pipe in wait(list(jobs.running), timeout=min(left, 1.0)):
            assert isinstance(pipe, Connection)
            job = jobs.running[pipe]
            task = job.task
            try:
                message = pipe.recv()
            except (EOFError, OSError):
                message = "The process ended."
            if isinstance(message, str):
                name = "A job" if task is None else task.name
                print(f"{name} failed: {message}", file=sys.stderr, flush=True)
                jobs.dismiss(pipe)
                if task is not None:
                    if task.again:
                        failed.append(task.cell)
                    else:
                        queue.waiting = [replace(task, again=True), *queue.waiting]
                    jobs.start(job.gpu)
                continue
            now = time.monotonic() - begin
            if message is not None and task is not None:
                cell, job.seconds = task.cell, message["seconds"]
                results[cell] = renewed(results.get(cell), message)
                write_result(results[cell], out)
                for path in [out / LINES, *([lines] if lines else [])]:
                    write_lines(results.values(), path)
                print(f"[{now:6.1f} s] {progress(cell, message)}, {len(queue.waiting)} waiting", flush=True)
                continue
            if task is not None:
                queue.note(task, job.gpu, job.seconds, job.last)
            others = [other.task for other in jobs.running.values() if other is not job and other.task]
            following = queue.take(job.gpu, stop - now, task, others) if now < seconds else None
            if following is None:
                jobs.dismiss(pipe)
            else:
                jobs.send(pipe, following)
    for pipe in list(jobs.running):
        jobs.dismiss(pipe)
    return failed + [task.cell for task in queue.waiting if task.again]


def progress(cell: Cell, result: Result) -> str:
    figures = ", ".join(f"{name} {entry['spearman']:.3f}" for name, entry in result["scorings"].items())
    return f"{cell.name}: rho {figures}; {result['seconds']:.1f} s"


def device_name() -> str:
    """What networks are trained on."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine() + " CPU"


def commit() -> str:
    """The commit of this tree, where it is a git repository."""
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=HERE, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return answer.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=Path, help="the folder that prepare.py filled (carry)")
    parser.add_argument("--out", type=Path, help="the folder of the results (experiments/accuracy/results)")
    parser.add_argument("--lines", type=Path, help="a second file for all results, as JSON lines")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side (1)")
    parser.add_argument(
        "--cpu-jobs", type=int, default=0, help="more of them, for the smallest cells, without GPU (0)"
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="no cell is started after this time"
    )
    parser.add_argument("--stop", type=float, default=float("inf"), help="running cells are given up then")
    parser.add_argument("--ablations", action="store_true", help="the groups of ablations.toml")
    parser.add_argument("--group", help="these groups only, in this order: NAME,NAME ...")
    parser.add_argument(
        "--only", action="append", default=[], metavar="FIELD=VALUES", help=f"of {', '.join(FIELDS)}"
    )
    parser.add_argument("--scorings", help="these scorings only: NAME,NAME ... (all that the cells have)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a setting of all trainings, such as compile=yes",
    )
    parser.add_argument("--quick", action="store_true", help="the reduced matrix; makes its inputs itself")
    parser.add_argument("--list", action="store_true", help="print the cells that would be run")
    parser.add_argument("--again", action="store_true", help="run cells that have results, too")
    parser.add_argument("--commit", help="the commit to note, where the tree has no git folder")
    parser.add_argument(
        "--no-service", action="store_true", help="do not start NVIDIA's multi-process service"
    )
    arguments = parser.parse_args()
    if arguments.quick and arguments.out is None:
        parser.error("give --out with --quick, so that its results stay apart")
    arguments.out = arguments.out or HERE / "results"
    begin = time.monotonic()
    try:
        settings = read_settings(quick=arguments.quick)
        settings["all"] = parse_changes(arguments.set)
        groups = groups_of(settings, arguments.group, arguments.ablations, arguments.quick)
        inputs = arguments.inputs or (arguments.out / "inputs" if arguments.quick else Path("carry"))
        done = {} if arguments.again else read_results(arguments.out)
        wanted = select(matrix(settings, groups), arguments.only)
        if arguments.scorings:
            names = arguments.scorings.split(",")
            wanted = {cell: [name for name in own if name in names] for cell, own in wanted.items()}
            wanted = {cell: own for cell, own in wanted.items() if own}
        cells = {cell: names for cell, names in wanted.items() if not is_done(names, done.get(cell))}
        if arguments.quick:
            prepare(cells, inputs, settings)
        ready = {
            cell: names
            for cell, names in cells.items()
            if all(path.exists() for path in inputs_of(inputs, settings, cell))
        }
        tasks = tasks_of(ready, inputs, settings, groups)
    except InputError as error:
        parser.exit(2, f"{error}\n")
    if arguments.list:
        for task in tasks:
            print(
                f"{task.name:70} {task.seconds:8.1f} s{' (CPU)' if task.cpu else ''} {' '.join(task.scorings)}"
            )
    print(
        f"{len(tasks)} cells to run,"
        f" {sum(task.seconds for task in tasks):,.0f} s of one job expected;"
        f" {len(wanted) - len(cells)} have results; {len(cells) - len(ready)} lack inputs in {inputs}"
        " (prepare.py makes them).",
        file=sys.stderr,
    )
    if arguments.list or not tasks:
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exit like others, which ends the jobs
    number = max(1, min(arguments.jobs, len(tasks)))
    with shared_gpu(number > 1 and not arguments.no_service) as shared:
        print(f"{number} jobs{', with the multi-process service' if shared else ''}.", flush=True)
        facts = {"commit": arguments.commit or commit(), "shared_gpu": shared, "quick": arguments.quick}
        on_cpu = min(arguments.cpu_jobs, sum(task.cpu for task in tasks))
        jobs = Jobs(number, on_cpu, inputs, settings, number, facts)
        used = time.monotonic() - begin
        failed = run(
            tasks, jobs, arguments.seconds - used, arguments.stop - used, arguments.out, arguments.lines
        )
    if failed:
        parser.exit(1, f"{len(failed)} cells failed: {', '.join(cell.name for cell in failed)}\n")


def groups_of(settings: Settings, names: str | None, ablations: bool, quick: bool) -> list[str]:
    """The groups to run: those named; else those of the ablations; else those of the tables. All of them if quick."""
    if names is not None:
        return names.split(",")
    return [group["name"] for group in settings["groups"] if quick or group["ablation"] == ablations]


if __name__ == "__main__":
    main()

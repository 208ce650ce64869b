"""Fit and score the cells of the accuracy tables, several at a time.

    python experiments/accuracy/prepare.py --inputs carry                            # once: censuses and samples
    python experiments/accuracy/run.py --inputs carry --jobs 12 --seconds 3600       # as many cells as fit
    python experiments/accuracy/run.py --quick --out /tmp/quick                      # reduced, on a CPU, in a minute
    python experiments/accuracy/run.py --inputs carry --only estimator=disco --only set=zoo,nlp --list

Cells are run in the order of settings.toml, most valuable first. A cell that has a result in the output folder is
skipped, so the same command goes on where it stopped. Every job is a process of its own; on a GPU they share it through
NVIDIA's multi-process service where that can be started, because networks as small as these leave most of it idle.
`tables.py` makes tables and figures of the results.
"""

import argparse
import multiprocessing
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import numpy as np
from cells import (
    FIELDS,
    HERE,
    LINES,
    Cell,
    Result,
    Settings,
    census_path,
    matrix,
    read_results,
    read_settings,
    sample_path,
    select,
    write_lines,
    write_result,
)
from numpy.typing import NDArray
from prepare import prepare

from grade.errors import InputError
from grade.graphs import SubgraphSample
from grade.graphs.sample import load_sample
from grade.sampling.census import Census

# One cell.


def run_cell(cell: Cell, inputs: Path, settings: Settings, jobs: int) -> Result:
    """Fit, score, compare."""
    census, sample = read_census(census_path(inputs, cell)), load_sample(sample_path(inputs, cell))
    facts = {
        **asdict(cell),
        "types": census.types,
        "instances": census.instances,
        "occurrences": len(sample),
        "sampled_types": len(sample.patterns),
    }
    if cell.estimator == "ceiling":
        return facts | ceiling(census.counts, len(sample), cell.seed)
    return facts | accuracy(cell, census, sample, settings, jobs)


@lru_cache(maxsize=2)
def read_census(path: Path) -> Census:
    return Census.load(path)


def ceiling(counts: NDArray[np.uint64], occurrences: int, seed: int) -> Result:
    """How well ranks are determined at all: rank correlations of the census's counts with

    ties       themselves, equal counts in random order: what perfect scores without ties would reach
    instances  a multinomial draw from their own distribution of as many instances as the set has: how much of the
               ranking one set of this size determines (the figure that is called the ceiling)
    sample     such a draw of the sample's size: what counting in a uniform sample reaches
    """
    from grade.evaluation.ranking import kendall, spearman

    generator = np.random.default_rng([seed, 2])
    shares = counts / counts.sum()
    shuffled = np.lexsort((generator.random(len(counts)), counts)).argsort()
    others = {
        "": generator.multinomial(int(counts.sum()), shares),
        "ties_": shuffled,
        "sample_": generator.multinomial(occurrences, shares),
    }
    result: Result = {"scored": len(counts)}
    for name, other in others.items():
        scores = other.astype(np.float64)
        result |= {f"{name}spearman": spearman(scores, counts), f"{name}kendall": kendall(scores, counts)}
    return result


def accuracy(cell: Cell, census: Census, sample: SubgraphSample, settings: Settings, jobs: int) -> Result:
    """The estimator's rank correlations with the census, and what they cost."""
    import torch

    from grade.estimators import fit, preset
    from grade.evaluation.ranking import kendall, spearman

    changes = dict(settings["variants"][cell.variant])
    name = changes.pop("preset")
    if cell.estimator == "frequency":
        chosen = preset("frequency", seed=cell.seed)
    else:
        share = 0.4 / jobs  # of the free memory: the others want to score, too
        chosen = preset(cell.estimator, name, len(sample), **{"seed": cell.seed, "memory": share, **changes})

    begin = time.perf_counter()
    model = fit(sample, chosen)
    fit_seconds = time.perf_counter() - begin

    per_pattern = {
        "frequency": 1,
        "autoregressive": chosen.members * chosen.order_draws,
        "graphvae": chosen.members * chosen.rounds,
    }.get(cell.estimator, chosen.members * chosen.rounds * chosen.path_steps)
    limit = max(settings["fewest"], settings["evaluations"] // per_pattern)
    rows = np.arange(census.types)
    if cell.estimator != "frequency" and census.types > limit:
        rows = np.sort(np.random.default_rng([cell.seed, 3]).permutation(census.types)[:limit])
    patterns, counts = census.patterns.take(rows), census.counts[rows]
    begin = time.perf_counter()
    scores = model.log_probability(patterns)
    score_seconds = time.perf_counter() - begin
    result = {
        "spearman": spearman(scores, counts),
        "kendall": kendall(scores, counts),
        "scored": len(patterns),
        "evaluations_per_pattern": model.evaluations / len(patterns),
        "fit_seconds": round(fit_seconds, 3),
        "score_seconds": round(score_seconds, 3),
        "steps": model.fitted.get("steps"),
        "parameters": model.fitted.get("parameters"),
        "settings": asdict(chosen),
        "torch": torch.__version__,
    }
    if cell.estimator != "frequency" and chosen.orders == "level":
        # All level orders of a pattern are equally likely, so its correction is a number that is known.
        correction = np.log(patterns.level_orders / patterns.automorphisms)
        plain = scores - correction if chosen.orbit else scores
        for label, values in (("with", plain + correction), ("without", plain)):
            result[f"spearman_{label}_orbit"] = spearman(values, counts)
            result[f"kendall_{label}_orbit"] = kendall(values, counts)
    return result


# Many cells.


def work(pipe: Connection, inputs: Path, settings: Settings, jobs: int, facts: Result) -> None:
    """A job: runs the cells that it is sent. After a failure it ends, for the device may be in any state."""
    import torch

    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine() + " CPU"
    pipe.send(None)
    while True:
        try:
            cell = pipe.recv()
        except EOFError:
            return
        begin = time.perf_counter()
        try:
            result = run_cell(cell, inputs, settings, jobs)
        except Exception:
            pipe.send(traceback.format_exc())
            return
        seconds = round(time.perf_counter() - begin, 3)
        date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        pipe.send({**result, **facts, "device": device, "jobs": jobs, "seconds": seconds, "date": date})


class Jobs:
    """The processes, and what each is doing."""

    def __init__(self, number: int, *arguments: Any) -> None:
        self.context, self.arguments = multiprocessing.get_context("spawn"), arguments
        self.running: dict[Connection, tuple[SpawnProcess, Cell | None]] = {}
        for _ in range(number):
            self.start()

    def start(self) -> None:
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=work, args=(theirs, *self.arguments), daemon=True)
        process.start()
        theirs.close()
        self.running[ours] = (process, None)

    def send(self, pipe: Connection, cell: Cell) -> None:
        self.running[pipe] = (self.running[pipe][0], cell)
        pipe.send(cell)

    def dismiss(self, pipe: Connection) -> None:
        process, _ = self.running.pop(pipe)
        pipe.close()
        if process.is_alive():
            process.terminate()


def run(
    cells: list[Cell], jobs: Jobs, seconds: float, stop: float, out: Path, lines: Path | None
) -> list[Cell]:
    """Run cells until none is left or the time is over; returns those that failed."""
    begin, failed, waiting = time.monotonic(), [], list(cells)
    taken: dict[tuple[Any, ...], float] = {}  # seconds of the longest cell of a kind, whatever the seed
    results = read_results(out)

    def next_cell() -> Cell | None:
        """The first that is known to end in time or of which nothing is known."""
        now = time.monotonic() - begin
        for cell in waiting if now < seconds else []:
            if now + taken.get(kind(cell), 0.0) < stop:
                waiting.remove(cell)
                return cell
        return None

    while jobs.running:
        left = stop - (time.monotonic() - begin)
        if left <= 0:
            names = [cell.name for _, cell in jobs.running.values() if cell is not None]
            print(f"Time is over; given up: {', '.join(names) or 'none'}.", flush=True)
            break
        for pipe in wait(list(jobs.running), timeout=min(left, 1.0)):
            assert isinstance(pipe, Connection)
            cell = jobs.running[pipe][1]
            try:
                message = pipe.recv()
            except (EOFError, OSError):
                message = "The process ended."
            if isinstance(message, str):
                print(
                    f"{'A job' if cell is None else cell.name} failed: {message}", file=sys.stderr, flush=True
                )
                jobs.dismiss(pipe)
                if cell is not None:
                    failed.append(cell)
                    jobs.start()
                continue
            if message is not None and cell is not None:
                results[cell] = message
                taken[kind(cell)] = max(message["seconds"], taken.get(kind(cell), 0.0))
                write_result(message, out)
                for path in [out / LINES, *([lines] if lines else [])]:
                    write_lines(results.values(), path)
                now = time.monotonic() - begin
                print(
                    f"[{now:6.1f} s] {cell.name}: rho {message['spearman']:.3f}, tau {message['kendall']:.3f},"
                    f" {message['seconds']:.1f} s, {len(waiting)} waiting",
                    flush=True,
                )
            following = next_cell()
            if following is None:
                jobs.dismiss(pipe)
            else:
                jobs.send(pipe, following)
    for pipe in list(jobs.running):
        jobs.dismiss(pipe)
    return failed


def kind(cell: Cell) -> tuple[Any, ...]:
    return (cell.set, cell.k, cell.estimator, cell.variant)


@contextmanager
def shared_gpu(wanted: bool) -> Iterator[bool]:
    """NVIDIA's multi-process service, so that the kernels of several processes run at the same time.

    Without it they take turns. True where it was started and a process could use the GPU through it.
    """
    control = shutil.which("nvidia-cuda-mps-control")
    if not wanted or control is None or not Path("/dev/nvidiactl").exists():
        yield False
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        places = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        environment = {**os.environ, **places}
        probe = [sys.executable, "-c", "import torch; print(torch.ones(2, device='cuda').sum().item())"]
        daemon = works = False
        try:
            daemon = subprocess.run([control, "-d"], env=environment, timeout=10).returncode == 0
            works = daemon and (
                subprocess.run(probe, env=environment, timeout=60, capture_output=True).returncode == 0
            )
        except subprocess.TimeoutExpired:
            pass  # the jobs take turns, then
        if works:
            os.environ.update(places)  # the jobs inherit it
        try:
            yield works
        finally:
            for name in places:
                os.environ.pop(name, None)
            if daemon:
                try:
                    subprocess.run([control], input=b"quit\n", env=environment, timeout=10, check=False)
                except subprocess.TimeoutExpired:
                    print("The multi-process service did not end in time.", file=sys.stderr)


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
        "--seconds", type=float, default=float("inf"), help="no cell is started after this time"
    )
    parser.add_argument("--stop", type=float, default=float("inf"), help="running cells are given up then")
    parser.add_argument(
        "--only", action="append", default=[], metavar="FIELD=VALUES", help=f"of {', '.join(FIELDS)}"
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
        inputs = arguments.inputs or (arguments.out / "inputs" if arguments.quick else Path("carry"))
        done = {} if arguments.again else read_results(arguments.out)
        cells = [cell for cell in select(matrix(settings), arguments.only) if cell not in done]
        if arguments.quick:
            prepare(cells, inputs, settings)
    except InputError as error:
        parser.exit(2, f"{error}\n")
    ready = [c for c in cells if census_path(inputs, c).exists() and sample_path(inputs, c).exists()]
    if arguments.list:
        print("\n".join(cell.name for cell in ready))
    print(
        f"{len(ready)} cells to run; {len(done)} have results; {len(cells) - len(ready)} lack inputs in {inputs}"
        " (prepare.py makes them).",
        file=sys.stderr,
    )
    if arguments.list or not ready:
        return
    number = max(1, min(arguments.jobs, len(ready)))
    with shared_gpu(number > 1 and not arguments.no_service) as shared:
        print(f"{number} jobs{', with the multi-process service' if shared else ''}.", flush=True)
        facts = {"commit": arguments.commit or commit(), "shared_gpu": shared, "quick": arguments.quick}
        jobs = Jobs(number, inputs, settings, number, facts)
        used = time.monotonic() - begin
        failed = run(
            ready, jobs, arguments.seconds - used, arguments.stop - used, arguments.out, arguments.lines
        )
    if failed:
        parser.exit(1, f"{len(failed)} cells failed: {', '.join(cell.name for cell in failed)}\n")


if __name__ == "__main__":
    main()

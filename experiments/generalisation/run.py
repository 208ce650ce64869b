"""How well estimators rank the patterns of sets of several domains.

    python experiments/generalisation/run.py --set zoo --set molecules -k 4 --seed 1    # appends to results/rows.jsonl
    python experiments/generalisation/run.py --set zoo -k 4 --seed 1 --estimators settings
    python experiments/generalisation/run.py --plan --jobs 10 --stop 400                # all that the page shows
    python experiments/generalisation/run.py --table                                    # writes results/results.md

Each row: the exact census, a Rand-ESU sample that shows a tenth of the patterns, and Spearman's rho and Kendall's tau-b
over all patterns by each estimator. Rows that the file has are not made again. The design of the posterior was chosen
by looking at the rows of some seeds; those from `FIRST_FRESH` on are reports. Settings of `parts` (`SETTINGS`) are
chosen, one set left out, by the others. Seconds are those of the fit, sample and parts not counted.

``--plan`` makes the rows in the order of `PLAN`, several at a time, on the GPU where there is one. Sets that `--save`
wrote are read from the data folder, so that machines with other versions of Python rank the same patterns.
"""

import argparse
import fcntl
import json
import multiprocessing
import os
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from domains import DOMAINS, load_domain
from tables import page

from grade.estimators import fit, preset_for
from grade.estimators.evidence.part_sources import affordable_size, part_sources
from grade.evaluation.correlation import kendall, spearman
from grade.files import whole_file
from grade.graphs import SubgraphSample
from grade.graphs.storage import save_graph_set
from grade.sampling import sample
from grade.sampling.census import Census, take_census
from grade.settings import EstimatorSettings

RESULTS = Path(__file__).parent / "results"
ROWS = RESULTS / "rows.jsonl"
EVIDENCE = "grade.estimators.evidence"
# What `parts` could do otherwise: values of its modules that take the place of theirs.
SETTINGS: dict[str, dict[str, Any]] = {
    "parts": {},
    "no raking": {f"{EVIDENCE}.part_model.MOST_RAKED": 0},
    "weights from the sample alone": {f"{EVIDENCE}.part_model.weights_below": lambda parts, gap: None},
    "no exchangeable types": {f"{EVIDENCE}.exchangeable.MOST_TYPES": 0},
    "pull 0.1": {f"{EVIDENCE}.rates.PULL": 0.1},
    "pull 2.5": {f"{EVIDENCE}.rates.PULL": 2.5},
}
ESTIMATORS = {
    **dict.fromkeys(SETTINGS, ("parts", "default")),
    "frequency": ("frequency", "default"),
    "fast": ("autoregressive", "fast"),
    "default": ("autoregressive", "default"),
    "disco": ("disco", "default"),
    "disco-paper": ("disco", "paper"),
}
# Sets and sizes of which 40,000 occurrences are drawn: a tenth of the patterns would take millions.
FIXED = {("circuits", 5), ("syntax", 5), ("zoo", 6), ("zoo-large", 5)}
FIXED_COUNT = 40_000
# The paper trains for 200 epochs, which are 100,000 steps on a sample of zoo.
MOST_PAPER_STEPS = 6_000
# A path takes hundreds of evaluations a pattern: diffusion models score a random choice.
MOST_SCORED = 2_000

FRONT = ("nas-bench-101", "nas-bench-201", "darts", "nas-bench-nlp", "zoo")
OTHERS = ("bytecode", "circuits", "molecules", "onnx-light", "syntax")
# (sets, sizes, seeds, estimators): what takes longest first, then the most important.
ALL = ("frequency", "parts", "default", "fast")
PLAN = (
    (("zoo-large",), (5, 4), (3,), (*ALL, "disco")),
    (("zoo",), (6,), (3,), ALL),
    (FRONT, (5, 4), (3,), ALL),
    (OTHERS, (5, 4), (3,), ALL),
    (FRONT, (5, 4), (4, 5), ("frequency", "parts", "default")),
    (FRONT, (5, 4), (3,), ("disco",)),
    ((*FRONT, *OTHERS), (4, 5), (3,), tuple(SETTINGS)),
    (("zoo-large",), (4, 5), (3,), ("disco-paper",)),
    (FRONT, (5, 4), (3,), ("disco-paper",)),
)


@dataclass
class Job:
    """One row, or several of the same sample."""

    name: str
    k: int
    seed: int
    estimators: tuple[str, ...]
    device: str
    share: float  # of the memory of the device
    folder: Path | None
    out: Path
    changes: dict[str, Any]  # of settings, for a quick run
    census: Census | None = None

    def missing(self) -> list[str]:
        """The estimators without a row."""
        known = {
            row["estimator"]
            for row in read_rows(self.out)
            if (row["set"], row["k"], row["seed"]) == (self.name, self.k, self.seed)
        }
        return [each for each in self.estimators if each not in known]

    def make(self) -> str:
        """Make the rows, and say what came out."""
        wanted = self.missing()
        if not wanted:
            return f"{self.name} k = {self.k} seed {self.seed}: nothing to do"
        graphs = load_domain(self.name, self.folder)
        self.census = take_census(graphs, self.k, threads=2)
        if (self.name, self.k) in FIXED:
            drawn = sample(graphs, self.k, "rand-esu", count=FIXED_COUNT, seed=self.seed, threads=2)
        else:
            drawn = sample(
                graphs, self.k, "rand-esu", density=0.1, seed=self.seed, census=self.census, threads=2
            )
        return "; ".join(self.row(each, drawn) for each in wanted)

    def row(self, estimator: str, drawn: SubgraphSample) -> str:
        """Fit, score, and append the row."""
        if estimator == "parts" and drawn.parts is not None:
            largest = affordable_size(self.k, drawn.parts.size)
            sources = part_sources(self.census.patterns, drawn.parts.counts, largest)
            for source, scores in zip(("joined", "rarest"), sources.T, strict=False):
                self.note(source, drawn, scores, self.census.counts, {})
        settings = self.settings(estimator, drawn)
        begin, processor = time.perf_counter(), time.process_time()
        with ExitStack() as changed:
            for place, value in SETTINGS.get(estimator, {}).items():
                changed.enter_context(patch(place, value))
            model = fit(drawn, settings)
        seconds, processor = time.perf_counter() - begin, time.process_time() - processor
        patterns, counts = self.census.patterns, self.census.counts
        if estimator.startswith("disco") and len(patterns) > MOST_SCORED:
            rows = np.random.default_rng([self.seed, 7]).choice(len(patterns), MOST_SCORED, replace=False)
            patterns, counts = patterns.take(rows), counts[rows]
        begin = time.perf_counter()
        scores = model.log_probability(patterns)
        more = {
            "scored": len(patterns),
            "fit_seconds": round(processor, 1),
            "wall_seconds": round(seconds, 1),
            "score_seconds": round(time.perf_counter() - begin, 1),
            "steps": model.fitted.steps,
            "posterior": model.fitted.to_json().get("posterior", {}).get(str(self.k)),
            "device": device_name(self.device),
            "commit": commit(),
        }
        return self.note(estimator, drawn, scores, counts, more)

    def settings(self, estimator: str, drawn: SubgraphSample) -> EstimatorSettings:
        """Those of the preset, on the device, for as many steps as can be afforded."""
        name, preset = ESTIMATORS[estimator]
        settings = preset_for([drawn], name, preset, seed=self.seed)
        known = settings.values()
        changes: dict[str, Any] = {"device": self.device, "memory": 0.4 * self.share, **self.changes}
        if preset == "paper":
            most = self.changes.get("maximum_steps", MOST_PAPER_STEPS) * known["batch"] / len(drawn)
            changes["epochs"] = min(known["epochs"], most)
        return settings.changed(**{each: value for each, value in changes.items() if each in known})

    def note(
        self, estimator: str, drawn: SubgraphSample, scores: Any, counts: Any, more: dict[str, Any]
    ) -> str:
        """Append a row; several processes may do so at a time."""
        row = {
            "set": self.name,
            "k": self.k,
            "seed": self.seed,
            "instances": self.census.instances,
            "patterns": len(self.census.patterns),
            "occurrences": len(drawn),
            "seen": len(drawn.patterns),
            "estimator": estimator,
            "spearman": spearman(scores, counts),
            "kendall": kendall(scores, counts),
            **more,
        }
        with self.out.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(json.dumps(row) + "\n")
        return f"{self.name} k = {self.k} seed {self.seed} {estimator}: {row['spearman']:.3f}"


def device_name(device: str) -> str:
    """The GPU, or the processor's kind."""
    import torch

    if device != "cpu" and torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return "cpu"


def commit() -> str:
    """That of the working tree; GRADE_COMMIT names it where the tree was copied without its history."""
    given = os.environ.get("GRADE_COMMIT")
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return (
        given
        or subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        ).stdout.strip()
    )


def read_rows(path: Path = ROWS) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def attempt(job: Job) -> str:
    """Make a job's rows; one that fails must not end the others."""
    begin = time.perf_counter()
    try:
        said = job.make()
    except Exception as error:
        said = f"{job.name} k = {job.k} {job.estimators}: {type(error).__name__}: {error}"
    import torch

    torch.cuda.empty_cache()  # for the other processes
    return f"{said} ({time.perf_counter() - begin:.0f} s)"


def run_all(jobs: list[Job], processes: int, stop: float) -> None:
    """Run the jobs in their order until the time is over."""
    end = time.monotonic() + stop
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        running = pool.imap_unordered(attempt, jobs)
        for _ in jobs:
            try:
                print(running.next(timeout=max(0.0, end - time.monotonic())), flush=True)
            except multiprocessing.TimeoutError:
                print("The time is over; the rows that are missing are made by the next call.", flush=True)
                return


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", action="append", default=[], help="a domain, or a source that grade knows")
    parser.add_argument("-k", type=int, action="append", help="sizes (4)")
    parser.add_argument("--seed", type=int, action="append", help="seeds of sample and fit (0)")
    parser.add_argument(
        "--estimators", default="frequency,parts,fast,default", help="names, or settings: all those of parts"
    )
    parser.add_argument("--plan", action="store_true", help="all rows of the page")
    parser.add_argument(
        "--data", type=Path, help="the folder of saved sets, wheels and NAS-Bench-NLP's recipes"
    )
    parser.add_argument(
        "--save", action="store_true", help="save the sets of other domains to the data folder"
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--stop", type=float, default=1e6, help="seconds after which the run ends")
    parser.add_argument("--out", type=Path, default=ROWS, help="the file that rows are appended to")
    parser.add_argument("--quick", action="store_true", help="a few steps, to see that it runs")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    estimators = tuple(SETTINGS if given.estimators == "settings" else given.estimators.split(","))
    if given.save:
        for name in (*DOMAINS, "onnx-light", "nas-bench-nlp"):
            save_graph_set(load_domain(name, given.data), given.data / name)
    plan = [(given.set, given.k or [4], given.seed or [0], estimators)]
    if given.plan:
        plan = [*PLAN]
    changes = {"maximum_steps": 40, "rounds": 2, "path_steps": 4} if given.quick else {}
    jobs = [
        Job(name, k, seed, tuple(wanted), given.device, 1 / given.jobs, given.data, given.out, changes)
        for names, sizes, seeds, wanted in plan
        for seed in seeds
        for k in sizes
        for name in names
    ]
    run_all([job for job in jobs if job.missing()], given.jobs, given.stop)
    if given.table:
        with whole_file(RESULTS / "results.md") as temporary:
            temporary.write_text(page(read_rows(), list(SETTINGS)))


if __name__ == "__main__":
    main()

"""How frequent are the patterns that each method finds? The paper's discovery experiment (its section "Discovery
Capability of the GraDE Framework"), with ours beside it.

    python experiments/discovery/run.py --jobs 2                         # zoo, k = 4..15: hours on two cores
    python experiments/discovery/run.py --jobs 9 --stop 380 --end 500    # on a GPU with 16 cores
    python experiments/discovery/run.py --quick --out quick-results
    python experiments/discovery/run.py --tables                         # only the tables and figures

For every size k, each method names its 50 best patterns, without constraints and, some of them, under those of the
paper's case study. Methods: the most frequent patterns of a sample, one for each sampler; GraDE, the beam search ranked
by an estimator that was fitted to such samples (DisCo-E as in the paper, `parts`
without a network); the search ranked by its own unbiased counts (occurrences), by the posterior mean of these and an
estimator (posterior), and by the occurrences that share no node (disjoint).

All patterns that were named are then counted, each once whoever named it, in two ways. Exact counting with a cut-off is
the paper's protocol: what is found by then counts, a lower bound. It says little where occurrences are in the billions,
so every pattern also gets an unbiased estimate from fresh seeds, with its error, by lists that share nothing with those
of the searches.

The work is cut into tasks that leave files under OUT/tasks: a run that is stopped goes on when it is started again. A
search names the patterns of a size as soon as it has a model of that size. After ``--stop`` seconds no more patterns
are named; those that were are counted until ``--end``. Each task takes one thread.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import platform
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from summaries import estimated, summary

from grade.estimators import fit_to_folder, load_estimator, preset_for
from grade.files import whole_file
from grade.graphs import GraphSet, PatternTable
from grade.graphs.sample import SubgraphSample, load_sample, save_sample
from grade.progress import Deadline, OutOfTime
from grade.sampling import sample
from grade.search import Constraints, beam_search
from grade.search.beam import START, Bounds, derived
from grade.search.candidates import Counted
from grade.search.ranking import ranking
from grade.sources import load
from grade.verify import verify_patterns
from grade.verify.estimates import draw_counts, family_of

HERE = Path(__file__).parent
ESTIMATE_SEED = 1  # names the seeds of the estimates; the searches use others
LOOKS = 0.5  # seconds between looks for a file that another task writes
GRACE = 30.0  # seconds for tasks to end by themselves
UNDER = ("none", "case study")

Task = tuple[str, str, tuple[Any, ...]]
"""(file that it leaves, name of the method, arguments)."""


@dataclass(frozen=True)
class Experiment:
    """The tasks. Each writes files or a folder under ``work`` and waits for those of other tasks."""

    settings: dict[str, Any]
    rules: dict[str, Any]  # the case study's constraints
    work: Path
    until: float = float("inf")  # the time after which nothing more is named

    @cached_property
    def graphs(self) -> GraphSet:
        return load(self.settings["set"])

    @cached_property
    def constraints(self) -> dict[str, Constraints]:
        return {"none": Constraints(), "case study": Constraints(**self.rules)}

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.settings["capacity"], self.settings["list_size"])

    # Sampling and training.

    def draw(self, sampler: str, k: int) -> None:
        """Sample one size."""
        begin = time.perf_counter()
        options = {
            name: value for name, value in self.settings["samplers"][sampler].items() if name != "largest"
        }
        drawn = sample(
            self.graphs, k, **options, count=self.settings["samples"], seed=self.settings["seed"], threads=1
        )
        seconds = time.perf_counter() - begin
        save_sample(drawn, self.work / f"samples/{sampler}-{k}")
        self.write(f"sampled/{sampler}-{k}", {"seconds": seconds, "patterns": len(drawn.patterns)})

    def sizes_of(self, sampler: str) -> list[int]:
        """Those that the sampler can draw in reasonable time."""
        most = self.settings["samplers"][sampler].get("largest", np.inf)
        return [k for k in self.settings["sizes"] if k <= most]

    def sample(self, sampler: str, k: int) -> SubgraphSample:
        self.read(f"sampled/{sampler}-{k}")
        return load_sample(self.work / f"samples/{sampler}-{k}")

    def train(self, model: str, k: int) -> None:
        """Train the estimator of one size."""
        given = self.settings["models"][model]
        drawn = self.sample(given["sampler"], k)
        seed = self.settings["seed"] + given.get("seed", 0)
        chosen = preset_for(
            [drawn], given["estimator"], given.get("preset", "default"), seed=seed, **given.get("changes", {})
        )
        begin = time.perf_counter()
        fitted = fit_to_folder(drawn, chosen, self.work / f"models/{model}-{k}", self.look_at_clock).fitted
        seconds = time.perf_counter() - begin
        self.write(f"trained/{model}-{k}", {"seconds": seconds, "fitted": fitted.to_json()})

    # Methods name patterns.

    def baseline(self, sampler: str, under: str) -> None:
        """The most frequent patterns of each sample, among those that satisfy the constraints."""
        for k in self.sizes_of(sampler):
            drawn = self.sample(sampler, k)
            accepted = np.flatnonzero(self.constraints[under].accepts(drawn.patterns))
            order = accepted[np.argsort(-drawn.weighted_counts[accepted], kind="stable")]
            best = drawn.patterns.take(order[: self.settings["top"]])
            seconds = {"sampling": self.read(f"sampled/{sampler}-{k}")["seconds"]}
            self.name(sampler, under, k, best, seconds)

    def search(self, method: str, under: str) -> None:
        """A beam search from 3 nodes to the largest size; every size on the way is a result."""
        sizes, constraints = self.settings["sizes"], self.constraints[under]
        given = self.settings["searches"][method]
        model = given.get("model")
        waited = 0.0

        def score(lists: Counted) -> Any:
            """Ranked by the model of this size, as soon as it is there."""
            nonlocal waited
            size, models = lists.patterns.size, {}
            if model and size in sizes:
                begin = time.perf_counter()
                self.read(f"trained/{model}-{size}")
                waited += time.perf_counter() - begin
                models[size] = load_estimator(self.work / f"models/{model}-{size}").log_probability
            deadline = Deadline.after(self.until - time.time())
            return ranking(given["rank_by"], self.graphs, self.settings["beam"], models, deadline)(lists)

        levels = beam_search(
            self.graphs,
            sizes[-1],
            beam=self.settings["beam"],
            score=score,
            constraints=constraints,
            bounds=self.bounds,
            seed=self.settings["seed"] + given.get("seed", 0),
            threads=1,
        )
        for level in levels:
            if level.size not in sizes:
                continue
            # Smaller patterns may have been kept because they can still grow into what is wanted.
            accepted = np.flatnonzero(constraints.accepts(level.lists.patterns))[: self.settings["top"]]
            seconds = {"search": level.seconds - waited}
            if model:
                sampler = self.settings["models"][model]["sampler"]
                seconds |= {
                    "sampling": self.read(f"sampled/{sampler}-{level.size}")["seconds"],
                    "training": self.read(f"trained/{model}-{level.size}")["seconds"],
                }
            self.name(method, under, level.size, level.lists.patterns.take(accepted), seconds)
            print(
                f"{method}, {under}, k = {level.size}: {level.seconds - waited:.0f} s after {waited:.0f} s, of"
                f" {level.candidates:,}",
                flush=True,
            )
            waited = 0.0

    def name(
        self, method: str, under: str, k: int, patterns: PatternTable, seconds: dict[str, float]
    ) -> None:
        keys = [pattern.key for pattern in patterns]
        self.write(f"named/{method}, {under}, {k}", {"keys": keys, "seconds": seconds})

    @property
    def methods(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """(task, constraints) by the name of the method, in the order of the tables."""
        searches = self.settings["searches"].items()
        return {
            **{name: ("search", UNDER if given.get("both") else UNDER[:1]) for name, given in searches},
            **dict.fromkeys(self.settings["samplers"], ("baseline", UNDER)),
        }

    # All that was named is counted.

    def named(self, under: str) -> dict[str, dict[int, dict[str, Any]]]:
        """What each method named of each size under the constraints, so far."""
        return {
            method: {
                k: self.read(f"named/{method}, {under}, {k}")
                for k in self.settings["sizes"]
                if self.done(f"named/{method}, {under}, {k}")
            }
            for method, (_, wanted) in self.methods.items()
            if under in wanted
        }

    def keys(self, under: str, k: int) -> list[str]:
        """The different patterns of one size that any method named."""
        return sorted({key for own in self.named(under).values() for key in own.get(k, {"keys": []})["keys"]})

    def label(self, under: str, *sizes: int) -> str:
        """A name for the patterns to count: another one as soon as others are named."""
        keys = json.dumps([self.keys(under, k) for k in sizes])
        return f"{under}, {hashlib.sha256(keys.encode()).hexdigest()[:8]}"

    def table(self, keys: list[str]) -> PatternTable:
        return PatternTable.from_keys(keys, self.graphs.node_vocabulary, self.graphs.edge_vocabulary)

    def count(self, name: str, under: str, k: int) -> None:
        """Exact counts with a cut-off, the paper's protocol."""
        keys = self.keys(under, k)
        found = verify_patterns(self.graphs, self.table(keys), self.settings["cutoff"], threads=1)
        self.write(
            name,
            {
                key: [support.occurrences, support.occurrences_quality == "exact", support.disjoint]
                for key, support in zip(keys, found, strict=True)
            },
        )

    def compare_cutoffs(self, k: int) -> None:
        """Counts of what GraDE and the sampler named, with several cut-offs: the paper's sensitivity analysis."""
        result = []
        for method in self.settings["sensitivity_methods"]:
            patterns = self.table(self.named("none")[method][k]["keys"])
            for cutoff in self.settings["sensitivity_cutoffs"]:
                found = verify_patterns(self.graphs, patterns, cutoff, threads=1)
                counts = [support.occurrences for support in found]
                figures = {"median": float(np.median(counts)), "mean": float(np.mean(counts))}
                result.append({"method": method, "cutoff": cutoff, **figures})
        self.write(f"cutoffs/{k}", result)

    def estimate(self, name: str, under: str) -> None:
        """Replicates of the unbiased counts of all patterns of all sizes.

        Growing under the constraints loses nothing: whatever leads to a wanted occurrence satisfies them.
        """
        wanted = {k: self.table(keys) for k in self.settings["sizes"] if (keys := self.keys(under, k))}
        family = family_of(wanted)
        drawn = draw_counts(
            self.graphs,
            family,
            constraints=self.constraints[under],
            bounds=self.bounds,
            seed=derived(self.settings["seed"], ESTIMATE_SEED),
        )
        found: dict[str, dict[str, list[float]]] = {}
        for k, table in wanted.items():
            rows = family[k - START].find(table)
            found[str(k)] = {
                key: [float(replicate[k - START][row]) for replicate in drawn]
                for key, row in zip(self.keys(under, k), rows.tolist(), strict=True)
            }
        self.write(name, found)

    # Files.

    def write(self, name: str, data: Any) -> None:
        path = self.work / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary:
            temporary.write_text(json.dumps(data))

    def read(self, name: str) -> Any:
        """The file of another task, as soon as it is there."""
        while not self.done(name):
            self.look_at_clock()
            time.sleep(LOOKS)
        return json.loads((self.work / f"{name}.json").read_text())

    def look_at_clock(self, report: Any = None) -> None:
        """Tasks end by themselves: one that is killed may take others on the same GPU with it."""
        if time.time() > self.until:
            raise OutOfTime

    def done(self, name: str) -> bool:
        return (self.work / f"{name}.json").exists()

    # The order of the tasks.

    def makers(self) -> Iterator[Task]:
        """Samples, then models, the most important first."""
        for k in self.settings["sizes"]:
            for sampler in (name for name in self.settings["samplers"] if k in self.sizes_of(name)):
                yield f"sampled/{sampler}-{k}", "draw", (sampler, k)
        models = self.settings["models"]
        for rank in sorted({given["rank"] for given in models.values()}):
            for k in self.settings["sizes"]:
                for model in (name for name, given in models.items() if given["rank"] == rank):
                    yield f"trained/{model}-{k}", "train", (model, k)

    def namers(self) -> Iterator[Task]:
        """Methods that wait for samples and models. Each names the largest size last."""
        for method, (task, constraints) in self.methods.items():
            last = self.settings["sizes"][-1] if task == "search" else self.sizes_of(method)[-1]
            for under in constraints:
                yield f"named/{method}, {under}, {last}", task, (method, under)

    def counters(self) -> Iterator[Task]:
        """Counts of all that was named."""
        for under in UNDER:
            sizes = [k for k in self.settings["sizes"] if self.keys(under, k)]
            if not sizes:
                continue
            name = f"estimated/{self.label(under, *self.settings['sizes'])}"
            yield name, "estimate", (name, under)
            for k in sizes:
                name = f"counted/{k}, {self.label(under, k)}"
                yield name, "count", (name, under, k)
        named = self.named("none")
        for k in self.settings["sensitivity_sizes"]:
            if all(k in named[method] for method in self.settings["sensitivity_methods"]):
                yield f"cutoffs/{k}", "compare_cutoffs", (k,)

    def run(self, jobs: int, stop: float, end: float) -> None:
        """All tasks that have left no file yet, until the time is over."""
        begin = time.monotonic()
        for folder in ("samples", "models"):
            (self.work / folder).mkdir(parents=True, exist_ok=True)
        context = multiprocessing.get_context("spawn")
        waiting = [task for task in self.namers() if not self.done(task[0])]
        with context.Pool(jobs) as making, context.Pool(max(1, min(len(waiting), 3 * jobs))) as naming:
            limited = replace(self, until=time.time() + stop)
            running = [making.apply_async(perform, (limited, *task)) for task in self.makers()]
            running += [naming.apply_async(perform, (limited, *task)) for task in waiting]
            follow(running, begin + stop + GRACE)
        with context.Pool(jobs) as counting:
            follow([counting.apply_async(perform, (self, *task)) for task in self.counters()], begin + end)

    def results(self) -> Iterator[dict[str, Any]]:
        """One row for each method, constraints and size; then the sensitivity to the cut-off."""
        for under in UNDER:
            label = self.label(under, *self.settings["sizes"])
            estimates = self.read(f"estimated/{label}") if self.done(f"estimated/{label}") else {}
            for method, by_size in self.named(under).items():
                for k, row in by_size.items():
                    name = f"counted/{k}, {self.label(under, k)}"
                    if not self.done(name) or str(k) not in estimates:
                        continue
                    keys, counted = row["keys"], self.read(name)
                    drawn = np.array([estimates[str(k)][key] for key in keys]).T
                    yield {
                        "method": method,
                        "constraints": under,
                        "k": k,
                        "patterns": len(keys),
                        "seconds": {name: round(value, 2) for name, value in row["seconds"].items()},
                        "counted": summary([counted[key][0] for key in keys]),
                        "exact": sum(counted[key][1] for key in keys),
                        "disjoint": summary([counted[key][2] for key in keys]),
                        "estimated": estimated(list(drawn), [counted[key] for key in keys]),
                    }
        for k in self.settings["sensitivity_sizes"]:
            if self.done(f"cutoffs/{k}"):
                yield from ({"cutoffs": True, "k": k, **row} for row in self.read(f"cutoffs/{k}"))


def perform(experiment: Experiment, name: str, task: str, arguments: tuple[Any, ...]) -> str | None:
    """One task in a worker. One that fails must not end the others: it returns why."""
    if experiment.done(name) or time.time() > experiment.until:
        return None
    torch.set_num_threads(1)
    begin = time.perf_counter()
    function: Callable[..., None] = getattr(experiment, task)
    try:
        function(*arguments)
    except OutOfTime:
        return None
    except Exception as error:
        return f"{name}: {type(error).__name__}: {error}"
    print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
    return None


def follow(running: list[Any], until: float) -> None:
    """Wait for tasks until the time is over; one that failed ends the run, if there is no such time."""
    while running and time.monotonic() < until:
        time.sleep(LOOKS)
        for one in [each for each in running if each.ready()]:
            running.remove(one)
            if failure := one.get():
                print(failure, flush=True)
                if until == float("inf"):
                    raise SystemExit(1)


def lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--settings", type=Path, default=HERE / "settings.toml")
    parser.add_argument("--jobs", type=int, default=1, help="tasks at a time, each on one thread")
    parser.add_argument("--stop", type=float, default=float("inf"), help="seconds to name patterns in")
    parser.add_argument("--end", type=float, default=float("inf"), help="seconds after which the run ends")
    parser.add_argument("--quick", action="store_true", help="reduced, on zoo-mini")
    parser.add_argument(
        "--no-tables", action="store_true", help="no tables and figures, which need matplotlib"
    )
    parser.add_argument("--tables", action="store_true", help="only make tables and figures again")
    arguments = parser.parse_args()
    everything = tomllib.loads(arguments.settings.read_text())
    settings = everything["quick" if arguments.quick else "full"]
    out: Path = arguments.out
    if not arguments.tables:
        os.environ["OMP_NUM_THREADS"] = "1"  # for the workers
        experiment = Experiment(settings, everything["constraints"], out / "tasks")
        experiment.run(arguments.jobs, arguments.stop, arguments.end)
        with whole_file(out / "results.jsonl") as temporary:
            temporary.write_text(lines(experiment.results()))
        device = f" and {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
        (out / "machine.txt").write_text(
            f"{datetime.now(UTC):%Y-%m-%d}, {arguments.jobs} jobs of one thread each on {platform.machine()}{device}.\n"
        )
    if arguments.no_tables:
        return
    from tables import make_tables  # which needs matplotlib

    make_tables(out, settings)


if __name__ == "__main__":
    main()

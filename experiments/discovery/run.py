"""How frequent are the patterns that each method finds? The paper's discovery experiment (its section "Discovery
Capability of the GraDE Framework"), with ours beside it.

    python experiments/discovery/run.py --jobs 2            # zoo, k = 4..15: about an hour on two cores
    python experiments/discovery/run.py --quick --out quick-results
    python experiments/discovery/run.py --tables            # only the tables and figures, from results.jsonl

For every size k, each method names its 50 best patterns, once without constraints and once under those of the paper's
case study. Methods: the most frequent patterns of a sample (one for each sampler); GraDE, the beam search ranked by an
estimator that was trained on the same sample; the beam search ranked by its own unbiased counts (occurrences), by both
together (estimator), and by the occurrences that share no node (disjoint). GraDE runs once more with a larger network.

All patterns that were named are then counted, each once whoever named it, in two ways. Exact counting with a cut-off is
the paper's protocol: what is found by then counts, a lower bound. It says little where occurrences are in the billions,
so every pattern also gets an unbiased estimate from fresh seeds, with its error, by lists that share nothing with those
of the searches.

The work is cut into tasks that leave one file each under OUT/tasks: a run that is stopped goes on when it is started
again. `--jobs` runs that many tasks at a time, each on one thread.
"""

import argparse
import json
import multiprocessing
import os
import platform
import time
import tomllib
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tables import LARGER, make_tables

from grade.estimators import fit_to_folder, load_estimator, preset
from grade.files import whole_file
from grade.graphs import GraphSet, PatternTable
from grade.graphs.sample import SubgraphSample, load_sample, save_sample
from grade.sampling import sample
from grade.search import Constraints, beam_search
from grade.search.beam import START, Bounds, derived
from grade.search.ranking import ranking
from grade.sources import load
from grade.verify import verify_patterns
from grade.verify.estimates import draw_counts, family_of, mean_and_error

HERE = Path(__file__).parent
ESTIMATE_SEED = 1  # names the seeds of the estimates; the searches use others


@dataclass(frozen=True)
class Experiment:
    """The tasks. Each writes one file or folder under ``work`` and reads those of earlier stages."""

    settings: dict[str, Any]
    rules: dict[str, Any]  # the case study's constraints
    work: Path

    @cached_property
    def graphs(self) -> GraphSet:
        return load(self.settings["set"])

    @cached_property
    def constraints(self) -> dict[str, Constraints]:
        return {"none": Constraints(), "case study": Constraints(**self.rules)}

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.settings["capacity"], self.settings["list_size"])

    @property
    def searches(self) -> dict[str, tuple[str, str | None, str]]:
        """(ranking, sampler, network) of each search by its name."""
        first = self.settings["samplers"][0]
        return {
            **{
                f"GraDE ({sampler})": ("probability", sampler, "small")
                for sampler in self.settings["samplers"]
            },
            "occurrences": ("occurrences", None, ""),
            "estimator": ("estimator", first, "small"),
            "disjoint": ("disjoint", None, ""),
            LARGER: ("probability", first, "larger"),
        }

    @property
    def groups(self) -> dict[str, tuple[str, list[str]]]:
        """(constraints, methods) that are counted together."""
        methods = [method for method in self.searches if method != LARGER] + self.settings["samplers"]
        return {
            "none": ("none", methods),
            "case study": ("case study", methods),
            "larger": ("none", [LARGER]),
        }

    # Sampling and training

    def draw(self, sampler: str, k: int) -> None:
        """Sample one size."""
        begin = time.perf_counter()
        drawn = sample(
            self.graphs,
            k,
            sampler,
            count=self.settings["samples"],
            seed=self.settings["seed"],
            threads=1,
        )
        seconds = time.perf_counter() - begin
        save_sample(drawn, self.work / f"samples/{sampler}-{k}")
        self.write(f"sampled/{sampler}-{k}", {"seconds": seconds})

    def train(self, sampler: str, network: str, k: int) -> None:
        """Train the estimator of one size."""
        drawn = self.sample(sampler, k)
        chosen = preset(
            self.settings["estimator"],
            self.settings["preset"],
            len(drawn),
            seed=self.settings["seed"],
            **self.settings["changes" if network == "small" else network],
        )
        begin = time.perf_counter()
        fit_to_folder(drawn, chosen, self.work / f"models/{sampler}-{network}-{k}")
        self.write(f"trained/{sampler}-{network}-{k}", {"seconds": time.perf_counter() - begin})

    def sample(self, sampler: str, k: int) -> SubgraphSample:
        return load_sample(self.work / f"samples/{sampler}-{k}")

    # Methods name patterns

    def baseline(self, sampler: str, under: str) -> None:
        """The most frequent patterns of each sample, among those that satisfy the constraints."""
        named = {}
        for k in self.settings["sizes"]:
            drawn = self.sample(sampler, k)
            accepted = np.flatnonzero(self.constraints[under].accepts(drawn.patterns))
            order = accepted[np.argsort(-drawn.weighted_counts[accepted], kind="stable")]
            best = drawn.patterns.take(order[: self.settings["top"]])
            named[k] = {
                "keys": [pattern.key for pattern in best],
                "seconds": {"sampling": self.read(f"sampled/{sampler}-{k}")["seconds"]},
            }
        self.write(f"named/{sampler}, {under}", named)

    def search(self, method: str, under: str) -> None:
        """A beam search from 3 nodes to the largest size; every size on the way is a result."""
        rank_by, sampler, network = self.searches[method]
        sizes, constraints = self.settings["sizes"], self.constraints[under]
        models = {}
        if sampler:
            folders = {k: self.work / f"models/{sampler}-{network}-{k}" for k in sizes}
            models = {k: load_estimator(folder).log_probability for k, folder in folders.items()}
        levels = beam_search(
            self.graphs,
            sizes[-1],
            beam=self.settings["beam"],
            score=ranking(rank_by, self.graphs, self.settings["beam"], models),
            constraints=constraints,
            bounds=self.bounds,
            seed=self.settings["seed"],
            threads=1,
        )
        named = {}
        for level in levels:
            if level.size not in sizes:
                continue
            # Smaller patterns may have been kept because they can still grow into what is wanted.
            accepted = np.flatnonzero(constraints.accepts(level.lists.patterns))[: self.settings["top"]]
            seconds = {"search": level.seconds}
            if sampler:
                seconds |= {
                    "sampling": self.read(f"sampled/{sampler}-{level.size}")["seconds"],
                    "training": self.read(f"trained/{sampler}-{network}-{level.size}")["seconds"],
                }
            keys = [level.lists.patterns[row].key for row in accepted]
            named[level.size] = {"keys": keys, "seconds": seconds}
            print(f"{method}, {under}, k = {level.size}: {level.seconds:.0f} s", flush=True)
        self.write(f"named/{method}, {under}", named)

    # All that was named is counted

    def named(self, group: str) -> dict[str, dict[int, dict[str, Any]]]:
        """What each method named of each size, in the order of the tables."""
        under, methods = self.groups[group]
        found = {method: self.read(f"named/{method}, {under}") for method in methods}
        return {method: {int(k): row for k, row in by_size.items()} for method, by_size in found.items()}

    def patterns(self, group: str, k: int) -> PatternTable:
        """The different patterns of one size that any method of a group named."""
        keys = {key for by_size in self.named(group).values() for key in by_size[k]["keys"]}
        return self.table(sorted(keys))

    def table(self, keys: list[str]) -> PatternTable:
        return PatternTable.from_keys(keys, self.graphs.node_vocabulary, self.graphs.edge_vocabulary)

    def count(self, group: str, k: int) -> None:
        """Exact counts with a cut-off, the paper's protocol."""
        patterns = self.patterns(group, k)
        found = verify_patterns(self.graphs, patterns, self.settings["cutoff"], threads=1)
        self.write(
            f"counted/{group}, {k}",
            {
                pattern.key: [support.occurrences, support.occurrences_quality == "exact", support.disjoint]
                for pattern, support in zip(patterns, found, strict=True)
            },
        )

    def compare_cutoffs(self, k: int) -> None:
        """Counts of what GraDE and the sampler named, with several cut-offs: the paper's sensitivity analysis."""
        sampler = self.settings["samplers"][0]
        result = []
        for method in (f"GraDE ({sampler})", sampler):
            patterns = self.table(self.named("none")[method][k]["keys"])
            for cutoff in self.settings["sensitivity_cutoffs"]:
                found = verify_patterns(self.graphs, patterns, cutoff, threads=1)
                counts = [support.occurrences for support in found]
                result.append(
                    {
                        "method": method,
                        "cutoff": cutoff,
                        "median": float(np.median(counts)),
                        "mean": float(np.mean(counts)),
                    }
                )
        self.write(f"cutoffs/{k}", result)

    def estimate(self, group: str, replicate: int) -> None:
        """One replicate of the unbiased counts of all patterns of all sizes.

        Growing under the constraints loses nothing: whatever leads to a wanted occurrence satisfies them.
        """
        family = family_of({k: self.patterns(group, k) for k in self.settings["sizes"]})
        counts = draw_counts(
            self.graphs,
            family,
            constraints=self.constraints[self.groups[group][0]],
            bounds=self.bounds,
            seed=derived(self.settings["seed"], ESTIMATE_SEED, replicate),
        )
        found = {}
        for k in self.settings["sizes"]:
            by_key = dict(zip(family[k - START].keys.tolist(), counts[k - START], strict=True))
            wanted = self.patterns(group, k)
            found[k] = {
                pattern.key: float(by_key[key])
                for pattern, key in zip(wanted, wanted.keys.tolist(), strict=True)
            }
        self.write(f"estimated/{group}, {replicate}", found)

    # Files

    def write(self, name: str, data: Any) -> None:
        path = self.work / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary:
            temporary.write_text(json.dumps(data))

    def read(self, name: str) -> Any:
        return json.loads((self.work / f"{name}.json").read_text())

    def done(self, name: str) -> bool:
        return (self.work / f"{name}.json").exists()

    def stages(self) -> Iterable[list[tuple[str, str, tuple[Any, ...]]]]:
        """(file, task, arguments) of tasks that can run side by side; a stage needs the ones before it."""
        samplers, sizes = self.settings["samplers"], self.settings["sizes"]
        drawn = [(s, k) for s in samplers for k in reversed(sizes)]
        yield [(f"sampled/{s}-{k}", "draw", (s, k)) for s, k in drawn]
        yield [(f"trained/{s}-small-{k}", "train", (s, "small", k)) for s, k in drawn]
        for group, (u, methods) in self.groups.items():
            if group == "larger":
                large = [(samplers[0], "larger", k) for k in reversed(sizes)]
                yield [(f"trained/{s}-larger-{k}", "train", (s, n, k)) for s, n, k in large]
            tasks = ((m, "search" if m in self.searches else "baseline") for m in methods)
            yield [(f"named/{m}, {u}", task, (m, u)) for m, task in tasks]
            draws = range(self.settings["replicates"])
            yield [(f"estimated/{group}, {r}", "estimate", (group, r)) for r in draws]
            yield [(f"counted/{group}, {k}", "count", (group, k)) for k in reversed(sizes)]
        yield [(f"cutoffs/{k}", "compare_cutoffs", (k,)) for k in self.settings["sensitivity_sizes"]]

    def run(self, jobs: int) -> None:
        """All tasks that have no result yet."""
        for folder in ("samples", "models"):
            (self.work / folder).mkdir(parents=True, exist_ok=True)
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
            for stage in self.stages():
                waiting = [(name, task, given) for name, task, given in stage if not self.done(name)]
                for future in [pool.submit(perform, self, *task) for task in waiting]:
                    future.result()

    def results(self) -> list[dict[str, Any]]:
        """One row for each method, constraints and size; then the sensitivity to the cut-off."""
        rows: list[dict[str, Any]] = []
        for group, (under, _) in self.groups.items():
            draws = range(self.settings["replicates"])
            replicates = [self.read(f"estimated/{group}, {r}") for r in draws]
            for method, by_size in self.named(group).items():
                for k, row in by_size.items():
                    keys, counted = row["keys"], self.read(f"counted/{group}, {k}")
                    drawn = [np.array([r[str(k)][key] for key in keys]) for r in replicates]
                    rows.append(
                        {
                            "method": method,
                            "constraints": under,
                            "k": k,
                            "patterns": len(keys),
                            "seconds": {name: round(value, 2) for name, value in row["seconds"].items()},
                            "counted": summary([counted[key][0] for key in keys]),
                            "exact": sum(counted[key][1] for key in keys),
                            "disjoint": summary([counted[key][2] for key in keys]),
                            "estimated": estimated(drawn, [counted[key] for key in keys]),
                        }
                    )
        for k in self.settings["sensitivity_sizes"]:
            rows += [{"cutoffs": True, "k": k, **row} for row in self.read(f"cutoffs/{k}")]
        return rows


def perform(experiment: Experiment, name: str, task: str, arguments: tuple[Any, ...]) -> None:
    """One task in a worker."""
    torch.set_num_threads(1)
    begin = time.perf_counter()
    function: Callable[..., None] = getattr(experiment, task)
    function(*arguments)
    print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)


def summary(values: list[float]) -> dict[str, float]:
    return {"median": float(np.median(values)), "mean": float(np.mean(values))} if values else {}


def estimated(drawn: list[Any], counted: list[tuple[float, bool, int]]) -> dict[str, float]:
    """Median and mean of the best counts there are: exact ones, or else estimates; with their errors.

    The error of the median is the spread of the medians of single replicates over the root of their number.
    """
    if not counted:
        return {}
    counts, exact = np.array([row[0] for row in counted], float), np.array([row[1] for row in counted], bool)
    each = [np.where(exact, counts, replicate) for replicate in drawn]
    best, errors = mean_and_error(each)
    _, median_error = mean_and_error([np.array([np.median(values)]) for values in each])
    off = np.abs(mean_and_error(drawn)[0][exact] / counts[exact] - 1) if exact.any() else np.zeros(0)
    return {
        "median": float(np.median(best)),
        "median_error": float(median_error[0]),
        "mean": float(best.mean()),
        "relative_error": float(np.median(errors / np.maximum(best, 1))),
        **({"off_exact": float(np.median(off))} if len(off) else {}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--settings", type=Path, default=HERE / "settings.toml")
    parser.add_argument("--jobs", type=int, default=1, help="tasks at a time, each on one thread")
    parser.add_argument("--quick", action="store_true", help="reduced, on zoo-mini")
    parser.add_argument("--tables", action="store_true", help="only make tables and figures again")
    arguments = parser.parse_args()
    everything = tomllib.loads(arguments.settings.read_text())
    settings = everything["quick" if arguments.quick else "full"]
    out: Path = arguments.out
    if not arguments.tables:
        os.environ["OMP_NUM_THREADS"] = "1"  # for the workers
        experiment = Experiment(settings, everything["constraints"], out / "tasks")
        experiment.run(arguments.jobs)
        with whole_file(out / "results.jsonl") as temporary:
            temporary.write_text("".join(json.dumps(row) + "\n" for row in experiment.results()))
        (out / "machine.txt").write_text(
            f"{datetime.now(UTC):%Y-%m-%d}, {arguments.jobs} jobs of one thread each on {platform.machine()}.\n"
        )
    make_tables(out, settings)


if __name__ == "__main__":
    main()

"""How frequent are the patterns that each method finds? The paper's discovery experiment (its section "Discovery
Capability"), with ours beside it.

    python experiments/discovery/run.py --out experiments/discovery/results     # zoo, k = 4..15
    python experiments/discovery/run.py --quick --out quick-results              # a minute on any machine

For every size k, each method names its 50 best patterns, and these are counted exactly (with a time limit, as in the
paper: what is found by then counts). Methods: the most frequent patterns of a sample (one per sampler); GraDE, the beam
search ranked by an estimator that was trained on the same sample; the beam search ranked by its own unbiased counts
(occurrences); and both together (hybrid). All of it once without constraints and once under those of the paper's case
study. Results are written after every step (results.jsonl), so that a run that is cut short keeps what it has and goes
on when it is started again; --seconds stops it in time. `--tables` only makes the tables and figures again.
"""

import argparse
import json
import platform
import time
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from grade.estimators import Estimator, fit, preset
from grade.graphs import GraphSet, PatternTable
from grade.machine import available_threads
from grade.sampling import sample
from grade.search import Constraints, beam_search
from grade.search.beam import Bounds
from grade.search.ranking import ranking
from grade.sources import load
from grade.verify import verify_patterns

HERE = Path(__file__).parent
PAPER = "the paper, on Younger: GraDE ahead from k = 8 on, more than 30 times the best sampler for k >= 10"


class Experiment:
    """One run of the experiment: its settings, its set, and what it has found so far."""

    def __init__(
        self, settings: dict[str, Any], constraints: dict[str, Any], out: Path, seconds: float
    ) -> None:
        self.settings, self.out, self.deadline = settings, out, time.monotonic() + seconds
        self.graphs: GraphSet = load(settings["set"])
        self.constraints = {"none": Constraints(), "case study": Constraints.of(**constraints)}
        self.threads = available_threads()
        out.mkdir(parents=True, exist_ok=True)
        self.file = out / "results.jsonl"
        rows = self.file.read_text().splitlines() if self.file.exists() else []
        self.rows = [json.loads(row) for row in rows]
        self.samples: dict[tuple[str, int], Any] = {}
        self.models: dict[tuple[str, int], Estimator] = {}

    def has(self, method: str, under: str, size: int) -> bool:
        return any((r["method"], r["constraints"], r["k"]) == (method, under, size) for r in self.rows)

    def check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise TimeoutError

    def record(self, method: str, under: str, patterns: PatternTable, seconds: dict[str, float]) -> None:
        """Count the best patterns with each cut-off and write the row down."""
        counted = {}
        for cutoff in self.settings["cutoffs"]:
            found = verify_patterns(self.graphs, patterns, cutoff, threads=self.threads)
            counts = [support.occurrences for support in found]
            counted[str(cutoff)] = {
                "median": float(np.median(counts)) if counts else 0.0,
                "mean": float(np.mean(counts)) if counts else 0.0,
                "exact": sum(support.quality == "exact" for support in found),
                "disjoint_median": float(np.median([s.disjoint or 0 for s in found])) if counts else 0.0,
            }
        row = {
            "method": method,
            "constraints": under,
            "k": patterns.size,
            "patterns": len(patterns),
            "seconds": {name: round(value, 2) for name, value in seconds.items()},
            "counts": counted,
        }
        self.rows.append(row)
        with self.file.open("a") as file:
            file.write(json.dumps(row) + "\n")
        best = counted[str(self.settings["cutoffs"][-1])]
        print(
            f"{method:24} {under:10} k={patterns.size:2} median {best['median']:.4g} {row['seconds']}",
            flush=True,
        )

    def drawn(self, sampler: str, k: int) -> tuple[Any, float]:
        """The sample of one size, and the seconds that it took."""
        key = (sampler, k)
        if key not in self.samples:
            begin = time.perf_counter()
            result = sample(
                self.graphs,
                k,
                sampler,
                count=self.settings["samples"],
                seed=self.settings["seed"],
                threads=self.threads,
            )
            self.samples[key] = (result, time.perf_counter() - begin)
        return self.samples[key]

    def baselines(self, sampler: str) -> None:
        """The most frequent patterns of the sample, among those that satisfy the constraints."""
        for k in self.settings["sizes"]:
            for under, constraints in self.constraints.items():
                self.check_time()
                if self.has(sampler, under, k):
                    continue
                result, seconds = self.drawn(sampler, k)
                accepted = np.flatnonzero(constraints.accepts(result.patterns))
                order = accepted[np.argsort(-result.weighted_counts[accepted], kind="stable")]
                best = result.patterns.take(order[: self.settings["top"]])
                self.record(sampler, under, best, {"sampling": seconds})

    def fitted(self, sampler: str, k: int) -> tuple[Estimator, float]:
        """The estimator of one size, and the seconds that its training took."""
        key = (sampler, k)
        if key not in self.models:
            result, _ = self.drawn(sampler, k)
            begin = time.perf_counter()
            chosen = preset(
                self.settings["estimator"], self.settings["preset"], len(result), seed=self.settings["seed"]
            )
            self.models[key] = fit(result, chosen)
            self.models[key].fitted["wall"] = time.perf_counter() - begin
        return self.models[key], float(self.models[key].fitted["wall"])

    def searches(self, method: str, rank_by: str, sampler: str | None) -> None:
        """A beam search from 3 nodes to the largest size; every size on the way is a result."""
        largest = self.settings["sizes"][-1]
        for under, constraints in self.constraints.items():
            if self.has(method, under, largest):
                continue
            models = LazyModels(self, sampler) if sampler else None
            levels = beam_search(
                self.graphs,
                largest,
                beam=self.settings["beam"],
                score=ranking(rank_by, self.graphs, self.settings["beam"], models),
                constraints=constraints,
                bounds=Bounds(self.settings["capacity"], self.settings["list_size"]),
                seed=self.settings["seed"],
                threads=self.threads,
            )
            for level in levels:
                self.check_time()
                if level.size not in self.settings["sizes"] or self.has(method, under, level.size):
                    continue
                # The patterns that satisfy all constraints; those of smaller sizes were kept because they may grow.
                accepted = np.flatnonzero(constraints.accepts(level.lists.patterns))[: self.settings["top"]]
                seconds = {"search": level.seconds}
                if sampler:
                    _, training = self.fitted(sampler, level.size)
                    seconds = {
                        "sampling": self.drawn(sampler, level.size)[1],
                        "training": training,
                        "search": max(level.seconds - models.spent.pop(level.size, 0.0), 0.0)
                        if models
                        else 0.0,
                    }
                self.record(method, under, level.lists.patterns.take(accepted), seconds)

    def run(self) -> None:
        """All methods, cheapest first."""
        first = self.settings["samplers"][0]
        self.searches("occurrences", "occurrences", None)
        for sampler in self.settings["samplers"]:
            self.baselines(sampler)
        self.searches(f"GraDE ({first})", "estimator", first)
        self.searches("hybrid", "hybrid", first)
        self.searches("disjoint", "disjoint", None)
        for sampler in self.settings["samplers"][1:]:
            self.searches(f"GraDE ({sampler})", "estimator", sampler)


class LazyModels(dict[int, Any]):
    """Estimators by size, sampled for and trained when the search first asks; remembers how long that took."""

    def __init__(self, experiment: Experiment, sampler: str) -> None:
        super().__init__()
        self.experiment, self.sampler, self.spent = experiment, sampler, {}

    def __missing__(self, size: int) -> Any:
        begin = time.perf_counter()
        self.experiment.check_time()
        model, _ = self.experiment.fitted(self.sampler, size)
        self.spent[size] = time.perf_counter() - begin
        self[size] = model.log_probability
        return self[size]


def tables(out: Path, settings: dict[str, Any]) -> None:
    """results.csv, results.md and figures from results.jsonl."""
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    cutoffs = [str(c) for c in settings["cutoffs"]]
    lines = ["method,constraints,k,cutoff,median,mean,exact,patterns,disjoint_median"]
    for row in rows:
        for cutoff, found in row["counts"].items():
            values = (
                found["median"],
                found["mean"],
                found["exact"],
                row["patterns"],
                found["disjoint_median"],
            )
            lines.append(
                f"{row['method']},{row['constraints']},{row['k']},{cutoff}," + ",".join(map(str, values))
            )
    (out / "results.csv").write_text("\n".join(lines) + "\n")

    methods = list(dict.fromkeys(row["method"] for row in rows))
    sizes = sorted({row["k"] for row in rows})
    text = [
        "# Discovery",
        "",
        f"Made by `python experiments/discovery/run.py` on `{settings['set']}`; {PAPER}.",
        "",
    ]
    text += [f"{(out / 'machine.txt').read_text().strip()}", ""] if (out / "machine.txt").exists() else []

    def table(title: str, under: str, value: Any) -> Iterator[str]:
        yield from (
            f"## {title}",
            "",
            "| k | " + " | ".join(methods) + " |",
            "|---" * (len(methods) + 1) + "|",
        )
        for k in sizes:
            cells = []
            for method in methods:
                found = [r for r in rows if (r["method"], r["constraints"], r["k"]) == (method, under, k)]
                cells.append(value(found[0]) if found else "")
            yield f"| {k} | " + " | ".join(cells) + " |"
        yield ""

    def median(row: dict[str, Any]) -> str:
        found = row["counts"][cutoffs[-1]]
        return f"{found['median']:.4g}" + ("" if found["exact"] == row["patterns"] else "+")

    def mean(row: dict[str, Any]) -> str:
        return f"{row['counts'][cutoffs[-1]]['mean']:.4g}"

    def disjoint(row: dict[str, Any]) -> str:
        return f"{row['counts'][cutoffs[-1]]['disjoint_median']:.4g}"

    def seconds(row: dict[str, Any]) -> str:
        return " + ".join(f"{value:.1f} {name}" for name, value in row["seconds"].items())

    for under in dict.fromkeys(row["constraints"] for row in rows):
        what = "no constraints" if under == "none" else "contains a convolution, degrees at most 2"
        text += table(f"Median occurrences of the {settings['top']} best, {what}", under, median)
        text += table(f"Mean occurrences, {what}", under, mean)
        text += table(f"Median of the occurrences that share no node, {what}", under, disjoint)
    text += table("Seconds at each size, no constraints", "none", seconds)
    text += [
        f"A + marks a median that rests on counts cut off after {cutoffs[-1]} s each: a lower bound.",
        "",
    ]
    text += [
        "## Sensitivity to the cut-off",
        "",
        "| k | " + " | ".join(methods) + " |",
        "|---" * (len(methods) + 1) + "|",
    ]
    for k in sizes:
        cells = []
        for method in methods:
            found = [r for r in rows if (r["method"], r["constraints"], r["k"]) == (method, "none", k)]
            low, high = (
                (found[0]["counts"][c]["median"] for c in (cutoffs[0], cutoffs[-1])) if found else (0, 0)
            )
            cells.append(f"{low / high:.3g}" if high else "")
        text.append(f"| {k} | " + " | ".join(cells) + " |")
    text += ["", f"Median with {cutoffs[0]} s for a pattern over the median with {cutoffs[-1]} s.", ""]
    (out / "results.md").write_text("\n".join(text))
    draw(out, rows, methods, cutoffs[-1])


def draw(out: Path, rows: list[dict[str, Any]], methods: list[str], cutoff: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    for under in dict.fromkeys(row["constraints"] for row in rows):
        figure, axes = plt.subplots(figsize=(7, 4.5))
        for method in methods:
            chosen = sorted(
                (r for r in rows if (r["method"], r["constraints"]) == (method, under)), key=lambda r: r["k"]
            )
            points = [
                (r["k"], r["counts"][cutoff]["median"]) for r in chosen if r["counts"][cutoff]["median"] > 0
            ]
            style = "--" if method.startswith(("rand", "nrs", "ars")) else "-"
            axes.plot(
                *zip(*points, strict=True), style, marker="o", markersize=4, label=method
            ) if points else None
        axes.set_yscale("log")
        axes.set_xlabel("k")
        axes.set_ylabel("median verified occurrences of the 50 best")
        axes.set_title("no constraints" if under == "none" else "contains a convolution, degrees at most 2")
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
        figure.tight_layout()
        figure.savefig(out / f"median-{under.replace(' ', '-')}.png", dpi=130)
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--settings", type=Path, default=HERE / "settings.toml")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="stop after so long; start again to go on"
    )
    parser.add_argument("--quick", action="store_true", help="reduced, on zoo-mini")
    parser.add_argument(
        "--tables", action="store_true", help="only make tables and figures from results.jsonl"
    )
    arguments = parser.parse_args()
    everything = tomllib.loads(arguments.settings.read_text())
    settings = everything["quick" if arguments.quick else "full"]
    if not arguments.tables:
        experiment = Experiment(settings, everything["constraints"], arguments.out, arguments.seconds)
        device = platform.processor() or platform.machine()
        (arguments.out / "machine.txt").write_text(
            f"{datetime.now(UTC):%Y-%m-%d}, {experiment.threads} threads, {device}, estimator"
            f" {settings['estimator']} ({settings['preset']}), {settings['samples']:,} samples,"
            f" beam {settings['beam']}.\n"
        )
        try:
            experiment.run()
        except TimeoutError:
            print("time is up; start it again to go on")
    tables(arguments.out, settings)


if __name__ == "__main__":
    main()

"""Training time and scoring rate of the estimators in the paper's NAS-Bench-101, k = 5 setting, in one run.

    python experiments/estimator_speed/run.py --sample SAMPLE --census CENSUS.npz --out results
    python experiments/estimator_speed/run.py --quick --out /tmp/quick        # reduced, on any machine, in a minute

SAMPLE is a folder that `grade sample` made (about 16,000 occurrences: density 0.1), CENSUS.npz the exact counts from
`grade census`. Results are written after every stage, as results.json and results.md, so that a run that is cut short
keeps what it measured. A stage's time excludes a first call on batches of the same shape, which warms up or compiles;
how long compiling the training took is a column of its own.
"""

import argparse
import json
import platform
import time
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grade.estimators import Estimator, fit, preset, preset_for
from grade.estimators.models.graph_transformer import GraphTransformer, GraphTransformerSettings
from grade.estimators.models.network import NetworkEstimator
from grade.evaluation.correlation import kendall, spearman
from grade.graphs import PatternTable, SubgraphSample
from grade.graphs.sample import load_sample
from grade.sampling.census import Census, take_census
from grade.sources import load

HERE = Path(__file__).parent


class Results:
    """What was measured so far, in two files."""

    def __init__(self, folder: Path, head: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.data, self.began = (
            folder,
            {**head, "training": {}, "scoring": {}},
            time.perf_counter(),
        )

    def add(self, kind: str, name: str, values: dict[str, Any]) -> None:
        self.data[kind][name] = values
        self.data["seconds"] = round(time.perf_counter() - self.began, 1)
        (self.folder / "results.json").write_text(json.dumps(self.data, indent=1) + "\n")
        (self.folder / "results.md").write_text(markdown(self.data))
        facts = ", ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in values.items()
        )
        print(f"[{self.data['seconds']:6.1f} s] {kind} {name}: {facts}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", type=Path, help="folder of the sample")
    parser.add_argument("--census", type=Path, help="census (.npz) of the same set and size")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for results.json and results.md")
    parser.add_argument("--settings", type=Path, default=HERE / "settings.toml")
    parser.add_argument(
        "--quick", action="store_true", help="reduced run; without inputs on NAS-Bench-201, k = 4"
    )
    arguments = parser.parse_args()
    if not arguments.quick and (arguments.sample is None or arguments.census is None):
        parser.error("give --sample and --census, or --quick")

    everything = tomllib.loads(arguments.settings.read_text())
    settings = everything["quick" if arguments.quick else "full"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        settings |= {"bfloat16": False, "compile": False}
    torch.set_float32_matmul_precision("high")
    torch._dynamo.config.suppress_errors = True  # what cannot be compiled runs as it is
    sample, patterns, counts = read_inputs(arguments)
    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine()
    kind = (
        "bfloat16"
        if settings["bfloat16"]
        else "float32 on tensor cores (TF32)"
        if device == "cuda"
        else "float32"
    )
    peak = next((value for part, value in everything["peak"].get(kind, {}).items() if part in name), None)
    results = Results(
        arguments.out,
        {
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "device": name,
            "torch": torch.__version__,
            "quick": arguments.quick,
            "precision": kind,
            "k": sample.size,
            "occurrences": len(sample),
            "patterns": len(patterns),
            "candidates": settings["candidates"],
            "peak": peak,
        },
    )
    disco = train_disco(sample, settings, device, peak, results)
    autoregressive = train_autoregressive(sample, settings, device, results)
    rows = np.resize(np.arange(len(patterns)), settings["candidates"])
    chosen, members = autoregressive.settings, autoregressive.networks
    for name, (number, draws, bfloat16) in settings["ensembles"].items():
        changes = {
            "order_draws": draws,
            "bfloat16": bfloat16 and device == "cuda",
            "compile": settings["compile"],
        }
        autoregressive.networks = members[:number]
        autoregressive.settings = chosen.changed(members=len(autoregressive.networks), **changes)
        score(autoregressive, name, patterns, counts, rows, len(rows), None, results)
    paths = sorted(settings["paths"].items(), key=lambda item: item[1]["steps"] * item[1]["rounds"])
    for name, path in paths:  # cheapest first
        changes = {"kernel": path["kernel"], "path_steps": path["steps"], "rounds": path["rounds"]}
        changes |= {
            "shared_noise": path["shared"],
            "crowding": path["crowding"],
        }
        # The correction is a known number; with it here, the report can tell both figures.
        disco.settings = disco.settings.changed(**changes, orbit=True, compile=settings["compile"])
        left = settings["seconds"] - (time.perf_counter() - results.began)
        score(disco, name, patterns, counts, rows, affordable(disco, patterns, rows, left), peak, results)


def read_inputs(arguments: argparse.Namespace) -> tuple[SubgraphSample, PatternTable, np.ndarray]:
    """The sample, and the census's patterns in random order (so that a prefix is a fair subset) with their counts."""
    if arguments.sample is not None:
        sample, census = load_sample(arguments.sample), Census.load(arguments.census)
    else:
        census = take_census(load("nas-bench-201"), 4)
        drawn = np.random.default_rng(0).multinomial(279, census.counts / census.counts.sum())
        ids = np.repeat(np.arange(np.count_nonzero(drawn)), drawn[drawn > 0]).astype(np.int32)
        table = census.patterns.take(np.flatnonzero(drawn))
        sample = SubgraphSample(
            np.zeros((279, 4), np.uint32), np.ones(279), ids, table, {"method": "uniform"}
        )
    order = np.random.default_rng(1).permutation(len(census.patterns))
    return sample, census.patterns.take(order), census.counts[order].astype(np.float64)


def train_disco(
    sample: SubgraphSample, settings: dict[str, Any], device: str, peak: float | None, results: Results
) -> NetworkEstimator:
    """The paper's training: 200 epochs. First a few steps each way, to show what each brings."""
    chosen = preset(
        "disco", "paper", len(sample), device=device, bfloat16=settings["bfloat16"], **settings["disco"]
    )
    forward = GraphTransformer.operations(
        sample.size, layers=chosen.layers, width=chosen.width, edge_width=chosen.edge_width
    )
    ways = {"disco, float32, launched one by one": {"bfloat16": False}}
    if device == "cuda":
        ways["disco, bfloat16"] = {"bfloat16": True}
        ways["disco, float32, compiled"] = {"bfloat16": False, "compile": True}
    fit(sample, chosen.changed(epochs=0.0, steps=2))  # imports and libraries load in the first step
    for name, changes in ways.items():
        short, long = (
            chosen.changed(epochs=0.0, steps=n, **changes)
            for n in ((20, 120) if device == "cuda" else (2, 6))
        )
        first = timed(lambda s=short: fit(sample, s))[0]  # compiles
        again = timed(lambda s=short: fit(sample, s))[0]
        seconds = timed(lambda s=long: fit(sample, s))[0] - again
        per_step = seconds / (long.training.steps - short.training.steps)
        values = {
            "seconds_per_step": per_step,
            "batch": chosen.training.batch,
            "seconds_to_warm_up": first - again,
        }
        results.add("training", name, values)
    chosen = chosen.changed(compile=settings["compile"])
    seconds, model = timed(lambda: fit(sample, chosen))
    steps = model.fitted.steps
    evaluations = steps * chosen.training.batch
    results.add(
        "training",
        "disco, 200 epochs" if not settings["disco"] else "disco, reduced",
        {
            "seconds": seconds,
            "steps": steps,
            "batch": chosen.training.batch,
            "parameters": model.fitted.parameters,
            "graphs_per_second": evaluations / seconds,
            "operations_per_second": 3
            * forward
            * evaluations
            / seconds,  # backward costs twice the forward pass
            "share_of_peak": 3 * forward * evaluations / seconds / peak if peak else None,
        },
    )
    return as_network(model)


def train_autoregressive(
    sample: SubgraphSample, settings: dict[str, Any], device: str, results: Results
) -> NetworkEstimator:
    """The preset best, the network alone, with its choice of steps on held-out patterns."""
    changes = {"device": device, "bfloat16": settings["bfloat16"], **settings["autoregressive"]}
    seconds, model = timed(lambda: fit(sample, preset_for([sample], "autoregressive", "best", **changes)))
    values = {"seconds": seconds, "steps": model.fitted.steps, "members": model.settings.training.members}
    results.add("training", "autoregressive, best", {**values, "parameters": model.fitted.parameters})
    return as_network(model)


def warm_up(model: NetworkEstimator, patterns: PatternTable, rows: np.ndarray) -> np.ndarray:
    """Score as many candidates as fill more than one batch, so that the shapes are those of the run; returns them."""
    if model.settings.estimator == "autoregressive":
        number = model.rows_at_once()
    else:
        number = model.rows_at_once() // model.settings.rounds + 1
    probe = rows[: min(number, len(rows))]
    model.log_probability(patterns.take(probe))
    return probe


def affordable(model: NetworkEstimator, patterns: PatternTable, rows: np.ndarray, seconds: float) -> int:
    """How many candidates can be scored in the time that is left; the first call, which compiles, is not counted."""
    probe = warm_up(model, patterns, rows)
    each = timed(lambda: model.log_probability(patterns.take(probe)))[0] / len(probe)
    return int(min(len(rows), max(len(probe), 0.9 * (seconds / each - len(probe)))))


def score(
    model: NetworkEstimator,
    name: str,
    patterns: PatternTable,
    counts: np.ndarray,
    rows: np.ndarray,
    number: int,
    peak: float | None,
    results: Results,
) -> None:
    """Score ``number`` candidates; report time, rate and rank correlation (on the distinct patterns among them)."""
    warm_up(model, patterns, rows)
    chosen = rows[:number]
    seconds, scores = timed(lambda: model.log_probability(patterns.take(chosen)))
    distinct = min(number, len(patterns))
    scores, truth, table = scores[:distinct], counts[:distinct], patterns.take(np.arange(distinct))
    values: dict[str, Any] = {
        "candidates": number,
        "seconds": seconds,
        "seconds_per_100000": seconds / number * 100_000,
        "evaluations_per_candidate": model.evaluations / number,
        "evaluations_per_second": model.evaluations / seconds,
        "spearman": spearman(scores, truth),
        "kendall": kendall(scores, truth),
    }
    if model.settings.estimator == "disco":
        # All level orders are equally likely, so the correction is a known number that can be taken back.
        plain = scores - np.log(table.level_orders / table.automorphisms)
        values["spearman_without_orbit_correction"] = spearman(plain, truth)
        s: GraphTransformerSettings = model.settings
        forward = GraphTransformer.operations(
            patterns.size, layers=s.layers, width=s.width, edge_width=s.edge_width
        )
        values["operations_per_second"] = forward * model.evaluations / seconds
        values["share_of_peak"] = values["operations_per_second"] / peak if peak else None
    results.add("scoring", name, values)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """(seconds, result), with the device's queue empty before and after."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    begin = time.perf_counter()
    result = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - begin, result


def as_network(model: Estimator) -> NetworkEstimator:
    assert isinstance(model, NetworkEstimator)
    return model


def markdown(data: dict[str, Any]) -> str:
    """The results as a page."""

    def cell(value: Any) -> str:
        if value is None:
            return "-"
        return (
            f"{value:,.3g}"
            if isinstance(value, float) and abs(value) < 1e6
            else f"{value:,.3e}"
            if isinstance(value, float)
            else f"{value:,}"
        )

    def table(rows: dict[str, dict[str, Any]]) -> list[str]:
        columns = list(dict.fromkeys(column for values in rows.values() for column in values))
        lines = ["| | " + " | ".join(column.replace("_", " ") for column in columns) + " |"]
        lines.append("|---" * (len(columns) + 1) + "|")
        for name, values in rows.items():
            lines.append(f"| {name} | " + " | ".join(cell(values.get(column)) for column in columns) + " |")
        return lines

    head = ("date", "device", "torch", "precision", "k", "occurrences", "patterns")
    lines = ["# Speed of the estimators", "", ", ".join(f"{key}: {data[key]}" for key in head), ""]
    if data["quick"]:
        lines += ["A reduced run, for checking the script; its figures say nothing about speed.", ""]
    for title in ("training", "scoring"):
        if data[title]:
            lines += [f"## {title.capitalize()}", "", *table(data[title]), ""]
    slowest = max(data["scoring"].values(), key=lambda v: v["evaluations_per_candidate"], default=None)
    if slowest is not None:
        lines += [
            "## Against the longest path",
            "",
            "| | times cheaper | Spearman minus the longest path's |",
            "|---|---|---|",
        ]
        for name, values in data["scoring"].items():
            ratio = slowest["seconds_per_100000"] / values["seconds_per_100000"]
            lines.append(f"| {name} | {ratio:,.1f} | {values['spearman'] - slowest['spearman']:+.3f} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

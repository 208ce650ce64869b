"""What the noise of the path likelihood costs in rank correlation, and what takes it away, at equal evaluations.

    python experiments/estimator_speed/noise.py --out experiments/estimator_speed/results
    python experiments/estimator_speed/noise.py --types 60 --seeds 2 --longest 80 --out /tmp/quick

One DisCo-E of the default preset is trained for 300 steps on 279 occurrences of NAS-Bench-201, k = 4 (density 0.1), and
scores every n-th type of the census along paths of several lengths, numbers of rounds, kinds of noise and time grids,
each with several seeds. `spread` is the standard deviation of a score over the seeds, relative to the mean score of all
types, which a common shift does not change: the noise that the ranking sees. The committed results are of --types 115;
on one core that takes some ten minutes.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from grade.estimators import fit, preset
from grade.evaluation.ranking import spearman
from grade.files import whole_file
from grade.graphs import SubgraphSample
from grade.sampling.census import take_census
from grade.settings import EstimatorSettings
from grade.sources import load

OCCURRENCES = 279
NOISE = {
    "independent": {"shared_noise": False, "stratified": False},
    "shared": {"shared_noise": True, "stratified": False},
    "independent, stratified": {"shared_noise": False, "stratified": True},
    "shared, stratified": {"shared_noise": True, "stratified": True},
}


def ways() -> Iterator[tuple[str, int, int, float]]:
    """(noise, steps, rounds, crowding), cheapest first."""
    for noise in NOISE:
        yield noise, 20, 4, 1.0
    for crowding in (1.5, 2.0, 3.0):
        yield "shared, stratified", 20, 4, crowding
    yield "shared, stratified", 10, 8, 2.0
    for steps, rounds in ((100, 4), (50, 8), (20, 20)):
        for noise in ("shared", "shared, stratified"):
            yield noise, steps, rounds, 1.0
        yield "shared, stratified", steps, rounds, 2.0
    for noise in ("independent", "shared, stratified"):
        yield noise, 100, 20, 1.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for noise.md")
    parser.add_argument("--types", type=int, default=230, help="about how many types to score")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--longest", type=int, default=2000, help="leave out what takes more evaluations")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    census = take_census(load("nas-bench-201"), 4)
    drawn = np.random.default_rng(0).multinomial(OCCURRENCES, census.counts / census.counts.sum())
    kinds = np.flatnonzero(drawn)
    sample = SubgraphSample(
        np.zeros((OCCURRENCES, 4), np.uint32),
        np.ones(OCCURRENCES),
        np.repeat(np.arange(len(kinds)), drawn[kinds]).astype(np.int32),
        census.patterns.take(kinds),
    )
    model = fit(sample, preset("disco", "default", OCCURRENCES, device="cpu", steps=300))
    fitted = model.settings
    rows = np.arange(0, len(census.patterns), max(1, len(census.patterns) // arguments.types))
    patterns, truth = census.patterns.take(rows), census.counts[rows].astype(np.float64)
    lines = [
        "# Noise of the path likelihood",
        "",
        f"DisCo-E on NAS-Bench-201, k = 4, {len(rows)} types, {arguments.seeds} seeds, bridge;"
        " `experiments/estimator_speed/noise.py`. Crowding is the power of the time grid.",
        "",
        "| noise | steps x rounds | crowding | evaluations | Spearman | its deviation | spread | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for noise, steps, rounds, crowding in ways():
        if steps * rounds > arguments.longest:
            continue
        settings: EstimatorSettings = replace(
            fitted, path_steps=steps, rounds=rounds, crowding=crowding, kernel="bridge", **NOISE[noise]
        )
        begin, scores = time.perf_counter(), []
        for seed in range(arguments.seeds):
            model.settings = replace(settings, seed=seed)
            scores.append(model.log_probability(patterns))
        rho = [spearman(values, truth) for values in scores]
        relative = [values - values.mean() for values in scores]
        lines.append(
            f"| {noise} | {steps} x {rounds} | {crowding:g} | {steps * rounds} | {np.mean(rho):.4f} |"
            f" {np.std(rho):.4f} | {np.std(relative, axis=0).mean():.3f} | {time.perf_counter() - begin:.0f} |"
        )
        print(lines[-1], flush=True)
        with whole_file(arguments.out / "noise.md") as temporary:
            temporary.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

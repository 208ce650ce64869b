"""``grade fit``, ``grade score`` and ``grade evaluate``: models of pattern frequency."""

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

from grade.cli.app import app
from grade.settings import EvaluateSettings, FitSettings, OutputSettings, ScoreSettings
from grade.terminal import command, show, training_progress


@command(
    app,
    "grade fit sample-5 --out model",
    "grade fit sample-4 sample-5 sample-6 --out model --seed 1",
    "grade fit sample-5 --estimator disco --preset paper --out disco --device cuda",
    "grade fit sample-5 --out model --set layers=3 --set members=1",
)
def fit(settings: FitSettings, output: OutputSettings) -> None:
    """Fit an estimator to a sample, or to samples of several sizes. A fit that was killed goes on when repeated."""
    from grade.estimators import fit_to_folder, parse_changes, preset_for
    from grade.graphs.sample import load_sample

    samples = [load_sample(path) for path in settings.samples]
    changes = {"seed": settings.seed, "device": settings.device, **parse_changes(settings.changes or [])}
    chosen = preset_for(samples, settings.estimator, settings.preset, **changes)
    with training_progress() as progress:
        model = fit_to_folder(samples, chosen, settings.out, progress, settings.threads)
    data: dict[str, Any] = {
        "out": str(settings.out),
        "estimator": settings.estimator,
        "k": sorted(sample.size for sample in samples),
        "occurrences": sum(map(len, samples)),
        "patterns": sum(len(sample.patterns) for sample in samples),
        **{name: value for name, value in model.fitted.items() if name != "held_out"},
    }

    def lines() -> Iterator[str]:
        sizes = " and ".join(map(str, data["k"]))
        yield (
            f"{settings.out}: {settings.estimator}, k = {sizes}, {data['occurrences']:,} occurrences of"
            f" {data['patterns']:,} patterns, {data['seconds']:.1f} s"
        )
        if "steps" in data:
            yield f"steps: {data['steps']:,} of a network with {data['parameters']:,} parameters"
        for names in data.get("interchangeable", []):
            yield f"interchangeable types: {', '.join(names)}"
        for k, found in data.get("calibration", {}).items():
            model_weight, joined, rarest = found["weights"]
            yield (
                f"weights at k = {k}: model {model_weight:.2f}, parts joined {joined:.2f}, rarest part"
                f" {rarest:.2f}"
            )
        for k, found in data.get("agreement", {}).items():
            yield (
                f"scores at k = {k} agree with the neighbours of all parts"
                if found
                else f"scores at k = {k} do not agree with the neighbours of parts: too many patterns are possible"
            )
        yield from data.get("left_out", [])

    show(output, data, lines)


@command(
    app,
    "grade score model census.npz --out scores.csv",
    "grade score model patterns.txt --out scores.npz --json",
    "grade score model 'Conv -> BatchNormalization -> Relu -> Conv' --out score.csv",
)
def score(settings: ScoreSettings, output: OutputSettings) -> None:
    """Write the log-probability of each pattern's isomorphism class under a model."""
    from grade.estimators import load_estimator
    from grade.evaluation import scores
    from grade.verify import read_table

    scores.check_target(settings.out)
    model = load_estimator(settings.model)
    patterns = read_table(settings.patterns, *scores.vocabularies_of(model))
    begin = time.perf_counter()
    values = scores.score(model, patterns, settings.out)
    data = {
        "out": str(settings.out),
        "patterns": len(values),
        "evaluations": model.evaluations,
        "seconds": time.perf_counter() - begin,
    }
    show(output, data, lambda: [f"{settings.out}: {len(values):,} patterns, {data['seconds']:.1f} s"])


@command(app, "grade evaluate model census.npz", "grade evaluate model census.npz --json")
def evaluate(settings: EvaluateSettings, output: OutputSettings) -> None:
    """Compare a model's ranking of patterns with their exact counts: Spearman's rho, Kendall's tau-b."""
    from grade.estimators import load_estimator
    from grade.evaluation import ranking
    from grade.sampling.census import Census

    model, census = load_estimator(settings.model), Census.load(settings.census)
    data = dataclasses.asdict(ranking.evaluate(model, census.patterns, census.counts))
    show(output, data, lambda: [f"{name.replace('_', ' ')}: {value:,.4g}" for name, value in data.items()])

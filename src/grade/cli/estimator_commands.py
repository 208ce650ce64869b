"""``grade fit``, ``grade score`` and ``grade evaluate``: models of pattern frequency."""

import dataclasses
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from grade.cli.app import app
from grade.errors import InputError
from grade.settings import EvaluateSettings, FitSettings, OutputSettings, ScoreSettings
from grade.terminal import command, show, training_progress

PANEL = "Learn frequencies from a sample"  # of the help

if TYPE_CHECKING:
    from grade.estimators.reports import SizeReport


@command(
    app,
    "grade fit sample-5 --out model",
    "grade fit sample-4 sample-5 sample-6 --out model --seed 1",
    "grade fit sample-5 --estimator disco --preset paper --out disco --device cuda",
    "grade fit sample-5 --out model --set layers=3 --set members=1",
    panel=PANEL,
)
def fit(settings: FitSettings, output: OutputSettings) -> None:
    """Fit an estimator to a sample, or to samples of several sizes.

    Repeat the command to resume a fit that was killed.
    """
    from grade.estimators import fit_to_folder, parse_changes, preset_for
    from grade.graphs.sample import load_sample

    samples = [load_sample(path) for path in settings.samples]
    changes = {"seed": settings.seed, "device": settings.device}
    changes |= parse_changes(settings.estimator, settings.changes or [])
    chosen = preset_for(samples, settings.estimator, settings.preset, **changes)
    with training_progress() as progress:
        model = fit_to_folder(samples, chosen, settings.out, progress)
    data: dict[str, Any] = {
        "out": str(settings.out),
        "estimator": settings.estimator,
        "k": sorted(sample.size for sample in samples),
        "occurrences": sum(map(len, samples)),
        "patterns": sum(len(sample.patterns) for sample in samples),
        **{name: value for name, value in model.fitted.to_json().items() if name != "held_out"},
    }

    def lines() -> Iterator[str]:
        sizes = " and ".join(map(str, data["k"]))
        yield (
            f"{settings.out}: {settings.estimator}, k = {sizes}, {data['occurrences']:,} occurrences of"
            f" {data['patterns']:,} patterns, {data['seconds']:.1f} s"
        )
        if "steps" in data:
            yield f"steps: {data['steps']:,} of a network with {data['parameters']:,} parameters"
        for k, found in model.fitted.posterior.items():
            yield from weights(k, found)

    show(output, data, lines)


def weights(k: int, found: "SizeReport") -> Iterator[str]:
    """Lines with the weights of parts and network at one size."""
    if found.parts is None:
        yield f"k = {k}: scores are the model's alone: the sample has no counts of parts"
        return
    parts = ", ".join(f"{name} {weight:.2f}" for name, weight in found.parts.items() if weight > 0.005)
    yield f"k = {k}: weights of parts: {parts}{', raked' if found.raked else ''}; network {found.network:.2f}"
    for names in found.exchangeable:
        yield f"k = {k}: exchangeable types: {', '.join(names)}"


@command(
    app,
    "grade score model census.npz --out scores.csv",
    "grade score model patterns.txt --out scores.npz --json",
    "grade score model 'Conv -> BatchNormalization -> Relu -> Conv' --out score.csv",
    panel=PANEL,
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
    try:
        values = scores.score(model, patterns, settings.out)
    except InputError as error:
        raise InputError(f"{settings.patterns}: {error}") from None
    data = {
        "out": str(settings.out),
        "patterns": len(values),
        "evaluations": model.evaluations,
        "seconds": time.perf_counter() - begin,
    }
    show(output, data, lambda: [f"{settings.out}: {len(values):,} patterns, {data['seconds']:.1f} s"])


@command(app, "grade evaluate model census.npz", "grade evaluate model census.npz --json", panel=PANEL)
def evaluate(settings: EvaluateSettings, output: OutputSettings) -> None:
    """Compare a model's ranking of patterns with their exact counts: Spearman's rho, Kendall's tau-b."""
    from grade.estimators import load_estimator
    from grade.evaluation import correlation as ranking
    from grade.sampling.census import Census

    model, census = load_estimator(settings.model), Census.load(settings.census)
    data = dataclasses.asdict(ranking.evaluate(model, census.patterns, census.counts))
    show(output, data, lambda: [f"{name.replace('_', ' ')}: {value:,.4g}" for name, value in data.items()])

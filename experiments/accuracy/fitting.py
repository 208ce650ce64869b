"""One cell of the accuracy experiment: fit once, score in every way that is wanted, compare with the census."""

import math
import time
from dataclasses import asdict, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from cells import ESTIMATORS, PARTS, Cell, Result, Settings, census_path, changes, sample_path, sizes_of
from numpy.typing import NDArray

from grade.errors import InputError
from grade.graphs import PatternTable
from grade.graphs.counts import Counts
from grade.graphs.sample import SubgraphSample, load_sample
from grade.sampling.census import Census
from grade.settings import EstimatorSettings

NOT_SETTINGS = (
    "at",
    "mean_probabilities",
    "preset",
    "scorings",
    "together",
    "types",
)  # keys of variants and scorings that an estimator has not
Scores = NDArray[np.float64]


def run_cell(cell: Cell, scorings: list[str], inputs: Path, settings: Settings, jobs: int) -> Result:
    """Fit, score, compare."""
    censuses, samples = read_inputs(cell, inputs, settings)
    facts = facts_of(cell, censuses, samples)
    if cell.estimator == "ceiling":
        require_parts(samples, inputs)
        top = ceiling(censuses[-1].counts, len(samples[-1]), cell.seed) | merged_ceiling(
            samples[-1], censuses[-1]
        )
        return facts | {"scorings": {"default": top}}
    if cell.estimator in PARTS:
        require_parts(samples, inputs)
        return facts | {"scorings": {"default": parts_alone(samples[-1], censuses[-1], cell.estimator)}}
    from grade.estimators import fit

    chosen = training_settings(cell, settings, *size_of(samples, cell, settings), jobs)
    if chosen.parts and cell.estimator != "frequency":
        require_parts(samples, inputs)
    begin = time.perf_counter()
    model = fit(samples if len(samples) > 1 else samples[0], chosen)
    seconds = time.perf_counter() - begin
    return facts | measure(model, chosen, seconds, scorings, cell, censuses, settings)


def read_inputs(cell: Cell, inputs: Path, settings: Settings) -> tuple[list[Census], list[SubgraphSample]]:
    """The censuses and samples of the cell's sizes, its own size last."""
    sizes = sizes_of(settings, cell)
    return (
        [read_census(census_path(inputs, cell, k)) for k in sizes],
        [load_sample(sample_path(inputs, cell, k)) for k in sizes],
    )


def facts_of(cell: Cell, censuses: list[Census], samples: list[SubgraphSample]) -> Result:
    return {
        **asdict(cell),
        "types": len(censuses[-1].patterns),
        "instances": censuses[-1].instances,
        "occurrences": len(samples[-1]),
        "sampled_types": len(samples[-1].patterns),
    }


def measure(
    model: Any,
    trained: EstimatorSettings,
    seconds: float,
    scorings: list[str],
    cell: Cell,
    censuses: list[Census],
    settings: Settings,
) -> Result:
    """How well a fitted model ranks the types of the censuses, under each scoring."""
    import torch

    results: dict[str, Result] = {}
    for census in censuses:
        k = census.patterns.size
        known: dict[Any, Any] = {}
        for name in scorings:
            measured = scored(model, trained, name, census, cell, settings, known)
            results[name if len(censuses) == 1 else f"{name}-{k}"] = {"k": k, **measured}
    return {
        "fit_seconds": round(seconds, 3),
        "steps": model.fitted.get("steps"),
        "parameters": model.fitted.get("parameters"),
        "calibration": model.fitted.get("calibration"),
        "settings": asdict(trained),
        "torch": torch.__version__,
        "scorings": results,
    }


@lru_cache(maxsize=16)
def read_census(path: Path) -> Census:
    return Census.load(path)


def size_of(samples: list[SubgraphSample], cell: Cell, settings: Settings) -> tuple[int, int]:
    """Occurrences and types to learn of the samples together, which say how large a network is."""
    from grade.estimators.presets import types_to_learn

    merge = training_settings(cell, settings, 0, 0, 1).interchange
    return sum(len(s) for s in samples), types_to_learn(samples, merge)


def require_parts(samples: list[SubgraphSample], inputs: Path) -> None:
    if any(sample.parts is None or sample.parts.neighbours is None for sample in samples):
        raise InputError(
            f"A sample in {inputs} has no counts of parts and their neighbours; remove it, and run prepare.py again."
        )


def training_settings(
    cell: Cell, settings: Settings, occurrences: int, types: int, jobs: int
) -> EstimatorSettings:
    from grade.estimators import preset

    if cell.estimator == "frequency":
        return preset("frequency", seed=cell.seed)
    variant = changes(settings, "variants", cell.variant)
    share = 0.4 / jobs  # of the free memory: the others want to score, too
    place = f"variant {cell.variant}"
    own = estimator_changes(variant, place, cell.estimator)
    own |= estimator_changes(variant.get("at", {}).get(f"{cell.set}-{cell.k}", {}), place, cell.estimator)
    given = {"seed": cell.seed, "memory": share, **own, **settings.get("all", {})}
    return preset(cell.estimator, variant["preset"], occurrences, types, **given)


def estimator_changes(table: dict[str, Any], place: str, estimator: str) -> dict[str, Any]:
    """What a variant or scoring changes in an estimator's settings: of all estimators, and of this one."""
    others = (*NOT_SETTINGS, *ESTIMATORS)
    own = {name: value for name, value in table.items() if name not in others} | table.get(estimator, {})
    known = {field.name for field in fields(EstimatorSettings)}
    for name in own:
        if name not in known:
            raise InputError(f"The {place} of the settings changes {name!r}, which estimators do not have.")
    return own


# Scoring.


def scored(
    model: Any,
    trained: EstimatorSettings,
    name: str,
    census: Census,
    cell: Cell,
    settings: Settings,
    known: dict[Any, Any],
) -> Result:
    """One scoring of a fitted model. ``known`` keeps scores that serve others: those of a matrix, say, from which
    those of its class follow.
    """
    table = changes(settings, "scorings", name)
    own = {}
    if cell.estimator != "frequency":
        own = estimator_changes(table, f"scoring {name}", cell.estimator)
    blocks = own["rounds"] if isinstance(own.get("rounds"), list) else None
    chosen = replace(trained, **own | ({"rounds": max(blocks)} if blocks else {}))
    rows = types_to_score(len(census.patterns), chosen, cell, settings, table.get("types"))
    patterns, counts = census.patterns.take(rows), census.counts[rows]
    begin = time.perf_counter()
    by_rounds: dict[int, Scores] = {}
    if blocks:
        by_rounds, evaluations = scores_by_rounds(model, chosen, patterns, blocks)
        scores = by_rounds[max(blocks)]
    elif table.get("mean_probabilities"):
        scores, evaluations = mean_probabilities(model, chosen, patterns)
    else:
        scores, evaluations = class_scores(model, chosen, patterns, known)
    seconds = time.perf_counter() - begin
    model.settings = trained
    changed = {key: value for key, value in asdict(chosen).items() if value != getattr(trained, key)}
    return {
        **compare(scores, counts),
        "scored": len(patterns),
        "evaluations_per_pattern": evaluations / len(patterns),
        "score_seconds": round(seconds, 3),
        "changed": changed,
        **(
            {"by_rounds": {str(r): compare(values, counts) for r, values in by_rounds.items()}}
            if blocks
            else {}
        ),
    }


def compare(scores: Scores, counts: NDArray[np.uint64]) -> Result:
    from grade.evaluation.ranking import kendall, spearman

    return {"spearman": spearman(scores, counts), "kendall": kendall(scores, counts)}


def evaluations_per_pattern(chosen: EstimatorSettings) -> int:
    """Network evaluations, before it is known how many orders the patterns have."""
    per_network = {"frequency": 0, "autoregressive": chosen.order_draws, "graphvae": chosen.rounds}
    number: int = chosen.members * per_network.get(chosen.estimator, chosen.rounds * chosen.path_steps)
    return number


def number_to_score(types: int, per_pattern: int, settings: Settings, most: int | None) -> int:
    """How many of so many types are scored: all where that is cheap, else what the evaluations allow."""
    number = types if most is None else min(types, most)
    if per_pattern <= settings["cheap"]:
        return number
    return min(number, int(max(settings["fewest"], settings["evaluations"] // per_pattern)))


def types_to_score(
    types: int, chosen: EstimatorSettings, cell: Cell, settings: Settings, most: int | None
) -> NDArray[np.int64]:
    """Rows of the census, ascending: the first ones of an order that depends on the seed alone, so that scorings of
    the same number of types score the same ones.
    """
    number = number_to_score(types, evaluations_per_pattern(chosen), settings, most)
    return np.sort(np.random.default_rng([cell.seed, 3]).permutation(types)[:number])


def class_scores(
    model: Any, chosen: EstimatorSettings, patterns: PatternTable, known: dict[Any, Any]
) -> tuple[Scores, int]:
    """Scores under the settings, and the network evaluations that they took or would have taken.

    All level orders of a pattern are equally likely, so there its orbit correction is a number that is known, and
    scores with and without it follow from each other, unless the model's probability is weighed with counts of parts.
    """
    follows = chosen.orders == "level" and not chosen.parts
    key = (replace(chosen, orbit=True), len(patterns))
    correction: Scores | float = 0.0
    if follows:
        correction = np.log(patterns.level_orders / patterns.automorphisms)
        if key in known:
            plain, evaluations = known[key]
            return plain + correction * chosen.orbit, evaluations
    model.settings = chosen
    scores: Scores = model.log_probability(patterns)
    if follows:
        known[key] = (scores - correction * chosen.orbit, model.evaluations)
    return scores, model.evaluations


def scores_by_rounds(
    model: Any, chosen: EstimatorSettings, patterns: PatternTable, rounds: list[int]
) -> tuple[dict[int, Scores], int]:
    """Scores after each of so many rounds (ascending), at the cost of the most: blocks of rounds, each with noise of
    its own seed, whose means are averaged.
    """
    total, done, evaluations = np.zeros(len(patterns)), 0, 0
    result = {}
    for number in rounds:
        model.settings = replace(chosen, rounds=number - done, seed=chosen.seed + 1_000 * number)
        total += (number - done) * model.log_probability(patterns)
        done, evaluations = number, evaluations + model.evaluations
        result[number] = total / done
    return result, evaluations


def mean_probabilities(model: Any, chosen: EstimatorSettings, patterns: PatternTable) -> tuple[Scores, int]:
    """The logarithm of the mean over rounds of probabilities (the text of the paper's section 4.2), in place of the
    mean of their logarithms (its algorithm 2). Rounds have seeds of their own.
    """
    values, evaluations = [], 0
    for number in range(chosen.rounds):
        model.settings = replace(chosen, rounds=1, seed=chosen.seed + 1_000 * number)
        values.append(model.log_probability(patterns))
        evaluations += model.evaluations
    return np.logaddexp.reduce(values, axis=0) - math.log(chosen.rounds), evaluations


# What is possible without a model, and what at all.


def parts_alone(sample: SubgraphSample, census: Census, name: str) -> Result:
    """What the exact counts of parts say about every type without any model: one of the two estimates of
    `grade.graphs.part_counts`. They came with the sample, but do not depend on it.

    Types with equal counts often have equal estimates, so these are rounded: sums in another order shall not part them.
    """
    assert sample.parts is not None
    begin = time.perf_counter()
    scores = sample.parts.evidence(census.patterns)[:, PARTS.index(name)].round(9)
    seconds = round(time.perf_counter() - begin, 3)
    return {**compare(scores, census.counts), "scored": len(census.patterns), "score_seconds": seconds}


def ceiling(counts: NDArray[np.uint64], occurrences: int, seed: int) -> Result:
    """How well ranks are determined at all: rank correlations of the census's counts with

    ties       themselves, equal counts in random order: what perfect scores without ties would reach
    instances  a multinomial draw from their own distribution of as many instances as the set has: how much of the
               ranking one set of this size determines (the figure that is called the ceiling)
    sample     such a draw of the sample's size: what counting in a uniform sample reaches
    """
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
        result |= {f"{name}{key}": value for key, value in compare(other.astype(np.float64), counts).items()}
    return result


def merged_ceiling(sample: SubgraphSample, census: Census) -> Result:
    """The same for what the default makes of interchangeable types: rank correlations of the census's counts with
    those of the merged types, divided among their patterns; nothing where no types are interchangeable.
    """
    from grade.estimators import preset
    from grade.estimators.evidence.posterior import Weighing

    k, settings = census.patterns.size, preset("autoregressive", "default")
    weighing = Weighing(Counts({}, {}), sample.parts, settings)
    if not weighing.interchange:
        return {}
    truth = Counts({k: census.patterns}, {k: census.counts.astype(np.float64)})
    merged = weighing.interchange.merged_counts(truth)
    scores = weighing.score(census.patterns, lambda table: np.log(merged.of(table)[0]), settings)
    return {f"merged_{key}": value for key, value in compare(scores, census.counts).items()}

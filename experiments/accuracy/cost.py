"""How long a cell is expected to take, so that long ones start first and none starts that would not end in time."""

import json
import math
from pathlib import Path

from cells import PLAIN, Cell, Settings, changes, sample_path, sizes_of
from fitting import estimator_changes, evaluations_per_pattern, number_to_score, training_settings

from grade.errors import InputError
from grade.settings import EstimatorSettings

PATIENCE = 1.8  # a training that looks for the best step goes on for so many times as long


def size_of_samples(cell: Cell, inputs: Path, settings: Settings) -> tuple[int, int]:
    """Occurrences and types in the cell's samples, from their descriptions."""
    occurrences = types = 0
    for k in sizes_of(settings, cell):
        path = sample_path(inputs, cell, k) / "sample.json"
        try:
            description = json.loads(path.read_text(encoding="utf-8"))
            occurrences += int(description["occurrences"])
            types += int(description["patterns"])
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{path} is damaged; remove its folder, and run prepare.py again.") from None
    return occurrences, types


def expected_seconds(
    cell: Cell, scorings: list[str], sampled: tuple[int, int], types: int, settings: Settings
) -> float:
    """Seconds with a GPU for itself; only their ratios matter. ``sampled``: occurrences and types in the sample."""
    if cell.estimator in PLAIN:
        return 0.1
    costs, chosen = settings["costs"], training_settings(cell, settings, *sampled, 1)
    seconds = training_steps(chosen, cell.k, sampled[0], settings) * seconds_per_step(
        chosen, cell.k, settings
    )
    seen = set()
    for name in scorings:
        table = changes(settings, "scorings", name)
        own = estimator_changes(table, f"scoring {name}", cell.estimator)
        rounds = own.pop("rounds", chosen.rounds)
        per_pattern = evaluations_per_pattern(
            EstimatorSettings(
                estimator=cell.estimator,
                members=chosen.members,
                order_draws=own.get("order_draws", chosen.order_draws),
                path_steps=own.get("path_steps", chosen.path_steps),
                rounds=max(rounds) if isinstance(rounds, list) else rounds,
            )
        )
        number = number_to_score(types, per_pattern, settings, table.get("types"))
        # With and without the orbit correction cost one scoring.
        key = (str({**own, "orbit": None}), str(rounds), number)
        seconds += 0 if key in seen else number * per_pattern * costs["evaluation"] * cell.k**2 / 25
        seen.add(key)
    return seconds


def training_steps(chosen: EstimatorSettings, k: int, occurrences: int, settings: Settings) -> float:
    """Steps of all networks of a training together."""
    if chosen.epochs > 0:
        return chosen.members * math.ceil(chosen.epochs * occurrences / chosen.batch)
    if chosen.steps > 0:
        return chosen.members * chosen.steps
    known = settings["costs"]["chosen_steps"]
    return float((PATIENCE * chosen.folds + chosen.members) * known.get(str(k), max(known.values())))


def seconds_per_step(chosen: EstimatorSettings, k: int, settings: Settings) -> float:
    costs = settings["costs"]
    if chosen.estimator == "autoregressive":
        return float(costs["autoregressive_layer"] * chosen.layers)
    return float(costs["step"] + costs["graph"] * chosen.batch * k**2)


def suits_cpu(cell: Cell, occurrences: int, settings: Settings) -> bool:
    """Whether a processor core is as good as a share of the GPU."""
    cpu = settings["costs"]["cpu"]
    return cell.estimator in cpu["estimators"] and (
        cell.estimator in PLAIN or occurrences < cpu["occurrences"]
    )

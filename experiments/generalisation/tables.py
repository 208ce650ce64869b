"""The page of the rows that run.py made."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

# Rows of earlier seeds were looked at while the posterior was designed, and are of the code before its last change.
FIRST_FRESH = 3
SETTINGS_SEED = 1
LEAST_WEIGHTS = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5)

ACCURACY = Path(__file__).parents[1] / "accuracy" / "results" / "results.csv"

Cells = dict[tuple[str, int], dict[str, list[dict[str, Any]]]]


def cells_of(rows: list[dict[str, Any]]) -> Cells:
    """Rows by set and size, and by estimator."""
    cells: Cells = {}
    for row in sorted(rows, key=lambda row: (row["k"], row["set"])):
        cells.setdefault((row["set"], row["k"]), {}).setdefault(row["estimator"], []).append(row)
    return cells


def mean(rows: list[dict[str, Any]], key: str = "spearman") -> float:
    return float(np.mean([row[key] for row in rows]))


def table(cells: Cells) -> list[str]:
    """The estimators beside what needs no training, the means over seeds."""
    columns = ["joined", "rarest", "frequency", "parts", "fast", "default"]
    lines = [
        "| set | k | patterns | occurrences | "
        + " | ".join(columns)
        + " | gain | seconds of parts, fast, default |",
        "|" + "---|" * (6 + len(columns)),
    ]
    gains = []
    for (name, k), found in cells.items():
        first = next(iter(found.values()))[0]
        texts = [
            f"{mean(found[c]):.3f} / {mean(found[c], 'kendall'):.3f}" if c in found else "-" for c in columns
        ]
        last = next((e for e in ("default", "fast", "parts") if e in found), None)
        if last is None:
            continue
        gain = mean(found[last]) - max(mean(found[c]) for c in columns[:3] if c in found)
        gains.append(gain)
        seconds = [f"{mean(found[e], 'fit_seconds'):.0f}" if e in found else "-" for e in columns[3:]]
        lines.append(
            f"| {name} | {k} | {first['patterns']:,} | {first['occurrences']:,} | {' | '.join(texts)} |"
            f" {gain:+.3f} | {', '.join(seconds)} |"
        )
    lines += ["", f"Gain: least {min(gains):+.3f}, mean {np.mean(gains):+.3f}, of {len(gains)} rows.", ""]
    return lines


def diffusion(cells: Cells) -> list[str]:
    """DisCo-E beside what the other estimators reach; its paths are long, so that some patterns are scored."""
    columns = ["frequency", "parts", "default", "disco", "disco-paper"]
    lines = [
        "| set | k | patterns | scored | " + " | ".join(columns) + " |",
        "|" + "---|" * (4 + len(columns)),
    ]
    for (name, k), found in cells.items():
        scored = [row["scored"] for e in ("disco", "disco-paper") for row in found.get(e, [])]
        if scored:
            texts = [
                f"{mean(found[c]):.3f} / {mean(found[c], 'kendall'):.3f}" if c in found else "-"
                for c in columns
            ]
            patterns = next(iter(found.values()))[0]["patterns"]
            lines.append(f"| {name} | {k} | {patterns:,} | {min(scored):,} | {' | '.join(texts)} |")
    return [*lines, ""]


def beside_first_version(cells: Cells, before: Path) -> list[str]:
    """Rho of the default of version 0.1 and of the present one, all seeds."""
    wanted = {"sampler": "rand-esu", "estimator": "autoregressive", "density": "0.1"}
    wanted |= {"variant": "default", "scoring": "default"}
    with before.open(newline="") as file:
        rows = [
            row for row in csv.DictReader(file) if all(row[name] == value for name, value in wanted.items())
        ]
    lines = ["| set | k | 0.1 | default | seeds | parts |", "|---|---|---|---|---|---|"]
    for row in rows:
        name = {"nlp": "nas-bench-nlp"}.get(row["set"], row["set"])
        found = cells.get((name, int(row["k"])), {})
        if "default" in found:
            now, seeds, parts = mean(found["default"]), len(found["default"]), mean(found["parts"])
            lines.append(
                f"| {name} | {row['k']} | {float(row['spearman']):.3f} | {now:.3f} | {seeds} | {parts:.3f} |"
            )
    return [*lines, ""]


def one_left_out(cells: Cells, settings: list[str]) -> list[str]:
    """For each set, the setting with the highest mean rho on the other sets, and what it brings on this one."""
    rho: dict[str, dict[str, float]] = {}  # by set, the mean over sizes of those that have all settings
    for name in dict.fromkeys(name for name, _ in cells):
        sizes = [found for (own, _), found in cells.items() if own == name and set(settings) <= set(found)]
        if sizes:
            rho[name] = {s: float(np.mean([mean(found[s]) for found in sizes])) for s in settings}
    lines = ["| set left out | chosen by the others | " + " | ".join(settings) + " |"]
    lines.append("|" + "---|" * (2 + len(settings)))
    won = []
    for name, own in rho.items():
        others = {s: np.mean([values[s] for other, values in rho.items() if other != name]) for s in settings}
        chosen = max(settings, key=lambda s: others[s])
        won.append(own[chosen] - own["parts"])
        lines.append(f"| {name} | {chosen} | " + " | ".join(f"{own[s]:.3f}" for s in settings) + " |")
    means = " | ".join(f"{np.mean([own[s] for own in rho.values()]):.3f}" for s in settings)
    lines += [f"| mean | | {means} |", ""]
    lines += [f"Chosen this way, rho is {np.mean(won):+.4f} from that of `parts` as it is.", ""]
    return lines


def least_weights(rows: list[dict[str, Any]]) -> list[str]:
    """For each set, the least weight of a network with the highest mean rho on the other sets, and what it brings."""
    gains: dict[str, dict[tuple[str, int], list[tuple[float, float]]]] = {}  # by set: weight, gain over parts
    for (name, k), found in cells_of(rows).items():
        parts = {row["seed"]: row["spearman"] for row in found.get("parts", [])}
        for row in [*found.get("default", []), *found.get("fast", [])]:
            fitted = row["posterior"] or {}
            if row["seed"] in parts and fitted.get("parts") and not fitted["exchangeable"]:
                pair = fitted["network"], row["spearman"] - parts[row["seed"]]
                gains.setdefault(name, {}).setdefault((name, k), []).append(pair)

    def values(names: list[str], least: float) -> list[float]:
        """The mean gain of each set and size."""
        kept = [pairs for name in names for pairs in gains[name].values()]
        return [float(np.mean([gain * (weight >= least) for weight, gain in pairs])) for pairs in kept]

    lines = [
        "| set left out | chosen by the others | mean gain on it | with 0.25 | with any weight |",
        "|" + "---|" * 5,
    ]
    for name in gains:
        others = [other for other in gains if other != name]
        chosen = max(LEAST_WEIGHTS, key=lambda least: np.mean(values(others, least)))
        texts = [f"{np.mean(values([name], least)):+.3f}" for least in (chosen, 0.25, 0.0)]
        lines.append(f"| {name} | {chosen} | {' | '.join(texts)} |")
    return [*lines, ""]


def page(rows: list[dict[str, Any]], settings: list[str]) -> str:
    """All rows."""
    fresh = cells_of([row for row in rows if row["seed"] >= FIRST_FRESH])
    before = [row for row in rows if row["seed"] < FIRST_FRESH]
    seen = cells_of(before)
    return "\n".join(
        [
            "# Sets of several domains",
            "",
            "Spearman's rho / Kendall's tau-b over all patterns, from a Rand-ESU sample that shows a tenth of them, or",
            "of 40,000 occurrences where that would take more. 'Gain' is the rho of default (where it is missing, of",
            "fast or parts) above the best of joined, rarest and frequency. Seconds are those of the processor for",
            "the fit. Made by `python experiments/generalisation/run.py`.",
            "",
            "## Samples that nobody had looked at",
            "",
            "Seeds from 3, made once after the last change of the code. Where types are merged, `default` trains no",
            "network and equals `parts`.",
            "",
            *table(fresh),
            "## Samples that were looked at while the posterior was designed",
            "",
            "Seeds 0 to 2, of the code before its last change: networks of any weight were admitted, also beside",
            "merged types, and types of DARTS, k = 5, were not merged. These rows led to that change.",
            "",
            *table(seen),
            "## The least weight of a network",
            "",
            "Means over default and fast of the rows above without merged types: rho less that of `parts`, if",
            "networks below a weight are left out. DARTS, k = 5, is among them; its types are merged now.",
            "",
            *least_weights(before),
            "## DisCo-E",
            "",
            "`disco` is its default preset, with the counts of parts and of the sample; `disco-paper` is the paper's",
            "network and score, from the sample alone, for at most 6,000 steps. Samples that were looked at.",
            "",
            *diffusion(seen),
            "## Beside version 0.1",
            "",
            "The default then: five networks, [accuracy](../../accuracy/results/results.md), means of three seeds; the",
            "present one on samples that nobody had looked at.",
            "",
            *beside_first_version(fresh, ACCURACY),
            "## Settings chosen on the other sets",
            "",
            "Rho of `parts` and of what it could do otherwise, the means over the sizes of a set; the sample of",
            "seed 1.",
            "",
            *one_left_out(cells_of([row for row in before if row["seed"] == SETTINGS_SEED]), settings),
        ]
    )

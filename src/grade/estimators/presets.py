"""Presets: the settings of each estimator by purpose and by the size of the sample.

paper      the paper's hyperparameters and its estimate as printed: 200 epochs of a 5-layer graph transformer, its
           kernels and rounds, independent noise, no orbit correction
default    what ranks best: the number of steps chosen on held-out types, the exact bridge, shared noise, the orbit
           correction, several networks averaged where that is cheap
fast       one small network and a short path, for a first look

======================= ================ ================= ==================
default, types to learn under 1,000      under 5,000       5,000 and more
======================= ================ ================= ==================
autoregressive          2 layers of 64   3 layers of 128   3 layers of 128
disco, digress, defog   2 layers of 64   3 layers of 128   5 layers of 256
graphvae                2 layers of 64   3 layers of 128   3 layers of 256
======================= ================ ================= ==================

An autoregressive network of 2 layers that learns many types from many occurrences takes larger batches and more steps.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from grade.errors import InputError
from grade.estimators.evidence.exchangeable import Interchange
from grade.estimators.protocol import estimators
from grade.graphs import SubgraphSample
from grade.settings import EstimatorSettings

PRESETS = ("default", "fast", "paper")
# Few types need few steps: what is left, the counts of the sample correct.
MOST_STEPS, STEPS_PER_TYPE = 4_000, 40
# From many occurrences even a small network learns for long, and better in batches with little noise. So many steps
# are about as much arithmetic as the most steps of a network of the next size.
MANY_OCCURRENCES, MANY_TYPES, LARGE_BATCH, MOST_LARGE = 5_000, 250, 512, 10_000
DIFFUSION = ("disco", "digress", "defog")

Values = dict[str, Any]

SIZES: dict[str, tuple[Values, Values, Values]] = {
    "autoregressive": (
        {"layers": 2, "width": 64, "batch": 128},
        {"layers": 3, "width": 128, "batch": 256},
        {"layers": 3, "width": 128, "batch": 256},
    ),
    "diffusion": (
        {"layers": 2, "width": 64, "edge_width": 32, "batch": 128},
        {"layers": 3, "width": 128, "edge_width": 64, "batch": 256},
        {"layers": 5, "width": 256, "edge_width": 64, "batch": 512},
    ),
    "graphvae": (
        {"layers": 2, "width": 64, "edge_width": 64, "batch": 128},
        {"layers": 3, "width": 128, "edge_width": 64, "batch": 256},
        {"layers": 3, "width": 256, "edge_width": 64, "batch": 512},
    ),
}

# Random topological orders and a partly hidden context are the augmentation that few samples need. The large epsilon
# makes AdamW more like gradient descent: what many samples agree on is learned before what few of them suggest.
AUTOREGRESSIVE: Values = {"orders": "linear", "masking": 0.15, "epsilon": 1e-3, "learning_rate": 3e-3}

PAPER: Values = {
    "layers": 5,
    "width": 256,
    "edge_width": 64,
    "heads": 8,
    "dropout": 0.1,
    "epochs": 200.0,
    "learning_rate": 2e-4,
    "weight_decay": 1e-12,
    "amsgrad": True,
    "second_moment": 0.999,
    "orders": "level",
    "orbit": False,
    "parts": False,
    "interchange": False,
    "shrink": False,
    "kernel": "paper",
    "rounds": 20,
    "path_steps": 100,
    "shared_noise": False,
    "stratified": False,
    "states": 0.0,
    "mean_loss": True,
    "edge_loss": 5.0,
}
PAPER_BY_ESTIMATOR: dict[str, Values] = {
    "disco": {},
    "digress": {"path_steps": 500},
    "defog": {"rounds": 60},
    "graphvae": {},
}


def preset_for(
    samples: Sequence[SubgraphSample], estimator: str, name: str = "default", **changes: Any
) -> EstimatorSettings:
    """The settings of an estimator for these samples, with changes."""
    merge = name != "paper" and changes.get("interchange", True)
    return preset(estimator, name, sum(map(len, samples)), types_to_learn(samples, merge), **changes)


def types_to_learn(samples: Sequence[SubgraphSample], merge: bool = True) -> int:
    """How many different patterns the samples show, interchangeable types being one where counts of parts tell them."""
    parts = max((s.parts for s in samples if s.parts is not None), key=lambda p: p.size, default=None)
    interchange = Interchange.of(parts) if parts is not None and merge else Interchange()
    return sum(len(interchange.distinct(s.patterns)[0]) for s in samples)


def preset(
    estimator: str, name: str = "default", occurrences: int = 0, types: int | None = None, **changes: Any
) -> EstimatorSettings:
    """The settings of an estimator for a sample of so many occurrences of so many types (when
    left out, each occurrence is taken to be of its own), with changes.

    >>> preset("autoregressive", "default", 300, 200, seed=7).width
    64
    >>> preset("disco", "paper", 16_000).path_steps
    100
    """
    if estimator not in estimators:
        estimators[estimator]  # raises the error that names the known ones
    if name not in PRESETS:
        raise InputError(f"There is no preset {name!r}; known are {', '.join(PRESETS)}.")
    values: Values = {}
    if name == "paper" and estimator != "frequency":
        if estimator not in PAPER_BY_ESTIMATOR:
            raise InputError(f"The paper has no {estimator} estimator; use the preset default or fast.")
        batch = 64 if occurrences < 5_000 else 512
        values = {**PAPER, "batch": batch, **PAPER_BY_ESTIMATOR[estimator]}
    elif estimator != "frequency":
        sizes = SIZES["diffusion" if estimator in DIFFUSION else estimator]
        seen = occurrences if types is None else types
        scale = 0 if name == "fast" else (seen >= 1_000) + (seen >= 5_000)
        values, most = dict(sizes[scale]), MOST_STEPS
        much = occurrences >= MANY_OCCURRENCES and seen >= MANY_TYPES
        if (estimator, name, scale) == ("autoregressive", "default", 0) and much:
            values["batch"], most = LARGE_BATCH, MOST_LARGE
        values["maximum_steps"] = min(most, STEPS_PER_TYPE * seen or most)
        if estimator == "autoregressive":
            values |= AUTOREGRESSIVE | {
                "members": 1 if name == "fast" else 5,
                "folds": 1 if name == "fast" else 2,
            }
        else:
            values |= {"orders": "level", "crowding": 2.0 if estimator == "disco" else 1.0}
        if estimator in DIFFUSION:
            values["agree"] = False  # takes all possible patterns, and each of them hundreds of evaluations
        if name == "fast":
            values |= {"rounds": 8, "path_steps": 10, "order_draws": 4}
    return replace(EstimatorSettings(estimator=estimator), **{**values, **changes})


def parse_changes(texts: Sequence[str]) -> Values:
    """Changes given as ``NAME=VALUE``, converted to the type of the setting.

    >>> parse_changes(["layers=3", "orbit=no"])
    {'layers': 3, 'orbit': False}
    """
    defaults = {name: value for name, value in asdict(EstimatorSettings()).items() if name != "estimator"}
    changes: Values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in defaults:
            raise InputError(
                f"--set {text!r} is not NAME=VALUE with a known name; known are {', '.join(defaults)}."
            )
        kind: type[Any] = type(defaults[name])
        words = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
        try:
            changes[name] = words[value.lower()] if kind is bool else kind(value)
        except (ValueError, KeyError):
            raise InputError(f"--set {text!r}: {value!r} is not a value of type {kind.__name__}.") from None
    return changes

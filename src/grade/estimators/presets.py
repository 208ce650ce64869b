"""Presets: the settings of each estimator by purpose and by the size of the sample.

paper      the paper's hyperparameters and its estimate as printed: 200 epochs of a 5-layer graph transformer, its
           kernels and rounds, independent noise, no orbit correction, nothing but the sample
fast       one small network, few steps and a short path
default    one network: the number of steps chosen on held-out patterns, the exact bridge, the orbit correction
best       five networks, trained one after the other and averaged

All but the paper's combine the network with the counts of parts and of the sample.

=========================== ================ =================
networks, patterns sampled  under 5,000      5,000 and more
=========================== ================ =================
autoregressive              2 layers of 64   3 layers of 128
disco, digress, defog       2 layers of 64   3 layers of 128
graphvae                    2 layers of 64   3 layers of 128
=========================== ================ =================
"""

from collections.abc import Sequence
from typing import Any

from grade.errors import InputError
from grade.estimators.protocol import estimators
from grade.graphs import SubgraphSample
from grade.settings import EstimatorSettings

PRESETS = ("default", "fast", "best", "paper")
# A fit of 10,000 occurrences takes less than two minutes on two cores, and 20 seconds with the preset fast.
# Few patterns need few steps: the counts of the sample correct the rest.
MOST_STEPS = {"fast": 400, "default": 1_500, "best": 3_000}
STEPS_PER_PATTERN = 10
MANY = 5_000  # patterns
DIFFUSION = ("disco", "digress", "defog")
WITHOUT_NETWORK = ("frequency", "parts")

Values = dict[str, Any]

SMALL: Values = {"layers": 2, "width": 64, "batch": 128}
LARGE: Values = {"layers": 3, "width": 128, "batch": 256}

# Held-out likelihoods take hundreds of evaluations a pattern, more than the training: the number of steps is fixed.
FAST_DIFFUSION: Values = {"path_steps": 10, "steps": 200, "schedule": "cosine"}

# Random topological orders and a partly hidden context are the augmentation that few samples need. The large epsilon
# makes AdamW more like gradient descent: features of many samples are learned before those of few.
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
    "rounds": 20,
    "shared_noise": False,
}
PAPER_DIFFUSION: Values = {"kernel": "paper", "path_steps": 100, "mean_loss": True, "edge_loss": 5.0}
PAPER_BY_ESTIMATOR: dict[str, Values] = {
    "disco": {**PAPER_DIFFUSION, "states": 0.0},
    "digress": {**PAPER_DIFFUSION, "path_steps": 500},
    "defog": {**PAPER_DIFFUSION, "rounds": 60},
    "graphvae": {},
}


def preset_for(
    samples: Sequence[SubgraphSample], estimator: str, name: str = "default", **changes: Any
) -> EstimatorSettings:
    """The settings of an estimator for these samples, with changes."""
    patterns = sum(len(s.patterns) for s in samples)
    return preset(estimator, name, sum(map(len, samples)), patterns, **changes)


def preset(
    estimator: str, name: str = "default", occurrences: int = 0, patterns: int | None = None, **changes: Any
) -> EstimatorSettings:
    """The settings of an estimator for a sample with these numbers of occurrences and patterns, with changes. Without
    ``patterns``, every occurrence counts as a pattern.

    >>> preset("autoregressive", "default", 300, 200, seed=7).width
    64
    >>> preset("disco", "paper", 16_000).path_steps
    100
    """
    settings = estimators[estimator].settings_type()
    if name not in PRESETS:
        raise InputError(f"There is no preset {name!r}; known are {', '.join(PRESETS)}.")
    values: Values = {}
    if estimator in WITHOUT_NETWORK:
        pass
    elif name == "paper":
        if estimator not in PAPER_BY_ESTIMATOR:
            raise InputError(f"The paper has no {estimator} estimator; use the preset default, fast or best.")
        batch = 64 if occurrences < 5_000 else 512
        values = {**PAPER, "batch": batch, **PAPER_BY_ESTIMATOR[estimator]}
    else:
        seen = occurrences if patterns is None else patterns
        most = MOST_STEPS[name]
        values = {**(LARGE if seen >= MANY and name != "fast" else SMALL), "evidence": True}
        values["maximum_steps"] = min(most, STEPS_PER_PATTERN * seen or most)
        values["members"] = 5 if name == "best" else 1
        if estimator == "autoregressive":
            values |= AUTOREGRESSIVE | {"order_draws": 4 if name == "fast" else 16}
        else:
            values |= {"orders": "level"} | ({"rounds": 8} if name == "fast" else {})
        if estimator in DIFFUSION and name == "fast":
            values |= FAST_DIFFUSION
        if estimator == "disco":
            values["crowding"] = 2.0
    return settings.changed(**{**values, **known(settings, changes)})


def plain_settings(estimator: str, **changes: Any) -> EstimatorSettings:
    """An estimator's settings without a preset.

    >>> plain_settings("disco", gamma=3.0, batch=16).values()["gamma"]
    3.0
    """
    settings = estimators[estimator].settings_type()
    return settings.changed(**known(settings, changes))


def known(settings: EstimatorSettings, changes: Values) -> Values:
    """The changes, if these settings have all of them.

    >>> known(preset("parts"), {"orbit": False})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    grade.errors.InputError: The estimator parts has no setting 'orbit' (a setting of autoregressive, ...); known ...
    """
    own = settings.values()
    for name in changes:
        if name not in own:
            others = [e for e in estimators if name in estimators[e].settings_type().values()]
            owners = f" (a setting of {', '.join(others)})" if others else ""
            raise InputError(
                f"The estimator {settings.estimator} has no setting {name!r}{owners}; known are {', '.join(own)}."
            )
    return changes


def parse_changes(estimator: str, texts: Sequence[str]) -> Values:
    """Changes of an estimator's settings, given as ``NAME=VALUE`` and converted to the type of the setting.

    >>> parse_changes("disco", ["layers=3", "orbit=no"])
    {'layers': 3, 'orbit': False}
    """
    settings = estimators[estimator].settings_type()
    changes: Values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"`changes` {text!r} is not NAME=VALUE.")
        known(settings, {name: value})
        kind: type[Any] = type(settings.values()[name])
        words = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
        try:
            changes[name] = words[value.lower()] if kind is bool else kind(value)
        except (ValueError, KeyError):
            raise InputError(
                f"`changes` {text!r}: {value!r} is not a value of type {kind.__name__}."
            ) from None
    return changes

"""Settings of estimators, and of the commands that fit and use them."""

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from grade.settings.parameters import Settings, argument, option, setting


@dataclass(frozen=True, kw_only=True)
class EstimatorSettings(Settings):
    """The settings that every estimator has. Each estimator adds its own in a subclass, beside its code."""

    estimator: ClassVar[str]  # the name of the estimator that these are settings of

    seed: int = setting("Seed of everything random.", 0, least=0, most=2**64 - 1)
    device: str = setting("cpu, cuda, cuda:1 ..., or auto.", "auto")

    def to_json(self) -> dict[str, Any]:
        """The name of the estimator and all settings, those for training among them."""
        return {"estimator": self.estimator, **self.values()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The settings that `to_json` described. Settings of other estimators are ignored: models that were stored
        when all estimators shared one object have them, too.
        """
        return cls().changed(**{name: value for name, value in values.items() if name in cls().values()})

    def values(self) -> dict[str, Any]:
        """All settings by name.

        >>> NetworkSettings(layers=3).values()["layers"], NetworkSettings().values()["batch"]
        (3, 256)
        """
        result: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            result |= vars(value) if isinstance(value, TrainingSettings) else {each.name: value}
        return result

    def changed(self, **changes: Any) -> Self:
        """The same settings with other values.

        >>> changed = NetworkSettings().changed(layers=3, batch=32)
        >>> changed.layers, changed.training.batch
        (3, 32)
        """
        own, training = {each.name for each in fields(self)}, {each.name for each in fields(TrainingSettings)}
        values = {name: value for name, value in changes.items() if name in own}
        shared = {name: value for name, value in changes.items() if name not in own}
        if shared:
            if not isinstance(self, NetworkSettings) or not shared.keys() <= training:
                raise KeyError(next(name for name in shared if name not in self.values()))
            values["training"] = replace(values.get("training", self.training), **shared)
        return replace(self, **values)


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Settings):
    """How any network is trained."""

    members: int = setting("Networks trained with different seeds and averaged.", 1, least=1)
    batch: int = setting("Graphs in a training batch.", 256, least=1)
    steps: int = setting("Training steps; 0: chosen on held-out patterns.", 0, least=0)
    epochs: float = setting("Passes over the sample, in place of steps; 0: not used.", 0.0, least=0)
    maximum_steps: int = setting("The most steps when held-out patterns decide.", 4000, least=1)
    learning_rate: float = setting("Learning rate after the warm-up.", 1e-3, least=0)
    warmup: int = setting("Steps of linear warm-up.", 50, least=0)
    schedule: str = setting("Learning rate after the warm-up: constant or cosine.", "constant")
    weight_decay: float = setting("AdamW's weight decay.", 0.01, least=0)
    amsgrad: bool = setting("AdamW's amsgrad variant.", False)
    second_moment: float = setting("AdamW's second beta.", 0.99, least=0, most=1)
    epsilon: float = setting("AdamW's epsilon: gradients below it count less.", 1e-8, above=0)
    clip: float = setting("Largest gradient norm.", 1.0, above=0)
    average: float = setting(
        "Horizon of the weight average as a share of the steps taken; 0: no average.", 0.1, least=0, most=1
    )


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(EstimatorSettings):
    """The settings that all estimators with a network share."""

    layers: int = setting("Layers of the network.", 2, least=1)
    width: int = setting("Width of the network; of its node stream in a graph transformer.", 64, least=1)
    heads: int = setting("Attention heads.", 8, least=1)
    dropout: float = setting("Dropout.", 0.1, least=0, most=1)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    bfloat16: bool = setting("Compute in bfloat16 where it is safe (GPU).", False)
    compile: bool = setting("Compile scoring and long trainings (GPU; takes a minute).", False)
    memory: float = setting("Largest share of the free memory for a scoring batch.", 0.4, above=0, most=1)

    orders: str = setting("Order family: linear, level, canonical or all.", "linear")
    shared_noise: bool = setting("Use the same random numbers for all patterns.", True)
    orbit: bool = setting("Correct the probability of a matrix to that of its class.", True)
    evidence: bool = setting(
        "Combine the network with exact counts of small parts and with the counts of the sample.", False
    )


@dataclass(frozen=True, kw_only=True)
class FitSettings(Settings):
    """Fitting an estimator to samples."""

    samples: list[Path] = argument(
        "A sample, or samples of several sizes for one model of all sizes.", metavar="SAMPLE..."
    )
    out: Path = option("The folder to write the model to.", "--out", metavar="MODEL")
    estimator: str = option(
        "autoregressive, disco, digress, defog, graphvae, parts (no network) or frequency.",
        "--estimator",
        default="autoregressive",
        metavar="NAME",
    )
    preset: str = option("default, fast, best or paper.", "--preset", default="default", metavar="NAME")
    seed: int = option(
        "Seed of everything random.", "--seed", default=0, metavar="N", least=0, most=2**64 - 1
    )
    device: str = option("cpu, cuda, cuda:1 ..., or auto.", "--device", default="auto", metavar="DEVICE")
    changes: list[str] | None = option(
        "Change a setting of the preset; may be given several times.",
        "--set",
        default=None,
        metavar="NAME=VALUE",
    )


@dataclass(frozen=True, kw_only=True)
class ScoreSettings(Settings):
    """Scoring patterns with a model."""

    model: Path = argument("A model that 'grade fit' made.", metavar="MODEL")
    patterns: str = argument(
        "A census (.npz, .parquet), a sample, a pattern such as 'Conv -> Relu', or a file with one per line.",
        metavar="PATTERNS",
    )
    out: Path = option("The file to write: .csv or .npz.", "--out", metavar="FILE")


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(Settings):
    """Comparing a model's scores with exact counts."""

    model: Path = argument("A model that 'grade fit' made.", metavar="MODEL")
    census: Path = argument("A census (.npz, .parquet) that 'grade census --out' made.", metavar="CENSUS")

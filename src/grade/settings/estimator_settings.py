"""What an estimator is, fitting it, and using it."""

from dataclasses import dataclass
from pathlib import Path

from grade.settings.parameters import Settings, argument, option, setting


@dataclass(frozen=True, kw_only=True)
class EstimatorSettings(Settings):
    """How an estimator is fitted and how it scores. Presets fill it by estimator and data size."""

    estimator: str = setting("Name of the estimator.", "autoregressive")
    seed: int = setting("Seed of everything random.", 0, least=0, most=2**64 - 1)
    device: str = setting("cpu, cuda, cuda:1 ..., or auto.", "auto")

    layers: int = setting("Layers of the network.", 2, least=1)
    width: int = setting("Width of the node stream (autoregressive: of the transformer).", 64, least=1)
    edge_width: int = setting("Width of the edge and global streams of the graph transformer.", 64, least=1)
    heads: int = setting("Attention heads.", 8, least=1)
    dropout: float = setting("Dropout.", 0.1, least=0, most=1)
    masking: float = setting(
        "Autoregressive: share of the context that is hidden in training.", 0.0, least=0, most=1
    )
    latent: int = setting("GraphVAE: size of the latent vector.", 32, least=1)

    members: int = setting("Networks trained with different seeds and averaged.", 1, least=1)
    batch: int = setting("Graphs in a training batch.", 256, least=1)
    steps: int = setting("Training steps; 0: as many as the held-out types say.", 0, least=0)
    epochs: float = setting("Passes over the sample, in place of steps; 0: not used.", 0.0, least=0)
    maximum_steps: int = setting("The most steps when held-out types decide.", 4000, least=1)
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
    bfloat16: bool = setting("Compute in bfloat16 where it is safe (GPU).", False)
    compile: bool = setting("Compile scoring and long trainings (GPU; takes a minute).", False)

    orders: str = setting("Order family: linear, level, canonical or all.", "linear")
    order_draws: int = setting(
        "Orders drawn per pattern in scoring; all of them where there are no more.", 16, least=1
    )
    evidence: bool = setting(
        "Combine the network with exact counts of small parts and with the counts of the sample.", False
    )
    orbit: bool = setting("Correct the probability of a matrix to that of its class.", True)

    rounds: int = setting("Noise paths (GraphVAE: latent draws) averaged per pattern.", 20, least=1)
    path_steps: int = setting("Steps of a noise path.", 20, least=1)
    kernel: str = setting("Reverse transition: bridge (exact for each component) or paper.", "bridge")
    shared_noise: bool = setting("Use the same noise for all patterns.", True)
    crowding: float = setting(
        "Power of a path's times: above 1, more of its steps lie near the data.", 1.0, above=0
    )
    states: float = setting(
        "DisCo-E: rate as with so many states; 0: with their number, as the paper.", 5.0, least=0
    )
    alpha: float = setting("DisCo-E: scale of the noise schedule.", 0.8, above=0)
    gamma: float = setting("DisCo-E: growth of the noise schedule.", 2.0, above=0)
    eta: float = setting("DeFoG-E: stochasticity of the paper's kernel.", 1.0, least=0)
    omega: float = setting("DeFoG-E: target guidance of the paper's kernel; 0 for likelihoods.", 0.0, least=0)
    edge_loss: float = setting("Weight of the edges in the loss.", 1.0, least=0)
    mean_loss: bool = setting("Average the loss over nodes and over edges rather than sum it.", False)
    memory: float = setting(
        "Largest share of the free memory that a scoring batch may take.", 0.4, above=0, most=1
    )


@dataclass(frozen=True, kw_only=True)
class FitSettings(Settings):
    """Fitting an estimator to samples."""

    samples: list[Path] = argument(
        "A sample, or samples of several sizes for one model of all.", metavar="SAMPLE..."
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

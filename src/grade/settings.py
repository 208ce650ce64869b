"""One documented settings object per stage. The command line is generated from these: nothing is declared
twice.

A field is made with `argument` (by position) or `option` (by flag) and carries its help text; `grade.terminal`
turns every field of a settings object into a parameter of the command that takes the object. Limits are
checked where the value is used, so that the same sentence reaches a caller from Python.
"""

from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Any

PARAMETER = "parameter"  # the key of a field's metadata under which its Parameter stands


@dataclass(frozen=True)
class Parameter:
    """How one field appears on the command line."""

    help: str
    flags: tuple[str, ...] = ()  # empty: by position
    metavar: str | None = None

    @property
    def positional(self) -> bool:
        return not self.flags


def argument(help: str, *, metavar: str, default: Any = MISSING) -> Any:
    """A field that is given by position."""
    return field(default=default, metadata={PARAMETER: Parameter(help, (), metavar)})


def option(help: str, *flags: str, default: Any = MISSING, metavar: str | None = None) -> Any:
    """A field that is given by a flag; required when it has no default."""
    return field(default=default, metadata={PARAMETER: Parameter(help, flags, metavar)})


def set_argument() -> Any:
    """The graph set that most commands start from."""
    return argument(
        "A folder that GraDE saved, files that it reads (a glob in quotes), or a name from the list above.",
        metavar="SET",
    )


def threads_option() -> Any:
    return option(
        "Threads to use; all available cores when left out.", "--threads", default=None, metavar="N"
    )


@dataclass(frozen=True, kw_only=True)
class OutputSettings:
    """How a command reports."""

    json: bool = option(
        "Print one JSON object on standard output and nothing else there.", "--json", default=False
    )


@dataclass(frozen=True, kw_only=True)
class BuildSettings:
    """Building a graph set and saving it."""

    sources: list[str] = argument(
        "Files, folders, globs ('models/**/*.onnx'), saved sets or built-in names.", metavar="SOURCE"
    )
    out: Path = argument("The folder to write.", metavar="OUT")
    force: bool = option("Replace OUT if it is a graph set already.", "--force", default=False)
    strict: bool = option(
        "Stop at the first input that cannot be read, instead of skipping it.", "--strict", default=False
    )
    merge_duplicates: bool = option(
        "Keep one graph of those that have exactly the same structure.", "--merge-duplicates", default=False
    )
    workers: int | None = option(
        "Processes that read files; all available cores when left out.",
        "--workers",
        default=None,
        metavar="N",
    )
    seconds: float = option(
        "Give up an input that takes longer than this.", "--seconds", default=300.0, metavar="S"
    )
    memory: float = option(
        "Give up an input that takes more memory than so many GiB.", "--memory", default=4.0, metavar="GIB"
    )


@dataclass(frozen=True, kw_only=True)
class ReadSettings:
    """What becomes of a model when it is read as a graph."""

    constants: bool = option("Keep Constant operators as nodes.", "--constants", default=False)
    initializers: bool = option(
        "Keep weights (ONNX initializers, PyTorch parameters) as nodes.", "--initializers", default=False
    )
    fold: bool = option("Drop operators that compute on constants and weights only.", "--fold", default=False)
    positions: bool = option(
        "Type each edge by the input that it feeds: 0, 1, 0+1 ...", "--positions", default=False
    )
    parallel: bool = option(
        "Tell by the edge type how many parallel arcs were merged: edge, edge x2 ...",
        "--parallel",
        default=False,
    )
    attributes: list[str] | None = option(
        "Put an ONNX attribute into the node type: kernel_shape, or Conv.kernel_shape for one operator only; may be"
        " given several times.",
        "--attribute",
        default=None,
        metavar="NAME",
    )
    names: str = option(
        "Names of PyTorch operators: aten (aten.conv2d) or onnx (Conv, where there is such an operator).",
        "--names",
        default="aten",
        metavar="NAME",
    )
    type_key: str = option(
        "The attribute of a node that holds its type in GraphML and JSON lines.",
        "--type-key",
        default="type",
        metavar="NAME",
    )


@dataclass(frozen=True, kw_only=True)
class InfoSettings:
    """Describing a graph set."""

    graphs: str = set_argument()


@dataclass(frozen=True, kw_only=True)
class DiffSettings:
    """Comparing two graph sets."""

    graphs: str = set_argument()
    other: str = argument("The set to compare it with.", metavar="OTHER")
    k: int = option("Number of nodes of the patterns, 2 to 16.", "-k", default=4, metavar="K")
    threads: int | None = threads_option()
    top: int = option(
        "How many of the types and patterns that differ most to show.", "--top", default=15, metavar="N"
    )


@dataclass(frozen=True, kw_only=True)
class CensusSettings:
    """Counting every connected induced subgraph of one size by pattern, exactly."""

    graphs: str = set_argument()
    k: int = option("Number of nodes of the subgraphs, 2 to 16.", "-k", metavar="K")
    threads: int | None = threads_option()
    top: int = option("How many of the most frequent patterns to show.", "--top", default=20, metavar="N")
    out: Path | None = option(
        "Write all patterns and their counts to this file: .npz or .parquet.",
        "--out",
        default=None,
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class SampleSettings:
    """Drawing connected induced subgraphs of one size."""

    graphs: str = set_argument()
    k: int = option("Number of nodes of the subgraphs, 2 to 16.", "-k", metavar="K")
    out: Path = option("The folder to write the sample to.", "--out", metavar="FOLDER")
    method: str = option(
        "rand-esu and rand-fase (uniform), ars (uniform, small graphs only), nrs (biased).",
        "--method",
        default="rand-esu",
        metavar="NAME",
    )
    count: int | None = option("Draw so many.", "--count", default=None, metavar="N")
    density: float | None = option(
        "Draw until this share of the types of the full census has been seen.",
        "--density",
        default=None,
        metavar="D",
    )
    seed: int = option("Seed of everything random.", "--seed", default=0, metavar="N")
    weighting: str = option(
        "What counts the same: occurrences, graphs, or (ars, nrs) edges.",
        "--weighting",
        default="occurrences",
        metavar="NAME",
    )
    r: float | None = option(
        "Enter depth d of the tree with probability (1 - d/(K+1))^R (rand-esu, rand-fase); planned when left out.",
        "-r",
        default=None,
        metavar="R",
    )
    census: Path | None = option(
        "The full census (.npz, .parquet), for the density; taken when left out and needed.",
        "--census",
        default=None,
        metavar="FILE",
    )
    parts: int | None = option(
        "Also count all subgraphs of up to N nodes, which makes estimators better; 3 or 4 when left out, 0: none.",
        "--parts",
        default=None,
        metavar="N",
    )
    threads: int | None = threads_option()


def setting(help: str, default: Any) -> Any:
    """A field of an estimator: not a flag of its own, but set by a preset or by ``--set NAME=VALUE``."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, kw_only=True)
class EstimatorSettings:
    """How an estimator is fitted and how it scores. Presets fill it by estimator and data size."""

    estimator: str = setting("Name of the estimator.", "autoregressive")
    seed: int = setting("Seed of everything random.", 0)
    device: str = setting("cpu, cuda, cuda:1 ..., or auto.", "auto")

    layers: int = setting("Layers of the network.", 2)
    width: int = setting("Width of the node stream (autoregressive: of the transformer).", 64)
    edge_width: int = setting("Width of the edge and global streams of the graph transformer.", 64)
    heads: int = setting("Attention heads.", 8)
    dropout: float = setting("Dropout.", 0.1)
    masking: float = setting("Autoregressive: share of the context that is hidden in training.", 0.0)
    latent: int = setting("GraphVAE: size of the latent vector.", 32)

    members: int = setting("Networks trained with different seeds and averaged.", 1)
    batch: int = setting("Graphs in a training batch.", 256)
    steps: int = setting("Training steps; 0: as many as the held-out types say.", 0)
    epochs: float = setting("Passes over the sample, in place of steps; 0: not used.", 0.0)
    maximum_steps: int = setting("The most steps when held-out types decide.", 4000)
    held_out: float = setting("Share of the types held out to choose the number of steps.", 0.2)
    folds: int = setting(
        "How many such shares are held out in turn; the steps with the best mean are taken.", 1
    )
    learning_rate: float = setting("Learning rate after the warm-up.", 1e-3)
    warmup: int = setting("Steps of linear warm-up.", 50)
    schedule: str = setting("Learning rate after the warm-up: constant or cosine.", "constant")
    weight_decay: float = setting("AdamW's weight decay.", 0.01)
    amsgrad: bool = setting("AdamW's amsgrad variant.", False)
    second_moment: float = setting("AdamW's second beta.", 0.99)
    epsilon: float = setting("AdamW's epsilon: gradients below it count less.", 1e-8)
    clip: float = setting("Largest gradient norm.", 1.0)
    average: float = setting(
        "Horizon of the weight average as a share of the steps taken; 0: no average.", 0.1
    )
    bfloat16: bool = setting("Compute in bfloat16 where it is safe (GPU).", False)
    capture: bool = setting("Capture the training step as a CUDA graph (GPU).", True)
    compile: bool = setting("Compile the network (GPU; takes a minute).", False)

    orders: str = setting("Order family: linear, level, canonical or all.", "linear")
    order_draws: int = setting(
        "Orders drawn per pattern in scoring; all of them where there are no more.", 16
    )
    orbit: bool = setting("Correct the probability of a matrix to that of its class.", True)
    parts: bool = setting("Weigh the model with the counts of small parts, where the sample has them.", True)
    counts: float = setting("Weight of the sample's own counts in the score; 0: the model alone.", 0.0)

    rounds: int = setting("Noise paths (GraphVAE: latent draws) averaged per pattern.", 20)
    path_steps: int = setting("Steps of a noise path.", 20)
    kernel: str = setting("Reverse transition: bridge (exact for each component) or paper.", "bridge")
    shared_noise: bool = setting("Use the same noise for all patterns.", True)
    stratified: bool = setting("Spread the rounds evenly: when components are lost, and orders.", True)
    crowding: float = setting("Power of a path's times: above 1, more of its steps lie near the data.", 1.0)
    states: float = setting("DisCo-E: rate as with so many states; 0: with their number, as the paper.", 5.0)
    alpha: float = setting("DisCo-E: scale of the noise schedule.", 0.8)
    gamma: float = setting("DisCo-E: growth of the noise schedule.", 2.0)
    eta: float = setting("DeFoG-E: stochasticity of the paper's kernel.", 1.0)
    omega: float = setting("DeFoG-E: target guidance of the paper's kernel; 0 for likelihoods.", 0.0)
    edge_loss: float = setting("Weight of the edges in the loss.", 1.0)
    mean_loss: bool = setting("Average the loss over nodes and over edges rather than sum it.", False)
    memory: float = setting("Largest share of the free memory that a scoring batch may take.", 0.4)


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Fitting an estimator to samples."""

    samples: list[Path] = argument(
        "A sample, or samples of several sizes for one model of all.", metavar="SAMPLE..."
    )
    out: Path = option("The folder to write the model to.", "--out", metavar="MODEL")
    estimator: str = option(
        "autoregressive, disco, digress, defog, graphvae or frequency.",
        "--estimator",
        default="autoregressive",
        metavar="NAME",
    )
    preset: str = option("default, fast or paper.", "--preset", default="default", metavar="NAME")
    seed: int = option("Seed of everything random.", "--seed", default=0, metavar="N")
    device: str = option("cpu, cuda, cuda:1 ..., or auto.", "--device", default="auto", metavar="DEVICE")
    changes: list[str] | None = option(
        "Change a setting of the preset; may be given several times.",
        "--set",
        default=None,
        metavar="NAME=VALUE",
    )


@dataclass(frozen=True, kw_only=True)
class ScoreSettings:
    """Scoring patterns with a model."""

    model: Path = argument("A model that 'grade fit' made.", metavar="MODEL")
    patterns: Path = argument(
        "A census (.npz, .parquet), a sample, or a text file of pattern keys.", metavar="PATTERNS"
    )
    out: Path = option("The file to write: .csv or .npz.", "--out", metavar="FILE")


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings:
    """Comparing a model's scores with exact counts."""

    model: Path = argument("A model that 'grade fit' made.", metavar="MODEL")
    census: Path = argument("A census (.npz, .parquet) that 'grade census --out' made.", metavar="CENSUS")


@dataclass(frozen=True, kw_only=True)
class VerifySettings:
    """Counting given patterns exactly."""

    patterns: str = argument(
        "A census (.npz, .parquet), a text file with one pattern key per line, or a key.", metavar="PATTERNS"
    )
    graphs: str = set_argument()
    seconds_per_pattern: float = option(
        "How long to count one pattern before its count is cut off to a lower bound.",
        "--seconds-per-pattern",
        default=1200.0,
        metavar="S",
    )
    time_budget: str | None = option(
        "How long to count all of them, e.g. 30m.", "--time-budget", default=None, metavar="TIME"
    )
    threads: int | None = threads_option()
    top: int | None = option(
        "Only the N most frequent patterns of a census, or the first N keys.",
        "--top",
        default=None,
        metavar="N",
    )
    fusible: bool = option(
        "Count only occurrences that a compiler can fuse: convex, with edges leaving from one node only.",
        "--fusible",
        default=False,
    )
    out: Path | None = option(
        "Write the supports to this file: .csv, or .json with the counts in every graph.",
        "--out",
        default=None,
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class MineSettings:
    """Finding the most frequent patterns of one size: sample, fit, search, verify, catalogue."""

    graphs: str = set_argument()
    k: int = option("Number of nodes of the patterns, 3 to 16.", "-k", metavar="K")
    out: Path = option("The folder of the run; a run that was stopped goes on there.", "--out", metavar="RUN")
    top: int = option("How many patterns to find.", "--top", default=50, metavar="N")
    beam: int = option("How many patterns of each size to keep.", "--beam", default=1000, metavar="N")
    rank_by: str = option(
        "occurrences (by default: it finds the most frequent patterns, see experiments/discovery), graphs, disjoint"
        " (occurrences that share no node), coverage (nodes), estimator (the paper's way) or hybrid.",
        "--rank-by",
        default="occurrences",
        metavar="NAME",
    )
    method: str = option(
        "search, or sampling: the most frequent patterns of the sample, the baseline.",
        "--method",
        default="search",
        metavar="NAME",
    )
    estimator: str = option(
        "For --rank-by estimator and hybrid.", "--estimator", default="autoregressive", metavar="NAME"
    )
    preset: str = option(
        "Preset of the estimator: default, fast or paper.", "--preset", default="default", metavar="NAME"
    )
    one_model: bool = option(
        "Fit one estimator for all sizes instead of one for each.", "--one-model", default=False
    )
    sampler: str = option("rand-esu, rand-fase, ars or nrs.", "--sampler", default="rand-esu", metavar="NAME")
    samples: int = option("Samples of each size.", "--samples", default=40_000, metavar="N")
    contains: list[str] | None = option(
        "At least one node of a type that matches, e.g. 'Conv*'; may be given several times.",
        "--contains",
        default=None,
        metavar="GLOB",
    )
    only: list[str] | None = option(
        "Only types that match; may be given several times.", "--only", default=None, metavar="GLOB"
    )
    never: list[str] | None = option(
        "No type that matches; may be given several times.", "--never", default=None, metavar="GLOB"
    )
    max_in_degree: int | None = option(
        "Most edges into a node, inside the pattern.", "--max-in-degree", default=None, metavar="N"
    )
    max_out_degree: int | None = option(
        "Most edges out of a node, inside the pattern.", "--max-out-degree", default=None, metavar="N"
    )
    min_edges: int | None = option("Fewest edges.", "--min-edges", default=None, metavar="N")
    max_edges: int | None = option("Most edges.", "--max-edges", default=None, metavar="N")
    acyclic: bool = option("No directed cycle.", "--acyclic", default=False)
    single_source: bool = option(
        "Exactly one node without in-coming edges.", "--single-source", default=False
    )
    single_sink: bool = option("Exactly one node without out-going edges.", "--single-sink", default=False)
    fusible: bool = option(
        "Count only occurrences that a compiler can fuse: convex, with edges leaving from one node only.",
        "--fusible",
        default=False,
    )
    min_graphs: int = option(
        "Fewest graphs that contain the pattern.", "--min-graphs", default=1, metavar="N"
    )
    memory: str = option("What the search may hold at a time.", "--memory", default="4G", metavar="SIZE")
    list_size: int = option(
        "Most occurrences to keep of each pattern while searching.", "--list-size", default=2000, metavar="N"
    )
    seconds_per_pattern: float = option(
        "How long to count one pattern exactly before its count is estimated.",
        "--seconds-per-pattern",
        default=10.0,
        metavar="S",
    )
    time_budget: str | None = option(
        "Stop after so long with the best found so far, e.g. 30m.",
        "--time-budget",
        default=None,
        metavar="TIME",
    )
    seed: int = option("Seed of everything random.", "--seed", default=0, metavar="N")
    threads: int | None = threads_option()


@dataclass(frozen=True, kw_only=True)
class ReportSettings:
    """Writing a page on a run, or on two."""

    runs: list[Path] = argument("The folder of a run; of two, to compare them.", metavar="RUN [RUN]")
    out: Path | None = option(
        "The file to write; report.html in the folder of the run, or comparison.html here, when left out.",
        "--out",
        default=None,
        metavar="FILE",
    )
    open: bool = option("Open the page in the browser.", "--open", default=False)


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """A pattern of a run for use elsewhere."""

    run: Path = argument("The folder of a run that 'grade mine' made.", metavar="RUN")
    pattern: int = option("Number of the pattern in the run, 1 is the best.", "--pattern", metavar="I")
    to: str = option(
        "pytorch (source code of a module), onnx (a model), graphml, dot, json, svg or png.",
        "--to",
        metavar="FORMAT",
    )
    out: Path | None = option(
        "The file to write; motif-I with the usual ending, here, when left out.",
        "--out",
        default=None,
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Showing a run."""

    run: Path = argument("The folder of a run that 'grade mine' made.", metavar="RUN")
    top: int = option("How many of its patterns to show.", "--top", default=20, metavar="N")

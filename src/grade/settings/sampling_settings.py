"""Counting and drawing subgraphs."""

from dataclasses import dataclass
from pathlib import Path

from grade.settings.parameters import (
    Settings,
    address_option,
    engine_option,
    option,
    set_argument,
    threads_option,
)


@dataclass(frozen=True, kw_only=True)
class CensusSettings(Settings):
    """Counting every connected induced subgraph of one size by pattern, exactly."""

    graphs: str = set_argument()
    k: int = option("Number of nodes of the subgraphs, 2 to 16.", "-k", metavar="K", least=2, most=16)
    threads: int | None = threads_option()
    engine: str = engine_option()
    address: str | None = address_option()
    top: int = option(
        "Number of patterns to show, the most frequent first.", "--top", default=20, metavar="N", least=0
    )
    out: Path | None = option(
        "Write all patterns and their counts to this file: .npz or .parquet.",
        "--out",
        default=None,
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class SampleSettings(Settings):
    """Drawing connected induced subgraphs of one size."""

    graphs: str = set_argument()
    k: int = option("Number of nodes of the subgraphs, 2 to 16.", "-k", metavar="K", least=2, most=16)
    out: Path = option("The folder to write the sample to.", "--out", metavar="FOLDER")
    method: str = option(
        "rand-esu and rand-fase (uniform), ars (uniform, small graphs only), nrs (biased), stratified (rare patterns).",
        "--method",
        default="rand-esu",
        metavar="NAME",
    )
    count: int | None = option("Number of draws.", "--count", default=None, metavar="N", least=1)
    density: float | None = option(
        "Draw until the sample has this share of the patterns of the full census.",
        "--density",
        default=None,
        metavar="D",
    )
    seed: int = option(
        "Seed of everything random.", "--seed", default=0, metavar="N", least=0, most=2**64 - 1
    )
    weighting: str = option(
        "Units of equal weight: occurrences, graphs, or (ars, nrs) edges.",
        "--weighting",
        default="occurrences",
        metavar="NAME",
    )
    r: float | None = option(
        "Enter depth d of the tree with probability (1 - d/(K+1))^R (rand-esu, rand-fase); planned by default.",
        "-r",
        default=None,
        metavar="R",
    )
    whole_passes: bool = option(
        "Rand-ESU as published: nothing lowers the probabilities of -r, whatever that costs.",
        "--whole-passes",
        default=False,
    )
    census: Path | None = option(
        "The full census (.npz, .parquet) for --density; computed by default.",
        "--census",
        default=None,
        metavar="FILE",
    )
    parts: int | None = option(
        "Also count all subgraphs of up to N nodes, for estimators; 0: none; by default up to 5.",
        "--parts",
        default=None,
        metavar="N",
    )
    threads: int | None = threads_option()
    engine: str = engine_option()
    address: str | None = address_option()

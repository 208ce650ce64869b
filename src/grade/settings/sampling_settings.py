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
        "How many of the most frequent patterns to show.", "--top", default=20, metavar="N", least=0
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
        "Draw until this share of the patterns of the full census has been seen.",
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
        "Enter depth d of the tree with probability (1 - d/(K+1))^R (rand-esu, rand-fase); planned when left out.",
        "-r",
        default=None,
        metavar="R",
    )
    census: Path | None = option(
        "The full census (.npz, .parquet), for the density; computed when left out and needed.",
        "--census",
        default=None,
        metavar="FILE",
    )
    parts: int | None = option(
        "Also count all subgraphs of up to N nodes, which estimators use; 0: none; up to 5 when left out.",
        "--parts",
        default=None,
        metavar="N",
    )
    threads: int | None = threads_option()
    engine: str = engine_option()
    address: str | None = address_option()

"""Testing patterns against null models, and describing graphs and nodes by their patterns."""

from dataclasses import dataclass
from pathlib import Path

from grade.settings.parameters import Settings, option, set_argument, threads_option


@dataclass(frozen=True, kw_only=True)
class SignificanceSettings(Settings):
    """Comparing the count of every pattern with its counts in randomised graphs."""

    graphs: str = set_argument()
    k: int = option("Number of nodes of the patterns, 2 to 16.", "-k", metavar="K", least=2, most=16)
    null: str = option(
        "Null model: degrees; types (also edges between each pair of types); levels (also edges between levels); block"
        " (also the counts of all 3-node patterns).",
        "--null",
        default="degrees",
        metavar="NAME",
    )
    draws: int = option("Number of randomised sets.", "--draws", default=1000, metavar="N")
    switches: float | None = option(
        "Proposed switches for each edge; by default chosen by the autocorrelation of counts.",
        "--switches",
        default=None,
        metavar="X",
    )
    least: int = option(
        "Test patterns that reach N occurrences in the set or in some draw.",
        "--least",
        default=5,
        metavar="N",
    )
    allow_cycles: bool = option(
        "Allow cycles in randomised graphs whose originals are acyclic (degrees, types, block).",
        "--allow-cycles",
        default=False,
    )
    keep_mutual: bool = option(
        "Keep each node's number of mutual edges; always on if all edges are mutual.",
        "--keep-mutual",
        default=False,
    )
    samples: int | None = option(
        "Estimate counts from N sampled subgraphs of the set and of every draw, if exact counts are out of reach.",
        "--samples",
        default=None,
        metavar="N",
    )
    by_graph: bool = option("Also test every graph by itself.", "--by-graph", default=False)
    seed: int = option(
        "Seed of everything random.", "--seed", default=0, metavar="N", least=0, most=2**64 - 1
    )
    threads: int | None = threads_option()
    top: int = option(
        "Number of patterns to show, the most significant first.", "--top", default=20, metavar="N", least=0
    )
    out: Path | None = option(
        "Write all patterns with their scores to this file: .npz or .parquet.",
        "--out",
        default=None,
        metavar="FILE",
    )
    page: Path | None = option(
        "Write a page with a volcano plot, the significance profile and a table to sort: an .html file.",
        "--page",
        default=None,
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class FeaturesSettings(Settings):
    """Describing graphs, or nodes, by how often each pattern occurs there."""

    graphs: str = set_argument()
    k: int = option("Number of nodes of the patterns, 2 to 16.", "-k", metavar="K", least=2, most=16)
    out: Path = option("The file to write: .npz (sparse) or .parquet.", "--out", metavar="FILE")
    per: str = option(
        "A row for each graph (columns: patterns) or for each node (columns: orbits).",
        "--per",
        default="graph",
        metavar="graph|node",
    )
    values: str = option(
        "counts, shares (of the row's sum) or presence (1 or 0).",
        "--values",
        default="counts",
        metavar="NAME",
    )
    threads: int | None = threads_option()

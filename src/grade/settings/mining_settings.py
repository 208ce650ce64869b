"""Finding patterns, and counting given ones."""

import re
from dataclasses import dataclass
from pathlib import Path

from grade.errors import InputError
from grade.settings.parameters import (
    Settings,
    address_option,
    argument,
    engine_option,
    option,
    set_argument,
    threads_option,
)

SMALLEST, LARGEST = 3, 16  # nodes of a pattern that can be mined


@dataclass(frozen=True, kw_only=True)
class MineSettings(Settings):
    """Finding patterns that recur, under the constraints of `grade.search.Constraints`."""

    graphs: str = set_argument()
    k: str = option(
        "Number of nodes of the patterns, 3 to 16: one, or several such as 3-10.",
        "-k",
        default="3-10",
        metavar="K",
    )
    out: Path | None = option(
        "The folder of the run; a stopped run resumes there. Named after the set by default.",
        "--out",
        default=None,
        metavar="RUN",
    )
    top: int = option("Number of patterns to find.", "--top", default=20, metavar="N", least=1)
    all: bool = option(
        "Show all patterns in the order of the ranking, instead of a distinct few that cover most of the set.",
        "--all",
        default=False,
    )
    beam: int = option(
        "Number of patterns of each size to keep.", "--beam", default=1000, metavar="N", least=1
    )
    rank_by: str = option(
        "Score of patterns in the search: coverage (nodes in some occurrence), occurrences (the paper's objective),"
        " graphs, disjoint (occurrences that share no node), saving (by fusing these, from --costs or a model of"
        " bytes), mni (minimum image-based support), estimator (occurrences, shrunk towards an estimator's expectation"
        " where they are uncertain) or probability (the estimator alone, the paper's way).",
        "--rank-by",
        default="coverage",
        metavar="NAME",
    )
    costs: Path | None = option(
        "Measured costs of operators and patterns, JSON or CSV, for --rank-by saving and for the column of savings.",
        "--costs",
        default=None,
        metavar="FILE",
    )
    start_from: str | None = option(
        "Grow from this pattern only, so that every motif contains it: text such as 'Conv -> Relu' (wildcards allowed),"
        " a code by numbers, a small .onnx model, or torch:MODULE.",
        "--start-from",
        default=None,
        metavar="PATTERN",
    )
    method: str = option(
        "search, or sampling: the most frequent patterns of the sample, the baseline.",
        "--method",
        default="search",
        metavar="NAME",
    )
    complete: bool = option(
        "Find every pattern that reaches --min-graphs or --min-mni. The first --top of each size get all supports.",
        "--complete",
        default=False,
    )
    closed: bool = option(
        "With --complete: only patterns of which no pattern one node larger has the same support.",
        "--closed",
        default=False,
    )
    maximal: bool = option(
        "With --complete: only patterns of which no pattern one node larger reaches the support.",
        "--maximal",
        default=False,
    )
    weighting: str = option(
        "Units of equal weight: occurrences, or graphs, so that no large model dominates. With graphs, a node of a"
        " graph of n nodes counts 1/n in the distinct choice, its occurrences count 1/n in the ranking, and every"
        " graph gets the same number of samples.",
        "--weighting",
        default="occurrences",
        metavar="NAME",
    )
    estimator: str = option(
        "For --rank-by estimator and probability.", "--estimator", default="autoregressive", metavar="NAME"
    )
    preset: str = option(
        "Preset of the estimator: default, fast, best or paper.", "--preset", default="fast", metavar="NAME"
    )
    sampler: str = option("rand-esu, rand-fase, ars or nrs.", "--sampler", default="rand-esu", metavar="NAME")
    samples: int = option("Samples of each size.", "--samples", default=40_000, metavar="N", least=1)
    memory: str = option(
        "Limit of the search's main memory, e.g. 4G.", "--memory", default="4G", metavar="SIZE"
    )
    list_size: int = option(
        "Most occurrences to keep of each pattern while searching.",
        "--list-size",
        default=2000,
        metavar="N",
        least=1,
    )
    seconds_per_pattern: float = option(
        "Work limit for counting one pattern exactly, in seconds of one core; beyond it the count is estimated.",
        "--seconds-per-pattern",
        default=10.0,
        metavar="S",
        above=0,
    )
    time_budget: str | None = option(
        "Stop after this time with the best found so far, e.g. 30m.",
        "--time-budget",
        default=None,
        metavar="TIME",
    )
    seed: int = option(
        "Seed of all random choices.", "--seed", default=0, metavar="N", least=0, most=2**64 - 1
    )
    threads: int | None = threads_option()
    engine: str = engine_option()
    address: str | None = address_option()

    @property
    def sizes(self) -> range:
        """The numbers of nodes that are asked for.

        >>> list(MineSettings(graphs="zoo", k="3-5").sizes), list(MineSettings(graphs="zoo", k="8").sizes)
        ([3, 4, 5], [8])
        """
        match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", str(self.k).strip())
        if match is None:
            raise InputError(
                f"`k` is {str(self.k)!r}; give a number of nodes such as 8, or several such as 3-10."
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if first < SMALLEST or last > LARGEST:
            raise InputError(f"`k` is {self.k}; give {SMALLEST} to {LARGEST}.")
        if last < first:
            raise InputError(f"`k` is {self.k}; give the smaller number first.")
        return range(first, last + 1)


@dataclass(frozen=True, kw_only=True)
class VerifySettings(Settings):
    """Counting given patterns exactly."""

    patterns: str = argument(
        "A pattern such as 'Conv -> Relu', a code by numbers, a file with one of either per line, a census (.npz,"
        " .parquet), a sample, a small .onnx model, or torch:MODULE.",
        metavar="PATTERNS",
    )
    graphs: str = set_argument()
    seconds_per_pattern: float = option(
        "Work limit for counting one pattern, in seconds of one core; beyond it the count is a lower bound.",
        "--seconds-per-pattern",
        default=1200.0,
        metavar="S",
    )
    time_budget: str | None = option(
        "Time limit for all patterns together, e.g. 30m.", "--time-budget", default=None, metavar="TIME"
    )
    threads: int | None = threads_option()
    engine: str = engine_option()
    address: str | None = address_option()
    top: int | None = option(
        "Only the N most frequent patterns of a census, or the first N lines.",
        "--top",
        default=None,
        metavar="N",
    )
    fusible: bool = option(
        "Count only occurrences that a compiler can fuse: convex, with edges leaving from one node, which alone may"
        " be a graph output.",
        "--fusible",
        default=False,
    )
    non_induced: bool = option(
        "Allow further edges between the nodes of an occurrence.",
        "--non-induced",
        default=False,
    )
    maximum: bool = option(
        "Also find the most occurrences that share no node; exact where overlapping parts are small.",
        "--maximum",
        default=False,
    )
    out: Path | None = option(
        "Write the supports to this file: .csv, or .json with the counts in every graph.",
        "--out",
        default=None,
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class MatchSettings(Settings):
    """Matching a library of patterns."""

    library: str = argument(
        "A file with a pattern such as 'conv-relu: Conv -> Relu' on each line, or fusions: those that onnxruntime,"
        " TVM and XNNPACK document.",
        metavar="LIBRARY",
    )
    graphs: str = set_argument()
    fusible: bool = option("Only occurrences that a compiler can fuse.", "--fusible", default=False)
    non_induced: bool = option(
        "Allow further edges between the nodes of an occurrence.",
        "--non-induced",
        default=False,
    )
    remaining: int = option(
        "Number of motifs to find among the nodes that the library does not cover.",
        "--remaining",
        default=10,
        metavar="N",
        least=0,
    )
    seconds_per_pattern: float = option(
        "Work limit for matching one pattern, in seconds of one core; beyond it its numbers are lower bounds.",
        "--seconds-per-pattern",
        default=60.0,
        metavar="S",
        above=0,
    )
    threads: int | None = threads_option()

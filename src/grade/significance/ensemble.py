"""`significance`: is a pattern more, or less, frequent than in comparable random graphs?

Counts are exact on both sides: a census of the set, and one of every draw of a null model, with one table of patterns
for all of them. A draw randomises all graphs of the set, each by itself.
"""

import os
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.errors import InputError
from grade.graphs import PatternTable
from grade.machine import thread_count
from grade.progress import Progress
from grade.sampling.census import check_size
from grade.significance.columns_file import write_columns
from grade.significance.mixing import Mixing, choose_switches
from grade.significance.null_models import NullModel, check_switches
from grade.significance.p_values import Scores, score
from grade.significance.sampled import sampled_counts
from grade.sources import as_graphs

LEVEL = 0.01  # of q, below which a pattern is a motif


@dataclass(frozen=True, eq=False)
class GraphScores:
    """Patterns tested in each graph by itself: one row for each pattern that a graph has, or had in some draw."""

    graph: NDArray[np.int64]  # [n] number of the graph
    pattern: NDArray[np.int64]  # [n] row of the patterns
    scores: Scores


@dataclass(frozen=True, eq=False)
class Significance:
    """All patterns of one size in a set and its randomised versions, with their scores."""

    set: str  # origin of the graph set
    k: int
    null: NullModel
    draws: int
    seed: int
    patterns: PatternTable  # [n]
    scores: Scores
    instances: int  # occurrences of all patterns in the set
    null_instances: float  # mean over the draws
    quality: str  # of the counts: exact or estimate
    mixing: Mixing
    acceptance: float | None  # share of the proposed moves that were made; None for sampled counts
    seconds: float
    threads: int
    by_graph: GraphScores | None = None
    graph_names: tuple[str, ...] = ()

    @property
    def concentration(self) -> NDArray[np.float64]:
        """[n] share of each pattern in all occurrences."""
        return self.scores.observed / max(self.instances, 1)

    @property
    def null_concentration(self) -> NDArray[np.float64]:
        """[n] mean count over the mean number of occurrences of the draws."""
        return self.scores.mean / max(self.null_instances, 1e-300)

    @property
    def motifs(self) -> NDArray[np.int64]:
        """Rows of over-represented patterns (q < .01), the most significant first."""
        return self.ranked(self.scores.over)

    @property
    def anti_motifs(self) -> NDArray[np.int64]:
        """Rows of under-represented patterns (q < .01), the most significant first."""
        return self.ranked(~self.scores.over)

    def ranked(self, among: NDArray[np.bool_]) -> NDArray[np.int64]:
        order = self.order
        return order[(among & (self.scores.q < LEVEL))[order]]

    @property
    def order(self) -> NDArray[np.int64]:
        """All rows by q, then by the absolute z-score, then by the ratio to the null model."""
        z = np.nan_to_num(np.abs(self.scores.z), nan=0.0)
        return np.lexsort((-np.abs(self.scores.log_ratio), -z, self.scores.q))

    @property
    def least_q(self) -> float:
        """The smallest q that one pattern alone can reach with these draws."""
        return min(2 * int(self.scores.tested.sum()) / (self.draws + 1), 1.0)

    def __repr__(self) -> str:
        return (
            f"Significance({self.set!r}, k={self.k}, null={self.null.name!r}: {len(self.motifs):,} motifs and"
            f" {len(self.anti_motifs):,} anti-motifs of {int(self.scores.tested.sum()):,} patterns tested,"
            f" {self.draws:,} draws)"
        )

    def columns(self) -> dict[str, Any]:
        """All scores [n] by name, with the keys of the patterns."""
        return {
            "key": [pattern.key for pattern in self.patterns],
            **score_columns(self.scores),
            "concentration": self.concentration,
            "null_concentration": self.null_concentration,
            "profile": self.scores.profile,
        }

    def graph_columns(self) -> dict[str, Any]:
        """The same for each graph by itself, with the graph's name in front."""
        if self.by_graph is None:
            raise InputError("The graphs were not tested one by one; set `by_graph`.")
        keys = [pattern.key for pattern in self.patterns]
        graph, scores = self.by_graph.graph, self.by_graph.scores
        return {
            "graph": [self.graph_names[g] for g in graph.tolist()],
            "key": [keys[row] for row in self.by_graph.pattern.tolist()],
            **score_columns(scores),
            "concentration": scores.observed / np.maximum(np.bincount(graph, scores.observed)[graph], 1),
            "null_concentration": scores.mean / np.maximum(np.bincount(graph, scores.mean)[graph], 1e-300),
        }

    def to_pandas(self) -> Any:
        """A table with one row for each pattern, the most significant first."""
        try:
            import pandas
        except ImportError:
            raise InputError("pandas is not installed; run 'pip install pandas'.") from None
        return pandas.DataFrame(self.columns()).iloc[self.order].reset_index(drop=True)

    def facts(self) -> dict[str, Any]:
        """How the scores were made, for files and for JSON."""
        return {
            "set": self.set,
            "k": self.k,
            "null": self.null.name,
            "allow_cycles": self.null.allow_cycles,
            "keep_mutual": self.null.keep_mutual,
            "draws": self.draws,
            "seed": self.seed,
            "instances": self.instances,
            "null_instances": self.null_instances,
            "quality": self.quality,
            "patterns": len(self.patterns),
            "tested": int(self.scores.tested.sum()),
            "over_represented": len(self.motifs),
            "under_represented": len(self.anti_motifs),
            "least_q": self.least_q,
            **asdict(self.mixing),
            "acceptance": self.acceptance,
            "seconds": self.seconds,
            "threads": self.threads,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all patterns with their scores to an .npz or .parquet file, whole or not at all.

        With scores by graph these are further rows, and the column ``graph`` is empty for the whole set.
        """
        columns = self.columns()
        if self.by_graph is not None:
            below = self.graph_columns()
            above = {
                "graph": [""] * len(self.patterns),
                **{name: columns[name] for name in below if name != "graph"},
            }
            columns = {name: np.concatenate([above[name], below[name]]) for name in below}
        write_columns(path, columns, self.facts())


def score_columns(scores: Scores) -> dict[str, Any]:
    names = ("observed", "mean", "deviation", "z", "p_over", "p_under", "p", "q", "log_ratio")
    return {name: getattr(scores, name) for name in names}


def significance(
    graphs: Any,
    k: int,
    null: str | NullModel = "degrees",
    *,
    draws: int = 1000,
    switches: float | None = None,
    least: int = 5,
    by_graph: bool = False,
    samples: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Significance:
    """Compare the count of every pattern of k nodes with its counts in randomised graphs.

    The result depends on the seed and not on the number of threads.

    Parameters
    ----------
    graphs
        a GraphSet, or anything that `grade.load` takes
    null
        a name of `NULL_MODELS`, or a `NullModel` with options
    draws
        number of randomised sets; no p-value is below 1 / (draws + 1)
    switches
        proposed moves for each edge between the set and a draw; chosen by `mixing` when left out
    least
        test only patterns with at least this many occurrences in the set or in some draw
    by_graph
        test every graph by itself as well
    samples
        estimate all counts from this many sampled subgraphs, where exact counts are out of reach (`sampled`)

    Examples
    --------
    >>> from grade import GraphSet
    >>> loop = [[0, 1], [0, 2], [1, 2]]  # a feed-forward loop, eight times
    >>> graphs = GraphSet.from_edges(node_counts=[24], node_types=[0] * 24, edge_counts=[24], node_vocabulary=["gene"],
    ...     edges=[[3 * i + a, 3 * i + b] for i in range(8) for a, b in loop])
    >>> found = significance(graphs, 3, draws=499)
    >>> [str(found.patterns[row]) for row in found.motifs]
    ['gene#1 -> gene#2 -> gene#3; gene#1 -> gene#3']
    """
    graphs = as_graphs(graphs)
    check_size(graphs, k)
    model = (NullModel(name=null) if isinstance(null, str) else null).fitted(graphs)
    check_numbers(draws, least, seed)
    if samples is not None and (samples < 1 or by_graph):
        raise InputError(
            f"The number of samples is {samples}; give 1 or more."
            if samples < 1
            else "Graphs are tested one by one with exact counts only; leave out samples or by_graph."
        )
    threads = thread_count(threads)
    begin = time.perf_counter()
    if switches is None:
        mixing = choose_switches(graphs, k, model, seed, threads, progress)
    else:
        check_switches(switches)
        mixing = Mixing(switches, None, None, None)
    facts: dict[str, Any] = {
        "set": graphs.origin,
        "k": k,
        "null": model,
        "draws": draws,
        "seed": seed,
        "mixing": mixing,
        "threads": threads,
    }
    if samples is not None:
        estimates = sampled_counts(
            graphs,
            k,
            model,
            samples=samples,
            draws=draws,
            switches=mixing.switches,
            least=least,
            seed=seed,
            threads=threads,
            progress=progress,
        )
        return Significance(
            patterns=estimates.patterns,
            scores=estimates.scores,
            instances=round(estimates.instances),
            null_instances=estimates.null_instances,
            quality="estimate",
            acceptance=None,
            seconds=time.perf_counter() - begin,
            **facts,
        )
    found = _core.null_ensemble(
        graphs.core, k, *model.arguments, mixing.switches, seed, draws, by_graph, threads, progress
    )
    patterns = PatternTable(
        found["node_types"],
        found["edges"],
        found["automorphisms"],
        graphs.node_vocabulary,
        graphs.edge_vocabulary,
    )
    below = found.get("by_graph")
    return Significance(
        patterns=patterns,
        scores=scores_of(found, draws, least),
        instances=int(found["observed"].sum(dtype=np.uint64)),
        null_instances=float(found["instances"].mean()),
        quality="exact",
        acceptance=found["accepted"] / max(found["steps"], 1),
        seconds=time.perf_counter() - begin,
        by_graph=None
        if below is None
        else GraphScores(
            below["graph"].astype(np.int64), below["pattern"].astype(np.int64), scores_of(below, draws, least)
        ),
        graph_names=tuple(graphs.graph_names) if by_graph else (),
        **facts,
    )


def scores_of(found: dict[str, Any], draws: int, least: int) -> Scores:
    return score(
        found["observed"].astype(float),
        found["mean"],
        found["variance"],
        found["at_least"],
        found["at_most"],
        found["most"],
        draws,
        least,
    )


def check_numbers(draws: int, least: int, seed: int) -> None:
    if not 2 <= draws <= 10_000_000:
        raise InputError(f"The number of draws is {draws}; give 2 to 10,000,000.")
    if least < 1:
        raise InputError(f"The least number of occurrences is {least}; give 1 or more.")
    if not 0 <= seed < 2**64:
        raise InputError(f"The seed is {seed}; give 0 to 2^64 - 1.")

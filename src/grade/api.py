"""The functions of ``import grade`` except `grade.mine`.

The commands of the same names call the same functions. Wherever graphs are taken, a file, a folder, a glob, a
built-in name, a graph set, a torch module with example inputs, and a list of these will do.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grade import frames
from grade.engine import engine_named
from grade.errors import InputError
from grade.graphs import GraphSet, Pattern, SubgraphSample
from grade.graphs.queries import Query
from grade.machine import thread_count
from grade.progress import NEVER, Deadline, OutOfTime, Progress
from grade.report.drawing import save_picture, svg
from grade.reprs import shown_by
from grade.sampling import sample as draw_sample
from grade.sampling.census import Census, take_census
from grade.search import Constraints
from grade.settings import ReadSettings
from grade.sources import as_graphs
from grade.support import Support
from grade.units import parse_seconds
from grade.verify import COUNTING_SHARE, read_patterns, verify_patterns, with_estimates
from grade.verify.counting import SECONDS_PER_PATTERN
from grade.verify.given import read_one
from grade.verify.pattern_files import support_columns, support_lines

if TYPE_CHECKING:
    from grade.estimators import Estimator

Patterns = str | Path | Pattern | Query | Sequence[str | Pattern | Query]


def load(graphs: Any, **reading: Any) -> GraphSet:
    """The graph set of a file, folder, name, model, or list of these.

    Parameters
    ----------
    graphs
        a file, a folder, a glob, a built-in name, a `GraphSet`, a PyTorch module with example inputs, an ONNX model, a
        networkx digraph, or a list of these (`grade.sources.as_graphs`)
    reading
        how files are read, e.g. ``constants=True, attributes=["Conv.kernel_shape"]``; the fields of
        `grade.settings.ReadSettings`

    Examples
    --------
    >>> load("zoo-mini")
    GraphSet('zoo-mini': 12 graphs, 4,187 nodes, 4,966 edges)
    """
    return as_graphs(graphs, ReadSettings(**reading))


def census(
    graphs: Any,
    k: int,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    engine: str = "local",
    address: str | None = None,
) -> Census:
    """Count every connected induced subgraph of k nodes by pattern, exactly.

    Parameters
    ----------
    graphs
        anything that `load` takes
    k
        number of nodes, 2 to 16
    threads
        by default all available cores
    progress
        gets the share done; where it returns False the work stops
    engine, address
        ``ray`` and the host:port of a Ray cluster, to work on all its machines

    Examples
    --------
    >>> census("zoo-mini", 3)
    Census(8,015 instances of 348 patterns, k=3)
             279  Unsqueeze#1 -> Concat; Unsqueeze#2 -> Concat
             278  Unsqueeze -> Concat -> Reshape
             244  Shape -> Gather -> Unsqueeze
             224  Gather -> Unsqueeze -> Concat
             201  Conv -> BatchNormalization -> Relu
    """
    with engine_named(engine, address) as where:
        return take_census(as_graphs(graphs), k, threads, progress, where)


def sample(
    graphs: Any,
    k: int,
    method: str = "rand-esu",
    *,
    engine: str = "local",
    address: str | None = None,
    **settings: Any,
) -> SubgraphSample:
    """Draw connected induced subgraphs of k nodes; see `grade.sampling.sample` for the settings.

    Examples
    --------
    >>> sample("zoo-mini", 5, count=100, seed=1)
    SubgraphSample(100 occurrences of 93 patterns, k=5, by "rand-esu")
    """
    with engine_named(engine, address) as where:
        return draw_sample(as_graphs(graphs), k, method, engine=where, **settings)


def fit(
    samples: SubgraphSample | Sequence[SubgraphSample],
    estimator: str = "autoregressive",
    preset: str = "default",
    *,
    out: str | Path | None = None,
    **changes: Any,
) -> "Estimator":
    """Fit an estimator to a sample, or to samples of several sizes.

    Parameters
    ----------
    out
        a folder to store the model in
    changes
        settings of the estimator in place of the preset's, e.g. ``seed=1, device="cuda", layers=3``

    Examples
    --------
    >>> drawn = sample("zoo-mini", 4, count=500, seed=1)
    >>> model = fit(drawn, "frequency")
    >>> model.log_probability(drawn.patterns).shape == (len(drawn.patterns),)
    True
    """
    from grade.estimators import fit as fit_model
    from grade.estimators import fit_to_folder, preset_for

    given = [samples] if isinstance(samples, SubgraphSample) else list(samples)
    settings = preset_for(given, estimator, preset, **changes)
    if out is None:
        return fit_model(given, settings)
    return fit_to_folder(given, settings, Path(out))


@dataclass(frozen=True, eq=False)
class Counted:
    """Patterns with their supports, in the order in which they were given."""

    patterns: list[Pattern | Query]
    supports: list[Support]
    graphs: GraphSet
    threads: int = 1

    def __len__(self) -> int:
        return len(self.patterns)

    def __iter__(self) -> Iterator[tuple[Pattern | Query, Support]]:
        return zip(self.patterns, self.supports, strict=True)

    def __getitem__(self, index: int) -> Support:
        return self.supports[index]

    @property
    def exact(self) -> int:
        """How many were counted exactly."""
        return sum(support.occurrences_quality == "exact" for support in self.supports)

    def columns(self) -> dict[str, list[Any]]:
        """The supports column by column, with their qualities in columns of their own."""
        return support_columns(self.patterns, self.supports)

    def to_pandas(self) -> Any:
        """The supports as a pandas.DataFrame."""
        return frames.to_pandas(self.columns())

    _repr_html_ = shown_by("grade.report.notebook", "counted_html")

    def __repr__(self) -> str:
        return "\n".join(support_lines(self.patterns, self.supports, self.graphs))


def count(
    graphs: Any,
    patterns: Patterns,
    *,
    top: int | None = None,
    induced: bool = True,
    fusible: bool = False,
    seconds_per_pattern: float = SECONDS_PER_PATTERN,
    time_budget: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    engine: str = "local",
    address: str | None = None,
) -> Counted:
    """Count given patterns exactly: occurrences, graphs, disjoint occurrences, covered nodes.

    Parameters
    ----------
    patterns
        a pattern as text or by numbers, a file of those, a census, a small model; a pattern; or a list of these
    top
        only the most frequent patterns of a census, or the first ones
    induced
        whether edges that the pattern does not have are forbidden
    fusible
        only occurrences that a compiler can fuse
    seconds_per_pattern, time_budget
        when to stop counting; the count is then replaced by an unbiased estimate where possible, and a lower bound
        otherwise
    engine, address
        ``ray`` and the host:port of a Ray cluster; queries are answered on this machine

    Examples
    --------
    >>> count("zoo-mini", ["Conv -> Relu", "Conv#1 -> Relu -> Conv#2"])
    occurrences  graphs  disjoint  coverage  pattern
             50       3        50    2.39 %  Conv -> Relu
             35       3        27    2.13 %  Conv#1 -> Relu -> Conv#2
    """
    graph_set, used, total, deadline = as_graphs(graphs), thread_count(threads), None, NEVER
    if time_budget is not None:
        deadline = Deadline.after(parse_seconds(time_budget))
        total = COUNTING_SHARE * parse_seconds(time_budget)
    wanted = [one for given in as_list(patterns) for one in read(given, graph_set, top, induced)][:top]
    with engine_named(engine, address) as where:
        supports = verify_patterns(
            graph_set, wanted, seconds_per_pattern, total, used, progress, fusible, engine=where
        )
        with suppress(OutOfTime):  # then lower bounds stay
            supports = with_estimates(
                graph_set,
                wanted,
                supports,
                constraints=Constraints(fusible=fusible),
                threads=used,
                deadline=deadline,
                engine=where,
            )
    return Counted(wanted, supports, graph_set, used)


def as_list(patterns: Patterns) -> Sequence[str | Path | Pattern | Query]:
    return [patterns] if isinstance(patterns, str | Path | Pattern | Query) else patterns


def read(
    given: str | Path | Pattern | Query, graphs: GraphSet, top: int | None, induced: bool
) -> list[Pattern | Query]:
    """The patterns of one entry."""
    if isinstance(given, Query) or (isinstance(given, Pattern) and induced):
        return [given]
    found = read_patterns(str(given), graphs.node_vocabulary, graphs.edge_vocabulary, top, induced=induced)
    return [one.pattern for one in found]


@dataclass(frozen=True)
class Drawing:
    """A picture of a pattern, which a notebook displays."""

    pattern: Pattern

    def __repr__(self) -> str:
        return f"Drawing({str(self.pattern)!r})"

    @property
    def svg(self) -> str:
        return svg(self.pattern)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, out: str | Path) -> Path:
        """Write an .svg or .png file."""
        save_picture(self.pattern, Path(out))
        return Path(out)


def draw(pattern: Pattern | str) -> Drawing:
    """Draw a pattern, given as such or as text.

    Examples
    --------
    >>> draw("Conv -> Relu").svg.count("<rect")
    2
    """
    if isinstance(pattern, str):
        found = read_one(pattern, [], []).pattern
        if not isinstance(found, Pattern):
            raise InputError(f"{pattern!r} is a query, which has no picture; write it without wildcards.")
        pattern = found
    return Drawing(pattern)

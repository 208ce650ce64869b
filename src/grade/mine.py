"""Mining: graphs in, motifs out. The flow of a run on one page: sample, fit, search, verify, catalogue.

Every stage leaves its result in the run folder and is not done again when it is there: a run that was stopped goes on
where it was, and ends with the same catalogue.
"""

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grade import frames
from grade.callable_module import CallableModule
from grade.errors import InputError
from grade.graphs import GraphSet, Pattern, SubgraphSample
from grade.graphs.sample import load_sample, save_sample
from grade.machine import thread_count
from grade.progress import NEVER, Deadline, OutOfTime, Progress
from grade.runs import Catalogue, Chosen, Motif, RunFolder
from grade.sampling import sample as draw
from grade.sampling import samplers
from grade.search import Constraints, Level, OccurrenceLists, beam_search
from grade.search.beam import START, Bounds, derived
from grade.search.ranking import LogProbability, needs_estimator, ranking
from grade.search.reestimate import reestimate
from grade.search.supports import Supports
from grade.settings import MineSettings
from grade.sources import as_graphs
from grade.support import SUPPORTS, Support
from grade.units import parse_bytes, parse_seconds
from grade.verify import Verifier
from grade.verify.distinct import Selection, Selector

if TYPE_CHECKING:
    from grade.export.occurrences import Occurrences

METHODS = ("search", "sampling")
SEARCH_SHARE = 0.8  # of a time budget; the rest is for the verification
PAST_ENUMERATION = 1e9  # from here on an estimate is made ready, should exact counting run out of time
LEAST_SECONDS = 0.05  # to count a pattern when time is up: enough to find some occurrences
EXAMPLES = 20  # occurrences that the catalogue keeps of each motif


def mine(
    graphs: Any,
    k: int | str = "3-10",
    out: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> "Mined":
    """Find the patterns of k nodes that recur: a distinct few that cover most of the set, or all (``all=True``).

    Parameters
    ----------
    graphs : whatever stands for graphs: a GraphSet, a file, folder, glob or name that `grade mine` takes, a PyTorch
        module with its example inputs, an ONNX model ... or a list of those (`grade.sources.as_graphs`)
    k : number of nodes, or several such as "3-10"
    out : the folder of the run, to keep it or to go on with it; a temporary one when left out
    progress : gets the share done and the name of the stage; where it returns False the run stops with
        `grade.progress.Stopped`, and can go on later
    settings : the fields of `grade.settings.MineSettings` and `grade.search.Constraints`,
        e.g. ``top=20, contains="Conv*", rank_by="graphs"``

    >>> found = mine("zoo-mini", k="3-5", top=3)
    >>> for motif in found.shown:
    ...     print(motif.text, motif.choice.gain)
    Conv -> BatchNormalization -> Relu 603
    Shape -> Gather -> Unsqueeze 474
    Sigmoid -> Mul -> Conv -> BatchNormalization 264
    >>> found = mine("zoo-mini", k=4, top=3, contains="Conv", rank_by="occurrences", all=True)
    >>> print(found.patterns[0], int(found.motifs[0].support.occurrences))
    Relu#1 -> Concat -> Conv; Relu#2 -> Concat 279
    """
    chosen, wishes = split(settings, MineSettings, Constraints)
    graph_set = as_graphs(graphs)
    temporary = tempfile.TemporaryDirectory(prefix="grade-") if out is None else None
    folder = Path(out or Path(temporary.name if temporary else ".") / "run")
    name = str(graphs) if isinstance(graphs, str | Path) else graph_set.origin
    job = Job.begin(
        MineSettings(graphs=name, k=str(k), out=folder, **chosen), Constraints(**wishes), graph_set, progress
    )
    return Mined(job.run.finished_catalogue() or run(job), graph_set, folder, temporary)


def run(job: "Job") -> Catalogue:
    """The flow: sample, fit, search, verify, catalogue."""
    sampled = job.settings.method == "sampling"
    levels = [baseline(job, k) for k in job.settings.sizes] if sampled else search(job)
    selection = select(job, levels)
    motifs = verify(job, levels, selection)
    catalogue = Catalogue(
        run={
            **job.run.description(),
            "constraints": job.constraints.describe(),
            "partial": job.cut_short,
            "distinct": None if selection is None else selection.facts(),
        },
        levels=[entry(level) for level in levels],
        motifs=motifs,
        node_vocabulary=job.graphs.node_vocabulary,
        edge_vocabulary=job.graphs.edge_vocabulary,
        graph_names=tuple(job.graphs.graph_names),
    )
    catalogue.save(job.run.catalogue)
    return catalogue


def sample(job: "Job", k: int) -> SubgraphSample:
    """Draw occurrences of one size (the paper's section "Subgraph Sampling")."""

    def make(folder: Path) -> None:
        with job.stage("sampling", f"sample k = {k}") as deadline:
            drawn = draw(
                job.graphs,
                k,
                job.settings.sampler,
                count=job.settings.samples,
                seed=job.settings.seed,
                threads=job.threads,
                progress=deadline.keep_going,
            )
            save_sample(drawn, folder)

    return load_sample(job.run.folder(f"samples/k-{k:02}", make))


def fit(job: "Job", k: int) -> LogProbability:
    """Fit an estimator to a sample of one size; returns its log-probability of a pattern, the search's surrogate."""
    from grade.estimators import fit_to_folder, load_estimator, preset_for

    def make(folder: Path) -> None:
        drawn = [sample(job, k)]
        chosen = preset_for(drawn, job.settings.estimator, job.settings.preset, seed=job.settings.seed)
        with job.stage("training", f"fit k = {k}") as deadline:
            fit_to_folder(drawn, chosen, folder, lambda _: deadline.check(), job.threads)

    return load_estimator(job.run.folder(f"models/k-{k:02}", make)).log_probability


def search(job: "Job") -> list[Level]:
    """Grow patterns from 3 to k nodes (the paper's Algorithm 1), as far as time allows."""
    settings, largest = job.settings, job.settings.sizes[-1]
    levels = job.run.load_levels(job.graphs)
    surrogates: dict[int, LogProbability] = {}
    deadline = job.search_until.reporting(job.progress, "search")
    steps = beam_search(
        job.graphs,
        largest,
        beam=settings.beam,
        score=ranking(
            settings.rank_by,
            job.graphs,
            settings.beam,
            surrogates,
            deadline,
            Supports(job.graphs, fusible=job.constraints.fusible, threads=job.threads, deadline=deadline),
        ),
        constraints=job.constraints,
        bounds=job.bounds,
        seed=settings.seed,
        threads=job.threads,
        start_from=levels[-1] if levels else None,
        deadline=deadline,
    )
    try:
        for size in range(levels[-1].size + 1 if levels else START, largest + 1):
            deadline.check()
            if size > START and needs_estimator(settings.rank_by):
                surrogates[size] = fit(job, size)
            with job.stage("search", f"search k = {size}"):
                level = next(steps)
                job.run.save_level(level)
            if len(level.lists) == 0 and size > settings.sizes[0]:
                break  # there is nothing larger either
            if len(level.lists) == 0:
                raise InputError(
                    f"No pattern of {size} nodes in {settings.graphs} satisfies the constraints; relax one."
                )
            levels.append(level)
    except OutOfTime:
        job.cut_short = True
        levels = best_so_far(levels, job.constraints)
    return levels


def best_so_far(levels: list[Level], constraints: Constraints) -> list[Level]:
    """Up to the largest size with a pattern that satisfies all constraints: others were kept to grow further."""
    while levels and not constraints.accepts(levels[-1].lists.patterns).any():
        levels = levels[:-1]
    if not levels:
        raise InputError(
            "The time budget ran out before a pattern was found that satisfies the constraints; raise"
            " `time_budget`, and the run goes on."
        )
    return levels


def baseline(job: "Job", k: int) -> Level:
    """Without estimator and search: the patterns of the sample by their weighted frequency in it."""
    try:
        drawn = sample(job, k)
    except OutOfTime:
        raise InputError(
            "The time budget ran out before the sample was drawn; raise `time_budget`."
        ) from None
    nothing_complete = np.zeros(len(drawn.patterns), bool)
    lists = OccurrenceLists.group(
        drawn.patterns, drawn.pattern_ids, drawn.occurrences, drawn.weights, nothing_complete
    )
    accepted = np.flatnonzero(job.constraints.accepts(lists.patterns))
    if len(accepted) == 0:
        raise InputError(
            "No pattern of the sample satisfies the constraints; draw more `samples` or relax one of them."
        )
    order = accepted[np.argsort(-lists.counts[accepted], kind="stable")]
    return Level(lists.take(order), lists.counts[order], len(lists), len(drawn), 0.0)


Place = tuple[int, int]  # number of a level, row in it


def select(job: "Job", levels: list[Level]) -> "Distinct | None":
    """A distinct few of the patterns that the search kept, of all sizes; None where all are wanted, or time is up."""
    if job.settings.all:
        return None
    places = [place for number in wanted(job, levels) for place in accepted(job, levels, number)]
    best = [
        place for number in wanted(job, levels) for place in accepted(job, levels, number)[: job.settings.top]
    ]
    tables = [
        levels[number].lists.patterns.take([row for _, row in rows])
        for number, rows in groupby(places, key=itemgetter(0))
    ]
    numbers = {place: candidate for candidate, place in enumerate(places)}
    try:
        with job.stage("selection", "select"):
            selector = Selector(
                job.graphs,
                tables,
                fusible=job.constraints.fusible,
                threads=job.threads,
                deadline=job.verify_until.reporting(job.progress, "select"),
            )
            found = selector.choose(job.settings.top, [numbers[place] for place in best])
    except OutOfTime:
        job.cut_short = True
        return None
    return Distinct(found, places)


@dataclass(frozen=True)
class Distinct:
    """A selection, and where its candidates stand."""

    selection: Selection
    places: list[Place]

    def facts(self) -> dict[str, int]:
        """What the catalogue keeps of the selection as a whole."""
        found = self.selection
        return {
            "motifs": len(found.choices),
            "candidates": found.candidates,
            "covered": found.covered,
            "bound": found.bound,
        }


def wanted(job: "Job", levels: list[Level]) -> list[int]:
    """The levels of the sizes that are asked for; the last one where time was up before those."""
    return [n for n, level in enumerate(levels) if level.size in job.settings.sizes] or [len(levels) - 1]


def accepted(job: "Job", levels: list[Level], number: int) -> list[Place]:
    """The patterns of a level that satisfy all constraints, best first."""
    rows = np.flatnonzero(job.constraints.accepts(levels[number].lists.patterns))
    return [(number, row) for row in rows.tolist()]


def verify(job: "Job", levels: list[Level], selection: "Distinct | None") -> list[Motif]:
    """Count the best patterns of each size exactly, those past counting by estimate, and the distinct ones first.

    What is cut short by the time budget is reported but not stored, so that a run that goes on counts it in full.
    """
    chosen: dict[Place, Chosen] = {}
    variants: dict[Place, Place] = {}
    if selection is not None:
        for choice in selection.selection.choices:
            place = selection.places[choice.candidate]
            chosen[place] = Chosen(choice.occurrences, choice.gain, choice.covered)
            variants |= {selection.places[candidate]: place for candidate in choice.variants}
    counted = count(job, levels, list(chosen), len(chosen))
    for number in wanted(job, levels):
        rows = [place for place in accepted(job, levels, number) if place not in counted]
        known = sum(number == other for other, _ in counted)
        counted |= count(job, levels, rows, job.settings.top - known)
    by = {"hybrid": "occurrences"}.get(job.settings.rank_by, job.settings.rank_by)

    def order(place: Place) -> tuple[float, ...]:
        """Chosen ones as they were chosen; the rest by the verified support that the search ranked by, or its rank."""
        if place in chosen:
            return (0, list(chosen).index(place))
        return (1, -counted[place].value(by) if by in SUPPORTS else 0, place[1], place[0])

    places = sorted(counted, key=order)
    numbers = {place: number for number, place in enumerate(places, start=1)}
    return [
        Motif(
            number,
            levels[place[0]].lists.patterns[place[1]],
            counted[place],
            float(levels[place[0]].scores[place[1]]),
            chosen.get(place),
            numbers.get(variants[place]) if place in variants else None,
        )
        for place, number in numbers.items()
    ]


def count(job: "Job", levels: list[Level], places: list[Place], most: int) -> dict[Place, Support]:
    """The supports of the first patterns that occur in enough graphs, so many at most."""
    found: dict[Place, Support] = {}
    estimates: dict[int, dict[int, tuple[float, float]]] = {}
    verifier = Verifier(job.graphs, job.threads, job.constraints.fusible)
    for number, row in places:
        missing = most - len(found)
        if missing <= 0:
            break
        if found and job.verify_until.passed:
            job.cut_short = True
            break
        if number not in estimates:
            estimates[number] = estimated_counts(job, levels[: number + 1])
        seconds = max(job.verify_until.left() / missing, LEAST_SECONDS)
        with job.stage("verification", "verify", share=len(found) / most):
            support = support_of(job, levels[number], row, verifier, estimates[number].get(row), seconds)
        if support.occurrences > 0 and job.constraints.reached_by(support.graphs, support.mni):
            found[number, row] = support
    return found


def support_of(
    job: "Job",
    level: Level,
    row: int,
    verifier: Verifier,
    estimate: tuple[float, float] | None,
    seconds: float,
) -> Support:
    """The supports of one pattern, from the run folder if they are there; in so many seconds at most."""
    known = job.run.load_support(level.size, row)
    if known is not None:
        return known
    limit = min(job.settings.seconds_per_pattern, seconds)
    found = verifier.verify(level.lists.patterns[row], seconds=limit, estimate=estimate, examples=EXAMPLES)
    if limit < job.settings.seconds_per_pattern and not found.complete:
        job.cut_short = True
    else:
        job.run.save_support(level.size, row, found)
    return found


def estimated_counts(job: "Job", levels: list[Level]) -> dict[int, tuple[float, float]]:
    """Fresh unbiased counts, with standard errors, of the best patterns that are past counting, by their rows."""
    lists = levels[-1].lists
    rows = np.flatnonzero((lists.counts >= PAST_ENUMERATION) & ~lists.exact)[: job.settings.top]
    if len(rows) == 0 or len(levels) < 2:
        return {}
    name = f"supports/k-{levels[-1].size:02}-estimates.json"
    stored = job.run.json(name)
    if stored is None:
        try:
            with job.stage("verification", "estimate"):
                counts, errors = reestimate(
                    job.graphs,
                    levels,
                    rows,
                    constraints=job.constraints,
                    bounds=job.bounds,
                    seed=derived(job.settings.seed, 99),
                    threads=job.threads,
                    deadline=Deadline.after(job.verify_until.left() / 2).reporting(job.progress, "estimate"),
                )
        except OutOfTime:
            job.cut_short = True
            return {}
        stored = [counts.tolist(), errors.tolist()]
        job.run.save_json(name, stored)
    return {int(row): (stored[0][i], stored[1][i]) for i, row in enumerate(rows)}


def entry(level: Level) -> dict[str, object]:
    """A level as the catalogue keeps it."""
    return {
        "size": level.size,
        "candidates": level.candidates,
        "kept": len(level.lists),
        "instances": level.instances,
        "best": float(level.lists.counts.max(initial=0.0)),
    }


@dataclass
class Job:
    """One run: what is asked for, where it is kept, and how much time is left."""

    settings: MineSettings
    constraints: Constraints
    graphs: GraphSet
    run: RunFolder
    bounds: Bounds
    threads: int
    search_until: Deadline = NEVER
    verify_until: Deadline = NEVER
    progress: Progress | None = None
    cut_short: bool = False  # whether the time budget ran out

    @classmethod
    def begin(
        cls,
        settings: MineSettings,
        constraints: Constraints,
        graphs: GraphSet,
        progress: Progress | None = None,
    ) -> "Job":
        """Refuse what cannot work before anything is written; then start the run, or go on with it."""
        sizes = settings.sizes
        if sizes[0] > graphs.largest or (sizes[-1] > graphs.largest and len(sizes) == 1):
            raise InputError(
                f"`k` is {settings.k}, but the largest graph of {settings.graphs} has {graphs.largest} nodes; lower it."
            )
        if sizes[-1] > graphs.largest:
            settings = replace(settings, k=f"{sizes[0]}-{graphs.largest}")
            sizes = settings.sizes
        if settings.method not in METHODS:
            raise InputError(f"There is no method {settings.method!r}; known: {', '.join(METHODS)}.")
        ranking(settings.rank_by, graphs, settings.beam)
        constraints.check(graphs, sizes[-1])
        memory = parse_bytes(settings.memory)
        search_until = verify_until = NEVER
        if settings.time_budget is not None:
            seconds = parse_seconds(settings.time_budget)
            search_until, verify_until = Deadline.after(SEARCH_SHARE * seconds), Deadline.after(seconds)
        samplers[settings.sampler]  # refuses an unknown one, used or not
        stored = {**asdict(settings), "out": str(settings.out), **asdict(constraints)}
        stored["k"] = sizes[0] if len(sizes) == 1 else settings.k
        drawn = settings.method == "sampling" or needs_estimator(settings.rank_by)
        unused = () if drawn else ("sampler", "samples", "estimator", "preset")
        return cls(
            settings,
            constraints,
            graphs,
            RunFolder.begin(Path(settings.out or "run"), stored, graphs, unused),
            Bounds.from_memory(memory, sizes[-1], settings.beam, settings.list_size),
            thread_count(settings.threads),
            search_until,
            verify_until,
            progress,
        )

    @contextmanager
    def stage(self, name: str, label: str, share: float = 0.0) -> Iterator[Deadline]:
        """Report that a stage begins; its seconds are added to those that the run folder keeps under its name."""
        deadline = self.search_until.reporting(self.progress, label)
        deadline.report(share)
        begin = time.perf_counter()
        yield deadline
        self.run.add_seconds(name, time.perf_counter() - begin)


def folder_for(graphs: str) -> Path:
    """Where the command line keeps a run that is given no folder: named after its set, here.

    >>> str(folder_for("models/**/*.onnx")), str(folder_for("zoo"))
    ('models-onnx-motifs', 'zoo-motifs')
    """
    return Path("-".join(re.findall(r"\w[\w.]*", graphs.replace("*.", ""))[-3:]).strip("-.") + "-motifs")


def split(values: dict[str, Any], *kinds: Any) -> list[dict[str, Any]]:
    """The values by the dataclass that has a field of the name; a name that none has is refused."""
    names = [{each.name for each in fields(kind)} - {"graphs", "k", "out"} for kind in kinds]
    known = sorted(set().union(*names))
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise InputError(f"There is no setting {', '.join(unknown)}; known: {', '.join(known)}.")
    return [{name: value for name, value in values.items() if name in own} for own in names]


@dataclass(frozen=True, eq=False)
class Mined:
    """A run that ended, with its catalogue. In a notebook it shows itself."""

    catalogue: Catalogue
    graphs: GraphSet
    run: Path  # the folder of the run; a temporary one lasts as long as this object
    _folder: Any = field(default=None, repr=False)

    @property
    def motifs(self) -> list[Motif]:
        """The motifs with their supports, best first."""
        return self.catalogue.motifs

    @property
    def shown(self) -> list[Motif]:
        """The distinct motifs, in the order in which they were chosen; all motifs where all are wanted."""
        return self.catalogue.shown

    @property
    def patterns(self) -> list[Pattern]:
        """Their patterns, in the same order."""
        return self.catalogue.patterns

    def __len__(self) -> int:
        return len(self.motifs)

    def __iter__(self) -> Iterator[Motif]:
        return iter(self.motifs)

    def show(self, top: int = 20) -> None:
        """Print the motifs as a table."""
        from grade.report.tables import motif_lines

        for line in motif_lines(str(self.run), self.catalogue, self.shown[:top], None):
            print(line)

    def report(self, out: str | Path) -> Path:
        """Write the page: one HTML file with everything in it."""
        from grade.report.page import write_page

        write_page(self.run, Path(out), self.graphs)
        return Path(out)

    def export(self, number: int, to: str, out: str | Path) -> Path:
        """Write a motif as code, a model, a picture or a graph: see `grade export --help`."""
        from grade.export.formats import export

        return export(self.run, number, to, Path(out), graphs=self.graphs).file

    def occurrences(self, number: int, limit: int = 1000) -> "Occurrences":
        """Where a motif occurs: graphs, names of nodes, tensors; `write` and `cut` take them elsewhere."""
        from grade.export.occurrences import occurrences_of

        return occurrences_of(self.run, number, limit, self.graphs)

    def columns(self) -> dict[str, list[Any]]:
        """The table of motifs, column by column; the qualities of the supports in columns of their own."""
        rows = [motif.row() for motif in self.motifs]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}

    def to_pandas(self) -> Any:
        """The table of motifs as a pandas.DataFrame."""
        return frames.to_pandas(self.columns())

    def to_arrow(self) -> Any:
        """The table of motifs as a pyarrow.Table."""
        return frames.to_arrow(self.columns())

    def __repr__(self) -> str:
        from grade.report.tables import motif_lines

        return "\n".join(motif_lines(str(self.run), self.catalogue, self.motifs[:5], None))

    def _repr_html_(self) -> str:
        return str(self.catalogue._repr_html_())


CallableModule.make(sys.modules[__name__], mine)

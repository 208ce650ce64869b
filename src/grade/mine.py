"""Mining: graphs in, motifs out. The flow of a run on one page: sample, fit, search, verify, catalogue.

Every stage stores its result in the run folder and is skipped when it is there: a stopped run resumes where it was,
and ends with the same catalogue.
"""

import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grade.callable_module import CallableModule
from grade.costs.saving import LOOKED_AT
from grade.engine import engine_named
from grade.errors import InputError
from grade.graphs import PatternTable, SubgraphSample
from grade.graphs.sample import load_sample, save_sample
from grade.job import Job, split
from grade.mined import Mined
from grade.motifs import accepted, select, verify, wanted
from grade.progress import Deadline, OutOfTime, Progress
from grade.runs import Catalogue, Motif
from grade.sampling import sample as draw
from grade.search import Constraints, Level, OccurrenceLists, beam_search
from grade.search.beam import START, best_rows, derived
from grade.search.complete import Frequent, frequent_patterns
from grade.search.ranking import LogProbability, needs_estimator, ranking
from grade.search.supports import Supports
from grade.settings import MineSettings
from grade.sources import as_graphs
from grade.text import spans
from grade.verify import count_patterns
from grade.verify.starting_level import starting_level

if TYPE_CHECKING:
    from grade.estimators.reports import TrainingReport


def mine(
    graphs: Any,
    k: int | str | range = "3-10",
    out: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Mined:
    """Find the patterns of k nodes that recur: a distinct few that cover most of the set, or all (``all=True``).

    Parameters
    ----------
    graphs
        a GraphSet, a file, folder, glob or name that `grade mine` takes, a PyTorch module with its example inputs, an
        ONNX model ... or a list of those (`grade.sources.as_graphs`)
    k
        number of nodes, or several such as "3-10" or ``range(3, 11)``
    out
        the folder of the run, to keep it or to go on with it; a temporary one when left out
    progress
        gets the share done and the name of the stage; where it returns False the run stops with
        `grade.progress.Stopped`, and can go on later
    settings
        the fields of `grade.settings.MineSettings` and `grade.search.Constraints`, e.g. ``top=20, contains="Conv*",
        rank_by="graphs"``

    Examples
    --------
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
    sizes = f"{k[0]}-{k[-1]}" if isinstance(k, range) and k else str(k)
    asked = MineSettings(graphs=name, k=sizes, out=folder, **chosen)
    with engine_named(asked.engine, asked.address) as engine:
        job = Job.begin(asked, Constraints(**wishes), graph_set, progress, engine)
        return Mined(job.run.finished_catalogue() or run(job), graph_set, folder, temporary)


def run(job: Job) -> Catalogue:
    """The flow: sample, fit, search, verify, catalogue."""
    if job.settings.complete:
        levels = enumerate_all(job)
    elif job.settings.method == "sampling":
        levels = [baseline(job, k) for k in job.settings.sizes]
    else:
        levels = search(job)
    selection = select(job, levels)
    motifs = verify(job, levels, selection)
    reasons = left_out(job, levels, motifs)
    catalogue = Catalogue(
        run={
            **job.run.description(),
            "constraints": job.constraints.describe(),
            "partial": job.cut_short,
            "complete": not reasons,
            "left_out": reasons,
            "notes": job.notes,
            "distinct": None if selection is None else selection.facts(),
            "predicted": predictions(job, motifs),
        },
        levels=[entry(level) for level in levels],
        motifs=motifs,
        node_vocabulary=job.graphs.node_vocabulary,
        edge_vocabulary=job.graphs.edge_vocabulary,
        graph_names=tuple(job.graphs.graph_names),
    )
    catalogue.save(job.run.catalogue)
    return catalogue


def sample(job: Job, k: int) -> SubgraphSample:
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
                weighting=job.settings.weighting,
                progress=deadline.keep_going,
                engine=job.engine,
            )
            save_sample(drawn, folder)

    return load_sample(job.run.folder(f"samples/k-{k:02}", make))


def fit(job: Job, k: int) -> LogProbability:
    """Fit an estimator to a sample of one size; returns its log-probability of a pattern, the search's surrogate."""
    from grade.estimators import fit_to_folder, load_estimator, preset_for

    def make(folder: Path) -> None:
        drawn = [sample(job, k)]
        chosen = preset_for(drawn, job.settings.estimator, job.settings.preset, seed=job.settings.seed)
        with job.stage("training", f"fit k = {k}") as deadline:

            def tell(report: "TrainingReport") -> None:
                deadline.check()
                deadline.report(report.step / report.steps, f"fit k = {k}: {report.phase}")

            fit_to_folder(drawn, chosen, folder, tell)

    return load_estimator(job.run.folder(f"models/k-{k:02}", make)).log_probability


def predictions(job: Job, motifs: Sequence[Motif]) -> list[float | None]:
    """The estimator's log-probability of each motif; none where there is no estimator of its size."""
    result: list[float | None] = [None] * len(motifs)
    guided = job.settings.method == "search" and needs_estimator(job.settings.rank_by)
    for size in sorted({motif.size for motif in motifs} - {START}) if guided else ():
        rows = [row for row, motif in enumerate(motifs) if motif.size == size]
        keys = [motifs[row].key for row in rows]
        patterns = PatternTable.from_keys(keys, job.graphs.node_vocabulary, job.graphs.edge_vocabulary)
        for row, value in zip(rows, fit(job, size)(patterns).tolist(), strict=True):
            result[row] = value
    return result


def search(job: Job) -> list[Level]:
    """Grow patterns from 3 to k nodes (the paper's Algorithm 1), as far as time allows."""
    levels = stored_levels(job)
    deadline = job.search_until.reporting(job.progress, "search")
    surrogates: dict[int, LogProbability] = {}
    growing = growth(job, levels[-1] if levels else None, surrogates, deadline)
    smallest, largest = levels[-1].size + 1 if levels else START, job.settings.sizes[-1]
    try:
        for size in range(smallest, largest + 1):
            deadline.check()
            if size > START and needs_estimator(job.settings.rank_by):
                surrogates[size] = fit(job, size)
            with job.stage("search", f"search k = {size}"):
                level = next(growing)
                if len(level.lists) == 0:
                    raise InputError(
                        f"No pattern of {none_of(job, levels, size)} nodes in {job.settings.graphs} satisfies the"
                        " constraints; relax one."
                    )
                job.run.save_level(level)
            levels = [*map(without_lists, levels), level]
    except OutOfTime:
        job.cut_short = True
        levels = best_so_far(levels, job.constraints)
    except InputError as error:
        # Nothing larger was found, but patterns of a smaller size that was asked for are an answer.
        if not any(accepted(job, levels, number) for number in wanted(job, levels)):
            raise
        job.notes.append(str(error))
    return levels


def stored_levels(job: Job) -> list[Level]:
    """The levels that an earlier session stored; with ``start_from`` at least the level of the given patterns."""
    settings = job.settings
    if settings.start_from is None:
        levels = job.run.load_levels(job.graphs)
        return [*map(without_lists, levels[:-1]), *levels[-1:]]
    with job.stage("search", "start"):
        largest, seed = settings.sizes[-1], derived(settings.seed, 98)
        first = starting_level(settings.start_from, job.graphs, largest, job.bounds, seed, job.threads)
        levels = job.run.load_levels(job.graphs, first.size) or [first]
        job.run.save_level(levels[0])
    return levels


def growth(
    job: Job, start: Level | None, surrogates: Mapping[int, LogProbability], deadline: Deadline
) -> Iterator[Level]:
    """The levels of a beam search after this one. ``surrogates`` are looked up by size when a level is scored."""
    settings, by_graph = job.settings, job.settings.weighting == "graphs"
    supports = Supports(
        job.graphs,
        fusible=job.constraints.fusible,
        threads=job.threads,
        deadline=deadline,
        engine=job.engine,
    )
    return beam_search(
        job.graphs,
        settings.sizes[-1],
        beam=settings.beam,
        score=ranking(
            settings.rank_by,
            job.graphs,
            settings.beam,
            surrogates,
            deadline,
            supports,
            by_graph=by_graph,
            savings=job.savings,
        ),
        constraints=job.constraints,
        bounds=job.bounds,
        seed=settings.seed,
        threads=job.threads,
        engine=job.engine,
        start_from=start,
        deadline=deadline,
        sizes=settings.sizes,
        per_node=by_graph,
    )


def none_of(job: Job, levels: list[Level], size: int) -> str:
    """The sizes that are asked for and have no pattern, where this one has none."""
    some = any(accepted(job, levels, number) for number in wanted(job, levels))
    return str(size) if some else spans(range(min(job.settings.sizes[0], size), size + 1))


def without_lists(level: Level) -> Level:
    """A level whose occurrences have grown already: only its patterns and their numbers are needed any more."""
    lists = level.lists
    if len(lists.occurrences) == 0:
        return level
    kept = OccurrenceLists.unlisted(lists.patterns, lists.counts, lists.exact)
    return replace(level, lists=replace(kept, complete=lists.complete))


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


def baseline(job: Job, k: int) -> Level:
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


def enumerate_all(job: Job) -> list[Level]:
    """Every pattern that reaches the required support (`grade.search.complete`)."""
    settings, levels = job.settings, []
    deadline = job.search_until.reporting(job.progress, "search")
    supports = Supports(job.graphs, threads=job.threads, deadline=deadline, engine=job.engine)
    with job.stage("search", "search"):
        for found in frequent_patterns(
            job.graphs,
            settings.sizes[-1],
            job.constraints,
            memory=job.memory,
            look_beyond=settings.closed or settings.maximal,
            threads=job.threads,
            deadline=deadline,
            engine=job.engine,
        ):
            wanted = job.constraints.accepts(found.patterns)
            wanted &= found.closed | (not settings.closed)
            wanted &= found.maximal | (not settings.maximal)
            if found.size in settings.sizes and wanted.any():
                levels.append(ranked(job, found.take(np.flatnonzero(wanted)), supports))
    if not levels:
        raise InputError(
            f"No pattern of {settings.k} nodes reaches the support that is asked for; lower `min_graphs` or `min_mni`,"
            " or relax another constraint."
        )
    return levels


def ranked(job: Job, found: Frequent, supports: Supports) -> Level:
    """The patterns of one size that a complete search found, counted and put in the order of the ranking."""
    patterns, by = found.patterns, job.settings.rank_by
    counts, exact = count_patterns(
        job.graphs, patterns, job.settings.seconds_per_pattern, job.threads, engine=job.engine
    )
    lists = OccurrenceLists.unlisted(patterns, counts.astype(np.float64), exact)
    known = {"occurrences": lists.counts, "graphs": found.graphs, "mni": found.mni}
    if by == "saving" and job.savings is not None:
        scores = np.array([job.savings.of_pattern(pattern).total for pattern in patterns], np.float64)
    else:
        scores = np.asarray(supports.of(by, lists) if known.get(by) is None else known[by], np.float64)
    best = best_rows(scores, len(scores))
    return Level(lists.take(best), scores[best], len(scores), 0, 0.0, whole=True)


def left_out(job: Job, levels: Sequence[Level], motifs: Sequence[Motif]) -> list[str]:
    """The reasons why better patterns may have been missed; none for a complete result."""
    reasons: list[str] = []
    if job.settings.start_from is not None:
        reasons.append(f"only patterns that contain {job.settings.start_from}")
    if job.settings.method == "sampling":
        reasons.append("only patterns of the sample")
    if needs_estimator(job.settings.rank_by):
        reasons.append("ranked by an estimator")
    if job.cut_short:
        reasons.append("the time budget ran out")
    if job.settings.rank_by == "saving" and not job.settings.complete:
        reasons.append(f"ranked by the mean saving of {LOOKED_AT} occurrences of each pattern at most")
    if job.settings.method == "search" and not job.settings.complete:
        reasons += gaps(levels, {motif.size for motif in motifs}, job.settings.rank_by)
    inexact = sum(not motif.support.complete for motif in motifs)
    if inexact:
        reasons.append(f"supports of {inexact} patterns are not exact")
    return reasons


GAPS = {
    "beam": "the search met more patterns of {} nodes than it keeps (`beam`)",
    "lists": "it kept only some occurrences of patterns of {} nodes (`list_size`, `memory`)",
    "growth": "only a share of the occurrences grew to {} nodes (`list_size`, `memory`)",
    "counts": "occurrences of {} nodes were estimated to rank by them (`list_size`, `memory`)",
}


def gaps(levels: Sequence[Level], sizes: Collection[int], rank_by: str) -> list[str]:
    """The reasons why the search may have missed patterns of these sizes."""
    found: dict[str, set[int]] = {}
    before: dict[str, set[int]] = {}
    for level in levels:
        if level.whole:
            before = {}
        if not level.followed:
            before.setdefault("growth", set()).add(level.size)
        if level.size in sizes:
            for kind, places in before.items():
                found.setdefault(kind, set()).update(places)
            if rank_by == "occurrences" and not level.lists.exact.all():
                found.setdefault("counts", set()).add(level.size)
        if level.candidates > len(level.lists):
            before.setdefault("beam", set()).add(level.size)
        if not level.lists.complete.all():
            before.setdefault("lists", set()).add(level.size)
    return [GAPS[kind].format(spans(found[kind])) for kind in GAPS if kind in found]


def entry(level: Level) -> dict[str, object]:
    """A level for the catalogue."""
    return {
        "size": level.size,
        "candidates": level.candidates,
        "kept": len(level.lists),
        "instances": level.instances,
        "best": float(level.lists.counts.max(initial=0.0)),
    }


CallableModule.make(sys.modules[__name__], mine)

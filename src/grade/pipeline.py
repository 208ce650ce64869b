"""The whole flow on one page: sample, fit, search, verify, catalogue.

Every stage leaves its result in the run folder and is not done again when it is there: a run that was stopped goes on
where it was, and ends with the same catalogue. What the stages need beside the algorithms is in `grade.stages`.
"""

from grade.errors import InputError
from grade.graphs import GraphSet, SubgraphSample
from grade.graphs.sample import load_sample, save_sample
from grade.runs import Catalogue, RunFolder
from grade.sampling import sample as draw
from grade.search import Level, beam_search
from grade.search.beam import START
from grade.search.deadline import OutOfTime
from grade.search.ranking import LogProbability, ranking
from grade.settings import MineSettings
from grade.sources import load
from grade.stages.clock import Clock
from grade.stages.entries import level_entry
from grade.stages.job import Job, Report
from grade.stages.levels import best_so_far, most_frequent
from grade.stages.request import check, constraints_of, stored
from grade.stages.verification import verify


def mine(settings: MineSettings, graphs: GraphSet | None = None, report: Report | None = None) -> Catalogue:
    """Find the most frequent patterns of k nodes. The set is loaded by its name unless it is given."""
    clock = Clock.of(settings.time_budget)
    graphs = load(settings.graphs) if graphs is None else graphs
    constraints = constraints_of(settings)
    check(settings, graphs, constraints)
    run = RunFolder.begin(settings.out, stored(settings), graphs)
    job = Job(settings, graphs, constraints, run, clock, report)
    if run.catalogue.is_file():
        known = Catalogue.load(run.catalogue)
        if not known.run["partial"]:  # a run that a time budget stopped goes on with a new one
            return known

    levels = baseline(job) if settings.method == "sampling" else search(job)
    motifs = verify(job, levels)
    catalogue = Catalogue(
        {**run.description(), "constraints": constraints.describe(), "partial": job.cut_short},
        [level_entry(level) for level in levels],
        motifs,
        graphs.node_vocabulary,
        graphs.edge_vocabulary,
    )
    catalogue.save(run.catalogue)
    return catalogue


def sample(job: Job, k: int) -> SubgraphSample:
    """Draw occurrences of one size (the paper's section "Subgraph Sampling")."""
    if not job.run.sample(k).is_dir():
        with job.stage(f"sample k = {k}", "sampling"):
            drawn = draw(
                job.graphs,
                k,
                job.settings.sampler,
                count=job.settings.samples,
                seed=job.settings.seed,
                threads=job.threads,
                progress=job.clock.search.keep_going,
            )
            save_sample(drawn, job.run.sample(k))
    return load_sample(job.run.sample(k))


def fit(job: Job, k: int) -> LogProbability:
    """Fit an estimator of one size, or of all sizes, to samples; returns its log-probability."""
    from grade.estimators import fit_to_folder, load_estimator, preset_for

    settings = job.settings
    sizes = range(START + 1, settings.k + 1) if settings.one_model else [k]
    folder = job.run.model(sizes[-1])
    if not folder.is_dir():
        samples = [sample(job, size) for size in sizes]
        chosen = preset_for(samples, settings.estimator, settings.preset, seed=settings.seed)
        with job.stage(f"fit k = {sizes[0]} to {sizes[-1]}", "training"):
            fit_to_folder(samples, chosen, folder, lambda _: job.clock.search.check(), job.threads)
    return load_estimator(folder).log_probability


class Estimators(dict[int, LogProbability]):
    """Log-probabilities by size; an estimator is fitted when the search first asks for its size."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job = job

    def __missing__(self, size: int) -> LogProbability:
        self[size] = fit(self.job, size)
        return self[size]


def search(job: Job) -> list[Level]:
    """Grow patterns from 3 to k nodes (the paper's Algorithm 1), as far as time allows."""
    settings, deadline = job.settings, job.clock.search
    levels = job.run.load_levels(job.graphs)
    steps = beam_search(
        job.graphs,
        settings.k,
        beam=settings.beam,
        score=ranking(settings.rank_by, job.graphs, settings.beam, Estimators(job), deadline),
        constraints=job.constraints,
        bounds=job.bounds,
        seed=settings.seed,
        threads=job.threads,
        start_from=levels[-1] if levels else None,
        deadline=deadline,
    )
    try:
        while not levels or levels[-1].size < settings.k:
            deadline.check()
            size = levels[-1].size + 1 if levels else START
            with job.stage(f"search k = {size}", "search"):
                level = next(steps)
                job.run.save_level(level)
            levels.append(level)
            if len(level.lists) == 0:
                raise InputError(
                    f"No pattern of {size} nodes in {settings.graphs} satisfies the constraints; relax one."
                )
    except OutOfTime:
        job.cut_short = True
        levels = best_so_far(levels, job.constraints)
    return levels


def baseline(job: Job) -> list[Level]:
    """Without estimator and search: the most frequent patterns of the sample."""
    try:
        return [most_frequent(sample(job, job.settings.k), job.constraints)]
    except OutOfTime:
        raise InputError(
            "The time budget ran out before the sample was drawn; raise --time-budget."
        ) from None

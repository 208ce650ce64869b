"""Verification: the best patterns of the last level are counted exactly, those past counting by estimate."""

from dataclasses import asdict

import numpy as np

from grade.runs import Motif
from grade.search import Level
from grade.search.beam import derived
from grade.search.deadline import Deadline, OutOfTime
from grade.search.reestimate import reestimate
from grade.stages.entries import motif_entry
from grade.stages.job import Job
from grade.verify import Support, Verifier

PAST_ENUMERATION = 1e9  # from here on an estimate is made ready, should exact counting run out of time
LEAST_SECONDS = 0.05  # to count a pattern when time is up: enough to find some occurrences


def verify(job: Job, levels: list[Level]) -> list[Motif]:
    """Count the best patterns exactly, those past counting by estimate, until enough satisfy all constraints.

    What is cut short by the time budget is reported but not stored, so that a run that goes on counts it in full.
    """
    level, top = levels[-1], job.settings.top
    motifs: list[tuple[Support, int]] = []
    estimates = estimated_counts(job, levels)
    verifier = Verifier(job.graphs, job.threads, job.settings.fusible)
    for row in np.flatnonzero(job.constraints.accepts(level.lists.patterns)).tolist():
        missing = top - len(motifs)
        if missing == 0:
            break
        if motifs and job.clock.verify.passed:
            job.cut_short = True
            break
        seconds = max(job.clock.verify.left() / missing, LEAST_SECONDS)
        support = support_of(job, level, row, verifier, estimates, seconds)
        if support.occurrences > 0 and support.graphs >= job.constraints.min_graphs:
            motifs.append((support, row))
        job.report("verify", len(motifs) / top)
    motifs = rank(motifs, job.settings.rank_by)
    return [motif_entry(i, level, row, s, job.graphs) for i, (s, row) in enumerate(motifs, start=1)]


def estimated_counts(job: Job, levels: list[Level]) -> dict[int, tuple[float, float]]:
    """Fresh unbiased counts, with standard errors, of the best patterns that are past counting, by their rows."""
    lists = levels[-1].lists
    rows = np.flatnonzero((lists.counts >= PAST_ENUMERATION) & ~lists.exact)[: job.settings.top]
    if len(rows) == 0 or len(levels) < 2:
        return {}
    name = f"supports/k-{levels[-1].size:02}-estimates.json"
    stored = job.run.read_json(name)
    if stored is None:
        try:
            with job.stage("estimate", "verification"):
                counts, errors = reestimate(
                    job.graphs,
                    levels,
                    rows,
                    constraints=job.constraints,
                    bounds=job.bounds,
                    seed=derived(job.settings.seed, 99),
                    threads=job.threads,
                    deadline=Deadline.after(job.clock.verify.left() / 2),
                )
        except OutOfTime:
            job.cut_short = True
            return {}
        stored = [counts.tolist(), errors.tolist()]
        job.run.write_json(name, stored)
    return {int(row): (stored[0][i], stored[1][i]) for i, row in enumerate(rows)}


def support_of(
    job: Job,
    level: Level,
    row: int,
    verifier: Verifier,
    estimates: dict[int, tuple[float, float]],
    seconds: float,
) -> Support:
    """The supports of one pattern, from the run folder if they are there; in so many seconds at most."""
    name = f"supports/k-{level.size:02}-{row:04}.json"
    known = job.run.read_json(name)
    if known is not None:
        return Support(**{**known, "per_graph": [(graph, count) for graph, count in known["per_graph"]]})
    limit = min(job.settings.seconds_per_pattern, seconds)
    with job.stage(None, "verification"):
        found = verifier.verify(
            level.lists.patterns[row], seconds=limit, estimate=estimates.get(row), examples=20
        )
    if limit < job.settings.seconds_per_pattern and not found.complete:
        job.cut_short = True
    else:
        job.run.write_json(name, asdict(found))
    return found


def rank(found: list[tuple[Support, int]], rank_by: str) -> list[tuple[Support, int]]:
    """By the verified support that the search ranked by; as the estimator ranked them otherwise."""
    by = {"hybrid": "occurrences"}.get(rank_by, rank_by)
    if by == "estimator":
        return found
    return sorted(found, key=lambda pair: (-getattr(pair[0], by), pair[1]))

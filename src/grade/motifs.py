"""From the patterns that the search kept to motifs: choose, count exactly, rank. The last stages of `grade.mine`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

import numpy as np

from grade.costs import Saving
from grade.graphs import PatternTable
from grade.job import Job
from grade.progress import Deadline, OutOfTime
from grade.runs import Chosen, Motif
from grade.search import Level
from grade.search.beam import derived
from grade.search.occurrence_lists import OccurrenceLists
from grade.support import ESTIMATE, EXACT, LOWER_BOUND, SUPPORTS, Support
from grade.verify import Verifier, with_estimates
from grade.verify.distinct import Selection, Selector
from grade.verify.estimates import REPLICATES
from grade.verify.improving import Accepts

COUNTING_SHARE = 0.7  # of the time that is left, for exact counting; the rest is for estimates
DOUBT = 0.8  # of the last winner's estimated count: patterns above it are counted, too
LEAST_SECONDS = 0.05  # minimum per pattern, even when time is up: enough to find some occurrences
EXAMPLES = 20  # occurrences that the catalogue keeps of each motif

Place = tuple[int, int]  # number of a level, row in it


def select(job: Job, levels: list[Level]) -> "Distinct | None":
    """A few distinct patterns of all sizes that the search kept; None if all are wanted, or time is up."""
    if job.settings.all or job.settings.complete:
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
                engine=job.engine,
                by_graph=job.settings.weighting == "graphs",
            )
            found = selector.choose(
                job.settings.top, [numbers[place] for place in best], extensions(job, levels)
            )
            return with_added(found, places, levels, selector)
    except OutOfTime:
        job.cut_short = True
        return None


@dataclass(frozen=True)
class Distinct:
    """A selection, and where its candidates stand."""

    selection: Selection
    places: list[Place]
    levels: list[Level]  # with the extensions that were chosen

    def roles(self) -> tuple[dict[Place, Chosen], dict[Place, Place]]:
        """(what each chosen pattern adds, in the order of the choice; the chosen pattern of each variant)."""
        chosen: dict[Place, Chosen] = {}
        variants: dict[Place, Place] = {}
        for choice in self.selection.choices:
            place = self.places[choice.candidate]
            chosen[place] = Chosen(choice.occurrences, choice.gain, choice.covered)
            variants |= {self.places[candidate]: place for candidate in choice.variants}
        return chosen, variants

    def facts(self) -> dict[str, float]:
        """The totals of the selection, for the catalogue."""
        found = self.selection
        return {
            "motifs": len(found.choices),
            "candidates": found.candidates,
            "covered": found.covered,
            "bound": found.bound,
        }


def extensions(job: Job, levels: Sequence[Level]) -> Accepts | None:
    """The test of patterns that extend a chosen one and may be chosen, too; None (no extensions) where another ranking
    or a support that they might lack is required.
    """
    limits = job.constraints
    if job.settings.rank_by != "coverage" or limits.min_graphs > 1 or limits.min_mni > 1:
        return None
    sizes = {levels[number].size for number in wanted(job, levels)}
    return lambda patterns: limits.accepts(patterns) & (patterns.size in sizes)


def with_added(
    found: Selection, places: list[Place], levels: Sequence[Level], selector: Selector
) -> Distinct:
    """The extensions that were chosen, behind the other patterns of their sizes."""
    levels, places = list(levels), [*places, *[(-1, -1)] * (len(selector) - len(places))]
    numbers = {level.size: number for number, level in enumerate(levels)}
    for choice in found.choices:
        if places[choice.candidate] != (-1, -1):
            continue
        types, edges = selector.pattern(choice.candidate)
        number = numbers[len(types)]
        level, words = levels[number], (selector.graphs.node_vocabulary, selector.graphs.edge_vocabulary)
        table = PatternTable.canonical(types[None], edges[None], *words)
        coverage = np.array([selector.mask(choice.candidate).sum()], np.float64)
        added = OccurrenceLists.unlisted(table, np.array([float(choice.occurrences)]), np.zeros(1, bool))
        places[choice.candidate] = (number, len(level.lists))
        levels[number] = replace(
            level, lists=level.lists.followed_by(added), scores=np.append(level.scores, coverage)
        )
    return Distinct(found, places, levels)


def wanted(job: Job, levels: Sequence[Level]) -> list[int]:
    """The levels of the sizes that are asked for; the last one where time was up before those."""
    asked = [number for number, level in enumerate(levels) if level.size in job.settings.sizes]
    return asked or ([len(levels) - 1] if job.cut_short else [])


def accepted(job: Job, levels: list[Level], number: int) -> list[Place]:
    """The patterns of a level that satisfy all constraints, best first."""
    rows = np.flatnonzero(job.constraints.accepts(levels[number].lists.patterns))
    return [(number, row) for row in rows.tolist()]


def verify(job: Job, levels: list[Level], selection: "Distinct | None") -> list[Motif]:
    """Count the best patterns of each size, the distinct ones first: exactly, or by estimate where counting was cut
    off. Counts cut short by the time budget are reported but not stored, so that a resumed run counts in full.
    """
    chosen: dict[Place, Chosen] = {}
    variants: dict[Place, Place] = {}
    if selection is not None:
        levels = selection.levels
        chosen, variants = selection.roles()
    counted = count_sizes(job, levels, list(chosen), distinct=selection is not None)
    savings = savings_of(job, levels, counted)
    values = {
        place: value(job, support, levels, place, savings.get(place)) for place, support in counted.items()
    }
    # The distinct motifs as they were chosen; then the rest by verified value, by rank in the search where it ties.
    rest = sorted(counted.keys() - chosen.keys(), key=lambda place: (-values[place], place[1], place[0]))
    numbers = {
        place: number for number, place in enumerate([*filter(counted.__contains__, chosen), *rest], start=1)
    }
    return [
        Motif(
            number,
            levels[place[0]].lists.patterns[place[1]],
            counted[place],
            float(levels[place[0]].scores[place[1]]),
            chosen.get(place),
            numbers.get(variants[place]) if place in variants else None,
            savings.get(place),
        )
        for place, number in numbers.items()
    ]


def count_sizes(job: Job, levels: list[Level], first: list[Place], distinct: bool) -> dict[Place, Support]:
    """The supports of these patterns, then of the best others of each size; in complete mode of all."""
    counted = count(job, levels, first, len(first))
    for number in wanted(job, levels):
        rows = [place for place in accepted(job, levels, number) if place not in counted]
        known = sum(number == other for other, _ in counted)
        found = count(job, levels, rows, job.settings.top - known)
        if not distinct and len(found) < job.settings.top:
            job.notes.append(why_so_few(job, levels[number], len(found)))
        counted |= found
    if job.settings.complete:  # the others come with the supports that are known
        places = [place for number in wanted(job, levels) for place in accepted(job, levels, number)]
        counted |= {place: brief_support(job, levels, place) for place in places if place not in counted}
    return counted


def savings_of(job: Job, levels: Sequence[Level], counted: dict[Place, Support]) -> dict[Place, Saving]:
    """The savings by fusing each pattern whose disjoint occurrences are known; none unless savings are wanted."""
    if job.savings is None:
        return {}
    return {
        (number, row): job.savings.of_pattern(levels[number].lists.patterns[row], support.disjoint_quality)
        for (number, row), support in counted.items()
        if support.disjoint is not None
    }


def value(job: Job, support: Support, levels: Sequence[Level], place: Place, saving: Saving | None) -> float:
    """The value that ranks a verified pattern; 0 where the search's own rank decides."""
    by = {"estimator": "occurrences"}.get(job.settings.rank_by, job.settings.rank_by)
    if by == "saving":
        return 0.0 if saving is None else saving.total
    if by not in SUPPORTS:
        return 0.0
    if by != "occurrences" or job.settings.weighting != "graphs":
        return support.value(by)
    if support.occurrences_quality != EXACT or not support.per_graph:
        return float(levels[place[0]].scores[place[1]])
    return sum(number / int(job.graphs.node_counts[graph]) for graph, number in support.per_graph)


def brief_support(job: Job, levels: Sequence[Level], place: Place) -> Support:
    """The supports that complete mode finds for every pattern: its occurrences, and the support of the ranking."""
    level, row, by = levels[place[0]], place[1], job.settings.rank_by
    quality = EXACT if level.lists.exact[row] else LOWER_BOUND
    known = {} if by in ("occurrences", "saving") else {by: int(level.scores[row])}
    return Support(int(level.lists.counts[row]), quality, **known)  # type: ignore[arg-type]  # by names a support


def why_so_few(job: Job, level: Level, found: int) -> str:
    """Why fewer patterns were found than wanted, and which setting to relax."""
    few = f"{found} pattern{'s' * (found != 1)} of {level.size} nodes"
    if job.cut_short:
        return f"The time budget ran out when {few} were verified; raise `time_budget`."
    if level.whole or level.candidates == len(level.lists):
        return f"Only {few} that the search met satisfy the constraints; relax one for more."
    return f"Of the {len(level.lists):,} patterns that were kept only {few} satisfy the constraints; raise `beam`."


def count(job: Job, levels: list[Level], places: list[Place], most: int) -> dict[Place, Support]:
    """The supports of the first patterns that occur in enough graphs, at most ``most`` of them; estimates where
    counting was cut off.
    """
    found: dict[Place, Support] = {}
    verifier = Verifier(job.graphs, job.threads, job.constraints.fusible, job.engine)
    for number, row in places:
        missing = most - len(found)
        if missing <= 0 and not may_still_win(job, levels, (number, row), found, most):
            break
        if found and job.verify_until.passed:
            job.cut_short = True
            break
        seconds = max(COUNTING_SHARE * job.verify_until.left() / max(missing, 1), LEAST_SECONDS)
        with job.stage("verification", "verify", share=min(len(found) / most, 1.0)):
            support = support_of(job, levels[number], row, verifier, seconds)
        if support.occurrences > 0 and job.constraints.reached_by(support.graphs, support.mni):
            found[number, row] = support
    found |= estimates(job, levels, found)
    if len(found) > most:
        winners = sorted(found, key=lambda place: -found[place].occurrences)[:most]
        found = {place: found[place] for place in found if place in winners}
    return found


def may_still_win(
    job: Job, levels: list[Level], place: Place, found: dict[Place, Support], most: int
) -> bool:
    """Whether a pattern, estimated by the search, could have more occurrences than one that was counted."""
    level = levels[place[0]]
    by_count = job.settings.rank_by == "occurrences" and job.settings.weighting == "occurrences"
    if not by_count or level.lists.exact[place[1]] or not 0 < most <= len(found) < 2 * most:
        return False
    last = list(found)[most - 1]
    return bool(level.scores[place[1]] >= DOUBT * levels[last[0]].scores[last[1]])


def support_of(job: Job, level: Level, row: int, verifier: Verifier, clock: float) -> Support:
    """The supports of one pattern, from the run folder if they are there; counted for ``clock`` seconds at most."""
    known = job.run.load_support(level.size, row)
    if known is not None:
        return known
    pattern, seconds = level.lists.patterns[row], job.settings.seconds_per_pattern
    found = verifier.support(pattern, seconds, examples=EXAMPLES, clock=clock)
    if verifier.late:
        job.cut_short = True
    else:
        job.run.save_support(level.size, row, found)
    return found


def estimates(job: Job, levels: list[Level], found: dict[Place, Support]) -> dict[Place, Support]:
    """Unbiased estimates for the patterns whose exact counting was cut off; see `grade.verify.estimates`."""
    cut = [place for place, support in found.items() if support.occurrences_quality == LOWER_BOUND]
    if not cut or job.settings.complete:
        return {}
    sizes = sorted(levels[number].size for number, _ in cut)
    name = f"supports/estimates-{sizes[0]:02}-{sizes[-1]:02}.json"
    stored = job.run.json(name)
    if stored is None or stored.get("places") != [list(place) for place in cut]:
        try:
            with job.stage("verification", "estimate"):
                estimated = with_estimates(
                    job.graphs,
                    [levels[number].lists.patterns[row] for number, row in cut],
                    [found[place] for place in cut],
                    constraints=job.constraints,
                    bounds=job.bounds.shared(REPLICATES),
                    seed=derived(job.settings.seed, 99),
                    threads=job.threads,
                    deadline=Deadline.after(job.verify_until.left()).reporting(job.progress, "estimate"),
                    engine=job.engine,
                )
        except OutOfTime:
            job.cut_short = True
            return {}
        stored = {
            "places": cut,
            "counts": [support.occurrences for support in estimated],
            "errors": [support.standard_error for support in estimated],
        }
        job.run.save_json(name, stored)
    drawn = zip(cut, stored["counts"], stored["errors"], strict=True)
    return {
        place: replace(found[place], occurrences=number, standard_error=error, occurrences_quality=ESTIMATE)
        for place, number, error in drawn
        if error is not None
    }

"""The whole flow on one page: sample, fit, search, verify, catalogue.

Every stage leaves its result in the run folder and is not done again when it is there: a run that was stopped goes on
where it was, and ends with the same catalogue.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np

from grade.errors import InputError
from grade.graphs import GraphSet, SubgraphSample
from grade.graphs.sample import load_sample, save_sample
from grade.machine import thread_count
from grade.runs import Catalogue, Motif, RunFolder
from grade.sampling import sample as draw
from grade.search import Constraints, Level, OccurrenceLists, beam_search
from grade.search.beam import START, Bounds, derived
from grade.search.deadline import NEVER, Deadline, OutOfTime
from grade.search.ranking import LogProbability, ranking
from grade.search.reestimate import reestimate
from grade.settings import MineSettings
from grade.sources import load
from grade.units import parse_bytes, parse_seconds
from grade.verify import Support, Verifier

Report = Callable[[str, float], None]  # gets the stage and the share of it that is done

METHODS = ("search", "sampling")
PAST_ENUMERATION = 1e9  # from here on an estimate is made ready, should exact counting run out of time
SEARCH_SHARE = 0.8  # of a time budget; the rest is for the verification
LEAST_SECONDS = 0.05  # to count a pattern when time is up: enough to find some occurrences


def mine(settings: MineSettings, graphs: GraphSet | None = None, report: Report | None = None) -> Catalogue:
    """Find the most frequent patterns of k nodes. The set is loaded by its name unless it is given."""
    clock = Clock.of(settings.time_budget)
    graphs = load(settings.graphs) if graphs is None else graphs
    constraints = constraints_of(settings)
    check(settings, graphs, constraints)
    run = RunFolder.begin(settings.out, stored(settings), graphs)
    miner = Miner(settings, graphs, constraints, run, clock, report)
    if miner.run.catalogue.is_file():
        known = Catalogue.load(miner.run.catalogue)
        if not known.run["partial"]:  # a run that a time budget stopped goes on with a new one
            return known

    if settings.method == "sampling":
        try:
            levels = [most_frequent(miner.sample(settings.k), graphs, constraints)]
        except OutOfTime:
            raise InputError(
                "The time budget ran out before the sample was drawn; raise --time-budget."
            ) from None
    else:
        levels = miner.search()
    motifs = miner.verify(levels)
    catalogue = Catalogue(
        {
            **miner.run.description(),
            "constraints": constraints.describe(),
            "partial": miner.cut_short,
        },
        [summary(level) for level in levels],
        motifs,
        graphs.node_vocabulary,
        graphs.edge_vocabulary,
    )
    catalogue.save(miner.run.catalogue)
    return catalogue


@dataclass(frozen=True)
class Clock:
    """Until when patterns are searched for, and until when what was found is verified."""

    search: Deadline = NEVER
    verify: Deadline = NEVER

    @classmethod
    def of(cls, budget: str | None) -> "Clock":
        if budget is None:
            return cls()
        seconds = parse_seconds(budget)
        return cls(Deadline.after(SEARCH_SHARE * seconds), Deadline.after(seconds))


class Miner:
    """The stages of one run."""

    def __init__(
        self,
        settings: MineSettings,
        graphs: GraphSet,
        constraints: Constraints,
        run: RunFolder,
        clock: Clock,
        report: Report | None,
    ) -> None:
        self.settings, self.graphs, self.constraints, self.run = settings, graphs, constraints, run
        self.clock, self.cut_short = clock, False  # whether the time budget ran out
        self.report = report or (lambda stage, share: None)
        self.threads = thread_count(settings.threads)
        self.bounds = Bounds.from_memory(
            parse_bytes(settings.memory), settings.k, settings.beam, settings.list_size
        )

    def sample(self, k: int) -> SubgraphSample:
        """Draw occurrences of one size (the paper's section "Subgraph Sampling")."""
        if not self.run.sample(k).is_dir():
            with self.stage(f"sample k = {k}", "sampling"):
                drawn = draw(
                    self.graphs,
                    k,
                    self.settings.sampler,
                    count=self.settings.samples,
                    seed=self.settings.seed,
                    threads=self.threads,
                    progress=self.clock.search.keep_going,
                )
                save_sample(drawn, self.run.sample(k))
        return load_sample(self.run.sample(k))

    def log_probability(self, k: int) -> LogProbability:
        """That of the estimator of one size, or of all sizes, fitted to samples when it is first needed."""
        from grade.estimators import fit_to_folder, load_estimator, preset_for

        sizes = range(START + 1, self.settings.k + 1) if self.settings.one_model else [k]
        folder = self.run.model(sizes[-1])
        if not folder.is_dir():
            samples = [self.sample(size) for size in sizes]
            chosen = preset_for(
                samples, self.settings.estimator, self.settings.preset, seed=self.settings.seed
            )
            with self.stage(f"fit k = {sizes[0]} to {sizes[-1]}", "training"):
                fit_to_folder(samples, chosen, folder, lambda _: self.clock.search.check())
        return load_estimator(folder).log_probability

    def search(self) -> list[Level]:
        """Grow patterns from 3 to k nodes (the paper's Algorithm 1), as far as time allows."""
        levels = self.run.load_levels(self.graphs)
        deadline = self.clock.search
        steps = beam_search(
            self.graphs,
            self.settings.k,
            beam=self.settings.beam,
            score=ranking(
                self.settings.rank_by, self.graphs, self.settings.beam, BySize(self.log_probability), deadline
            ),
            constraints=self.constraints,
            bounds=self.bounds,
            seed=self.settings.seed,
            threads=self.threads,
            start_from=levels[-1] if levels else None,
            deadline=deadline,
        )
        try:
            while not levels or levels[-1].size < self.settings.k:
                deadline.check()
                size = levels[-1].size + 1 if levels else START
                with self.stage(f"search k = {size}", "search"):
                    level = next(steps)
                    self.run.save_level(level)
                levels.append(level)
                if len(level.lists) == 0:
                    raise InputError(
                        f"No pattern of {size} nodes in {self.settings.graphs} satisfies the constraints; relax one."
                    )
        except OutOfTime:
            self.cut_short = True
            levels = self.best_so_far(levels)
        return levels

    def best_so_far(self, levels: list[Level]) -> list[Level]:
        """Up to the largest size with a pattern that satisfies all constraints: others were kept to grow further."""
        while levels and not self.constraints.accepts(levels[-1].lists.patterns).any():
            levels = levels[:-1]
        if not levels:
            raise InputError(
                "The time budget ran out before a pattern was found that satisfies the constraints; raise"
                " --time-budget, and the run goes on."
            )
        return levels

    def verify(self, levels: list[Level]) -> list[Motif]:
        """Count the best patterns exactly, those past counting by estimate, until enough satisfy all constraints.

        What is cut short by the time budget is reported but not stored, so that a run that goes on counts it in full.
        """
        level = levels[-1]
        motifs: list[tuple[Support, int]] = []
        estimates = self.estimates(levels)
        verifier = Verifier(self.graphs, self.threads, self.settings.fusible)
        for row in np.flatnonzero(self.constraints.accepts(level.lists.patterns)).tolist():
            missing = self.settings.top - len(motifs)
            if missing == 0:
                break
            if motifs and self.clock.verify.passed:
                self.cut_short = True
                break
            seconds = max(self.clock.verify.left() / missing, LEAST_SECONDS)
            support = self.support(level, row, verifier, estimates, seconds)
            if support.occurrences > 0 and support.graphs >= self.constraints.min_graphs:
                motifs.append((support, row))
            self.report("verify", len(motifs) / self.settings.top)
        motifs = rank(motifs, self.settings.rank_by)
        return [describe(i, level, row, s, self.graphs) for i, (s, row) in enumerate(motifs, start=1)]

    def estimates(self, levels: list[Level]) -> dict[int, tuple[float, float]]:
        """Fresh unbiased counts, with standard errors, of the best patterns that are past counting."""
        lists = levels[-1].lists
        rows = np.flatnonzero((lists.counts >= PAST_ENUMERATION) & ~lists.exact)[: self.settings.top]
        if len(rows) == 0 or len(levels) < 2:
            return {}
        name = f"supports/k-{levels[-1].size:02}-estimates.json"
        stored = self.run.read_json(name)
        if stored is None:
            try:
                with self.stage("estimate", "verification"):
                    counts, errors = reestimate(
                        self.graphs,
                        levels,
                        rows,
                        constraints=self.constraints,
                        bounds=self.bounds,
                        seed=derived(self.settings.seed, 99),
                        threads=self.threads,
                        deadline=Deadline.after(self.clock.verify.left() / 2),
                    )
            except OutOfTime:
                self.cut_short = True
                return {}
            stored = [counts.tolist(), errors.tolist()]
            self.run.write_json(name, stored)
        return {int(row): (stored[0][i], stored[1][i]) for i, row in enumerate(rows)}

    def support(
        self,
        level: Level,
        row: int,
        verifier: Verifier,
        estimates: dict[int, tuple[float, float]],
        seconds: float,
    ) -> Support:
        """The supports of one pattern, from the run folder if they are there; in so many seconds at most."""
        name = f"supports/k-{level.size:02}-{row:04}.json"
        known = self.run.read_json(name)
        if known is not None:
            return Support(**{**known, "per_graph": [(graph, count) for graph, count in known["per_graph"]]})
        limit = min(self.settings.seconds_per_pattern, seconds)
        with self.stage(None, "verification"):
            found = verifier.verify(
                level.lists.patterns[row], seconds=limit, estimate=estimates.get(row), examples=20
            )
        if limit < self.settings.seconds_per_pattern and not found.complete:
            self.cut_short = True
        else:
            self.run.write_json(name, asdict(found))
        return found

    @contextmanager
    def stage(self, label: str | None, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        if label:
            self.report(label, 0.0)
        yield
        self.run.add_seconds(name, time.perf_counter() - begin)


class BySize(dict[int, LogProbability]):
    """Estimators by size, made when the search first asks for one."""

    def __init__(self, make: Callable[[int], LogProbability]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, size: int) -> LogProbability:
        self[size] = self.make(size)
        return self[size]


def stored(settings: MineSettings) -> dict[str, object]:
    """The settings as run.json keeps them."""
    return {name: str(value) if name == "out" else value for name, value in asdict(settings).items()}


def constraints_of(settings: MineSettings) -> Constraints:
    """The constraints that the settings ask for."""
    return Constraints.of(
        contains=settings.contains or (),
        only=settings.only or (),
        never=settings.never or (),
        max_in_degree=settings.max_in_degree,
        max_out_degree=settings.max_out_degree,
        min_edges=settings.min_edges,
        max_edges=settings.max_edges,
        acyclic=settings.acyclic,
        single_source=settings.single_source,
        single_sink=settings.single_sink,
        fusible=settings.fusible,
        min_graphs=settings.min_graphs,
    )


def check(settings: MineSettings, graphs: GraphSet, constraints: Constraints) -> None:
    """Refuse what cannot work before anything is written."""
    if not START <= settings.k <= 16:
        raise InputError(f"-k is {settings.k}; patterns have {START} to 16 nodes.")
    if settings.k > graphs.largest:
        raise InputError(
            f"-k is {settings.k}, but the largest graph of {settings.graphs} has {graphs.largest} nodes; lower -k."
        )
    for flag, value in (
        ("--top", settings.top),
        ("--beam", settings.beam),
        ("--samples", settings.samples),
        ("--list-size", settings.list_size),
    ):
        if value < 1:
            raise InputError(f"{flag} is {value}; give 1 or more.")
    if settings.seconds_per_pattern <= 0:
        raise InputError(f"--seconds-per-pattern is {settings.seconds_per_pattern}; give more than 0.")
    if settings.method not in METHODS:
        raise InputError(f"There is no method {settings.method!r}; known: {', '.join(METHODS)}.")
    ranking(settings.rank_by, graphs, settings.beam)
    parse_bytes(settings.memory)
    constraints.check(graphs, settings.k)


def most_frequent(sample: SubgraphSample, graphs: GraphSet, constraints: Constraints) -> Level:
    """The baseline: the patterns of the sample by their weighted frequency in it."""
    lists = OccurrenceLists.group(
        sample.patterns,
        sample.pattern_ids,
        sample.occurrences,
        sample.weights,
        np.zeros(len(sample.patterns), bool),
    )
    accepted = np.flatnonzero(constraints.accepts(lists.patterns))
    if len(accepted) == 0:
        raise InputError(
            "No pattern of the sample satisfies the constraints; draw more --samples or relax one of them."
        )
    order = accepted[np.argsort(-lists.counts[accepted], kind="stable")]
    return Level(lists.take(order), lists.counts[order], len(lists), len(sample), 0.0)


def rank(found: list[tuple[Support, int]], rank_by: str) -> list[tuple[Support, int]]:
    """By the verified support that the search ranked by; as the estimator ranked them otherwise."""
    by = {"hybrid": "occurrences"}.get(rank_by, rank_by)
    if by == "estimator":
        return found
    return sorted(found, key=lambda pair: (-getattr(pair[0], by), pair[1]))


def summary(level: Level) -> dict[str, object]:
    """A level as the catalogue keeps it."""
    return {
        "size": level.size,
        "candidates": level.candidates,
        "kept": len(level.lists),
        "instances": level.instances,
        "best": float(level.lists.counts.max(initial=0.0)),
    }


def describe(number: int, level: Level, row: int, support: Support, graphs: GraphSet) -> Motif:
    """A pattern with its supports as the catalogue keeps it."""
    pattern = level.lists.patterns[row]
    return Motif(
        id=number,
        key=pattern.key,
        size=pattern.size,
        text=str(pattern),
        score=float(level.scores[row]),
        occurrences=support.occurrences,
        occurrences_quality=support.quality,
        standard_error=support.standard_error,
        graphs=support.graphs,
        graphs_quality=support.graphs_quality,
        disjoint=support.disjoint or 0,
        disjoint_quality=support.disjoint_quality,
        coverage=support.coverage or 0,
        coverage_quality=support.coverage_quality,
        most_common=[(graphs.graph_names[graph], count) for graph, count in support.most_common(10)],
        examples=support.examples,
    )

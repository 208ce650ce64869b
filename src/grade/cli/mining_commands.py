"""``grade mine``, ``grade verify`` and ``grade runs``: find patterns, count given ones, show runs."""

import time
from collections.abc import Iterator
from typing import Any

from grade.cli.app import app, runs_app
from grade.machine import resident_memory
from grade.search import Constraints
from grade.settings import MatchSettings, MineSettings, OutputSettings, RunSettings, VerifySettings
from grade.terminal import command, progress_bar, show
from grade.text import counted

PANEL = "Find and count motifs"  # of the help


@command(
    app,
    "grade mine my-models",
    "grade mine my-models -k 4-8 --start-from 'Conv -> BatchNormalization -> *'",
    "grade mine zoo -k 8 --out run --contains 'Conv*' --max-in-degree 2 --max-out-degree 2 --rank-by graphs",
    "grade mine my-models -k 6 --top 100 --fusible --min-graphs 5 --out fusion-candidates",
    "grade mine zoo -k 5 --complete --min-graphs 20 --closed --out frequent",
    "grade mine zoo -k 10 --rank-by probability --estimator disco --samples 40000 --all --out as-in-the-paper",
    panel=PANEL,
)
def mine(settings: MineSettings, constraints: Constraints, output: OutputSettings) -> None:
    """Find the patterns that recur: a distinct few that cover most of the set, with their variants folded.

    With --all, every pattern in the order of the ranking. Repeat the command to resume a run that was stopped; it
    ends with the same catalogue.
    """
    from grade.job import folder_for
    from grade.mine import mine

    begin = time.perf_counter()
    out = settings.out or folder_for(settings.graphs)
    with progress_bar("mine") as progress:
        found = mine(**{**vars(settings), "out": out}, **vars(constraints), progress=progress)
    top = settings.top * (len(settings.sizes) if settings.all else 1)
    show_catalogue(out, found.catalogue, found.graphs, top, time.perf_counter() - begin, output)


@command(
    app,
    "grade verify census.npz zoo --top 100",
    "grade verify patterns.txt my-graphs --seconds-per-pattern 60 --time-budget 30m --out supports.csv",
    "grade verify 'Conv -> BatchNormalization -> Relu' zoo --fusible --json",
    "grade verify 'Conv* -> * -> Add' zoo --non-induced",
    panel=PANEL,
)
def verify(settings: VerifySettings, output: OutputSettings) -> None:
    """Count given patterns exactly: occurrences, graphs, disjoint occurrences, covered nodes.

    A pattern is text such as 'Conv#1 -> Add; Conv#2 -> Add', where * and ? in a type are wildcards.
    A count that runs out of time is estimated, or a lower bound where that is not possible.
    """
    from grade.api import count
    from grade.support import amount
    from grade.verify import pattern_files as files
    from grade.verify.maximum_packing import maximum_disjoint_of

    if settings.out is not None:
        files.check_target(settings.out)
    begin = time.perf_counter()
    with progress_bar("verify") as progress:
        found = count(
            settings.graphs,
            settings.patterns,
            top=settings.top,
            induced=not settings.non_induced,
            fusible=settings.fusible,
            seconds_per_pattern=settings.seconds_per_pattern,
            time_budget=settings.time_budget,
            threads=settings.threads,
            progress=progress,
            engine=settings.engine,
            address=settings.address,
        )
    patterns, supports, graphs = found.patterns, found.supports, found.graphs
    largest = maximum_disjoint_of(graphs, patterns, settings.fusible) if settings.maximum else []
    if settings.out is not None:
        files.write_supports(settings.out, patterns, supports, graphs)
    data: dict[str, Any] = {
        "set": settings.graphs,
        "patterns": len(patterns),
        "exact": found.exact,
        "fusible": settings.fusible,
        "nodes": graphs.nodes,
        "seconds": time.perf_counter() - begin,
        "threads": found.threads,
        "supports": [
            files.support_data(pattern, support, graphs, most_common=10)
            for pattern, support in zip(patterns, supports, strict=True)
        ],
    }
    for support, (size, quality) in zip(data["supports"], largest, strict=False):
        support.update(maximum_disjoint=size, maximum_disjoint_quality=quality)

    def lines() -> Iterator[str]:
        number = counted(len(patterns), "pattern")
        yield f"{settings.graphs}: {number}, {found.exact:,} counted exactly, {data['seconds']:.2f} s"
        yield from files.support_lines(patterns, supports, graphs)
        for pattern, (size, quality) in zip(patterns, largest, strict=False):
            yield f"most that share no node: {amount(size, quality)}  {pattern}"

    show(output, data, lines)


@command(
    app,
    "grade match fusions my-models --fusible",
    "grade match library.txt zoo --remaining 20 --json",
    "grade match 'Conv* -> * -> Add' zoo --non-induced --remaining 0",
    panel=PANEL,
)
def match(settings: MatchSettings, output: OutputSettings) -> None:
    """Match a library of named patterns: the share of the nodes that each covers, and the best motifs outside of it."""
    from grade.match import match

    with progress_bar("match") as progress:
        found = match(
            settings.library,
            settings.graphs,
            fusible=settings.fusible,
            induced=not settings.non_induced,
            remaining=settings.remaining,
            seconds_per_pattern=settings.seconds_per_pattern,
            threads=settings.threads,
            progress=progress,
        )
    show(output, found.data(), found.lines)


@command(runs_app, "grade runs show run", "grade runs show run --top 5 --json", called="show")
def runs_show(settings: RunSettings, output: OutputSettings) -> None:
    """Show the motifs that a run found."""
    from grade.errors import InputError
    from grade.runs import RunFolder
    from grade.runs.searched import searched_set

    catalogue = RunFolder.open(settings.run).load_catalogue()
    try:
        graphs = searched_set(catalogue) if output.json else None
    except InputError:  # it is gone: examples cannot be named
        graphs = None
    show_catalogue(settings.run, catalogue, graphs, settings.top, None, output)


def show_catalogue(
    run: Any, catalogue: Any, graphs: Any, top: int, seconds: float | None, output: OutputSettings
) -> None:
    """Print a run: its settings and levels, and its best motifs."""
    from grade.report.tables import motif_lines, named_examples

    motifs = catalogue.shown[:top]
    data = {
        "run": str(run),
        "set": catalogue.run["settings"]["graphs"],
        "k": catalogue.run["settings"]["k"],
        **{name: catalogue.run[name] for name in ("partial", "complete", "left_out", "notes")},
        "constraints": catalogue.run["constraints"],
        "distinct": catalogue.run["distinct"],
        "levels": catalogue.levels,
        "motifs": [{**catalogue.data(motif), "examples": named_examples(motif, graphs)} for motif in motifs],
    }
    if seconds is not None:
        data |= {"seconds": seconds, "peak_memory": resident_memory(peak=True)}

    def lines() -> Iterator[str]:
        yield from motif_lines(str(run), catalogue, motifs, seconds)
        if "peak_memory" in data:
            allowed = catalogue.run["settings"]["memory"]
            yield f"peak memory: {data['peak_memory'] / 2**20:,.0f} MiB of {allowed}"

    show(output, data, lines)

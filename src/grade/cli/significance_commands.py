"""``grade significance`` and ``grade features``: patterns against null models, and graphs and nodes by patterns."""

from collections.abc import Iterator
from pathlib import Path

from grade.cli.app import app
from grade.settings import FeaturesSettings, OutputSettings, SignificanceSettings
from grade.sources import load
from grade.terminal import command, progress_bar, show

PANEL = "Statistics"  # of the help


@command(
    app,
    "grade significance zoo-mini -k 3 --null types",
    "grade significance nas-bench-201 -k 4 --draws 2000 --seed 1 --out scores.parquet",
    "grade significance my-graphs -k 3 --null levels --page motifs.html",
    "grade significance run -k 4",
    panel=PANEL,
)
def significance(settings: SignificanceSettings, output: OutputSettings) -> None:
    """Compare the count of every pattern of K nodes with its counts in randomised graphs.

    Of the folder of a run its set is tested, and the run's page shows the result from then on.
    """
    from grade.report.significance_page import write_significance_page
    from grade.report.significance_tables import score_data, score_lines
    from grade.report.stored_significance import keep, set_of
    from grade.significance import NullModel
    from grade.significance import significance as compare
    from grade.significance.columns_file import check_columns_target

    if settings.out is not None:
        check_columns_target(settings.out)
    null = NullModel(name=settings.null, allow_cycles=settings.allow_cycles, keep_mutual=settings.keep_mutual)
    with progress_bar("significance") as progress:
        run = Path(settings.graphs)
        graphs = set_of(run)
        result = compare(
            load(settings.graphs) if graphs is None else graphs,
            settings.k,
            null,
            draws=settings.draws,
            switches=settings.switches,
            least=settings.least,
            by_graph=settings.by_graph,
            samples=settings.samples,
            seed=settings.seed,
            threads=settings.threads,
            progress=progress,
        )
    if settings.out is not None:
        result.save(settings.out)
    if settings.page is not None:
        write_significance_page(result, settings.page)

    kept = None if graphs is None else keep(run, result)

    def lines() -> Iterator[str]:
        yield from score_lines(result, settings.top)
        if kept is not None:
            yield f"kept in {kept}; 'grade report {run}' shows it"

    named = result.set if graphs is not None else settings.graphs
    data = {**score_data(result, settings.top), "set": named, "kept": None if kept is None else str(kept)}
    show(output, data, lines)


@command(
    app,
    "grade features zoo -k 3 --out fingerprints.npz",
    "grade features my-models/ -k 4 --values shares --out table.parquet",
    "grade features zoo-mini -k 3 --per node --out orbits.npz",
    panel=PANEL,
)
def features(settings: FeaturesSettings, output: OutputSettings) -> None:
    """Write how often each pattern of K nodes occurs in each graph, or at each node."""
    from grade.errors import InputError
    from grade.significance.columns_file import check_columns_target
    from grade.significance.fingerprints import VALUES
    from grade.significance.fingerprints import features as describe

    check_columns_target(settings.out)
    if settings.values not in VALUES:
        raise InputError(f"The values are {settings.values!r}; give one of {', '.join(VALUES)}.")
    with progress_bar("features") as progress:
        result = describe(
            load(settings.graphs), settings.k, settings.per, threads=settings.threads, progress=progress
        )
    result.save(settings.out, settings.values)
    rows, columns = result.shape
    data = {
        "set": settings.graphs,
        "k": settings.k,
        "per": settings.per,
        "values": settings.values,
        "rows": rows,
        "columns": columns,
        "entries": len(result.counts),
        "out": str(settings.out),
    }
    kind = "patterns" if settings.per == "graph" else "orbits"
    show(
        output,
        data,
        lambda: [
            f"{settings.out}: {rows:,} {settings.per}s x {columns:,} {kind}, k = {settings.k}, {settings.values}"
        ],
    )

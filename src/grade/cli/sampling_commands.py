"""``grade census`` and ``grade sample``: count subgraphs, or draw some."""

from collections.abc import Iterator

from grade.cli.app import app
from grade.settings import CensusSettings, OutputSettings, SampleSettings
from grade.sources import load
from grade.terminal import command, pattern_data, pattern_lines, progress_bar, show

PANEL = "Count and draw subgraphs"  # of the help


@command(
    app,
    "grade census zoo -k 5",
    "grade census nas-bench-101 -k 4 --top 50 --out census.parquet",
    "grade census my-graphs -k 6 --threads 8 --json",
    panel=PANEL,
)
def census(settings: CensusSettings, output: OutputSettings) -> None:
    """Count every connected induced subgraph of K nodes by pattern, exactly."""
    from grade.engine import engine_named
    from grade.sampling.census import check_target, take_census

    if settings.out is not None:
        check_target(settings.out)
    with engine_named(settings.engine, settings.address) as engine, progress_bar("census") as progress:
        result = take_census(load(settings.graphs), settings.k, settings.threads, progress, engine)
    top = result.top(settings.top)
    if settings.out is not None:
        result.save(settings.out)
    data = {
        "set": settings.graphs,
        "k": result.k,
        "instances": result.instances,
        "patterns": len(result.patterns),
        "seconds": result.seconds,
        "threads": result.threads,
        "top": [pattern_data(pattern, count) for pattern, count in top],
    }

    def lines() -> Iterator[str]:
        threads = f"{result.threads} thread{'s' if result.threads > 1 else ''}"
        yield (
            f"{settings.graphs}: {result.instances:,} instances of {len(result.patterns):,} patterns, k = {result.k},"
            f" {result.seconds:.2f} s on {threads}"
        )
        yield from pattern_lines(top, result.instances)

    show(output, data, lines)


@command(
    app,
    "grade sample nas-bench-101 -k 5 --density 0.1 --out sample-5",
    "grade sample zoo -k 15 --method rand-fase --count 40000 --seed 1 --out sample-15",
    "grade sample zoo -k 8 --count 20000 --weighting graphs --out every-model-counts",
    panel=PANEL,
)
def sample(settings: SampleSettings, output: OutputSettings) -> None:
    """Draw connected induced subgraphs of K nodes, by count or by density."""
    from grade.engine import engine_named
    from grade.graphs.sample import check_sample_target, save_sample
    from grade.sampling import sample as draw

    check_sample_target(settings.out)
    with engine_named(settings.engine, settings.address) as engine, progress_bar("sample") as progress:
        result = draw(
            load(settings.graphs),
            settings.k,
            settings.method,
            count=settings.count,
            density=settings.density,
            seed=settings.seed,
            threads=settings.threads,
            weighting=settings.weighting,
            r=settings.r,
            whole_passes=settings.whole_passes,
            census=settings.census,
            parts=settings.parts,
            progress=progress,
            engine=engine,
        )
    save_sample(result, settings.out)
    data = {**result.drawn, "set": settings.graphs, "out": str(settings.out)}

    def lines() -> Iterator[str]:
        yield (
            f"{settings.out}: {len(result):,} samples of {len(result.patterns):,} patterns, k = {settings.k},"
            f" by {settings.method}, {data['seconds']:.2f} s"
        )
        if "density" in data:
            yield f"density: {data['density']:.4f}"
        if "acceptance_rate" in data:
            yield f"acceptance rate: {data['acceptance_rate']:.3g}"
        if "effective_r" in data:
            yield f"effective r: {data['effective_r']:.3f}, {data['leaves']:,} leaves in {data['passes']:,} passes"
        if "exact_patterns" in data:
            bounded, exact = data["bounded_patterns"], data["exact_patterns"]
            other = len(result.patterns) - exact - bounded
            yield (
                f"counts: {exact:,} are exact, {bounded:,} within {100 * data['error']:g} % (confidence"
                f" {100 * data['confidence']:g} %), {other:,} are estimates without a bound"
            )

    show(output, data, lines)

"""The command line. Commands are generated from the settings objects; the work is done elsewhere.

A command is a function whose parameters are settings objects of `grade.settings`, decorated with `command`:
each field becomes an argument or a flag. It does the work by one or two calls, then reports with `show`: a
dictionary for ``--json``, lines of text otherwise. What is slow to import (torch) is imported in the command.
"""

import dataclasses
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import grade
from grade.errors import InputError
from grade.settings import (
    BuildSettings,
    CensusSettings,
    DiffSettings,
    EvaluateSettings,
    ExportSettings,
    FitSettings,
    InfoSettings,
    MineSettings,
    OutputSettings,
    ReadSettings,
    ReportSettings,
    RunSettings,
    SampleSettings,
    ScoreSettings,
    VerifySettings,
)
from grade.sources import load
from grade.terminal import (
    command,
    named_progress,
    pattern_data,
    pattern_lines,
    progress_bar,
    show,
    stage_progress,
    training_progress,
)

app = typer.Typer(
    name="grade",
    help="Find frequent subgraphs (motifs) in sets of directed, typed graphs.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
graphs_app = typer.Typer(help="Build and describe graph sets.")
app.add_typer(graphs_app, name="graphs")


def main() -> None:
    """Run the command line; bad input gives one sentence and exit code 2, Ctrl-C exit code 130."""
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="grade", standalone_mode=False) or 0
        sys.stdout.flush()
    except InputError as error:
        code = report(2, str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except BrokenPipeError:
        # The reader has gone (`grade ... | head`). Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Exception as error:
        # A usage error of typer: its class has moved between versions, its two attributes have not.
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        hint = f" See '{context.command_path} --help'." if context is not None else ""
        code = report(getattr(error, "exit_code", 2), error.format_message() + hint)
    if code == 130:
        report(code, "interrupted.")
    sys.exit(code)


def report(code: int, sentence: str) -> int:
    print(f"grade: {sentence}", file=sys.stderr)
    return code


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        print(f"grade {grade.__version__}")
        raise typer.Exit


@command(
    graphs_app,
    "grade graphs build 'models/**/*.onnx' my-models",
    "grade graphs build models my-models --merge-duplicates --attribute Conv.kernel_shape",
    "grade graphs build nas-bench-101 cells",
    "grade graphs build my-models zoo more.onnx everything --strict",
)
def build(settings: BuildSettings, reading: ReadSettings, output: OutputSettings) -> None:
    """Build a graph set from files, models and other sets, and save it to a folder.

    Inputs are read by several processes, each with a limit of time and memory; what cannot be read is skipped
    and listed. A build that was killed goes on when it is repeated.
    """
    from grade.sources.building import build_graph_set
    from grade.sources.children import Limits

    with named_progress("build") as progress:
        report = build_graph_set(
            settings.sources,
            settings.out,
            reading,
            overwrite=settings.force,
            strict=settings.strict,
            merge_duplicates=settings.merge_duplicates,
            workers=settings.workers,
            limits=Limits(settings.seconds, settings.memory),
            progress=progress,
        )

    def lines() -> Iterator[str]:
        yield f"{report.out}: {report.graphs:,} graphs, {report.nodes:,} nodes, {report.edges:,} edges"
        if report.inputs > 1 or report.skipped:
            yield f"{report.read:,} of {report.inputs:,} inputs read, {len(report.skipped):,} skipped"
        if report.resumed:
            yield f"{report.resumed:,} of them by an earlier build that was interrupted"
        if report.duplicates:
            yield f"{len(report.duplicates):,} graphs left out, each the same as another:"
            yield from (f"  {name} = {first}" for name, first in report.duplicates)
        if report.skipped:
            yield "skipped:"
            yield from (f"  {reason}" for reason in report.skipped)

    show(output, {"sources": settings.sources, **dataclasses.asdict(report)}, lines)


@command(graphs_app, "grade graphs info zoo-mini", "grade graphs info my-graphs --json")
def info(settings: InfoSettings, output: OutputSettings) -> None:
    """Describe a graph set: sizes, types, degrees, cycles."""
    from grade.graphs.summary import summarize

    data = dataclasses.asdict(summarize(load(settings.graphs)))

    def lines() -> Iterator[str]:
        for name, value in data.items():
            label = name.replace("_", " ")
            if isinstance(value, dict):
                yield f"{label}:"
                yield from (f"    {count:>12,}  {word}" for word, count in value.items())
            elif isinstance(value, str):
                yield f"{label}: {value}"
            else:
                yield f"{label}: {value:,.1f}" if isinstance(value, float) else f"{label}: {value:,}"

    show(output, data, lines)


@command(
    graphs_app,
    "grade graphs diff my-models zoo -k 4",
    "grade graphs diff before after -k 5 --top 30 --json",
)
def diff(settings: DiffSettings, output: OutputSettings) -> None:
    """Compare two graph sets: types and patterns of K nodes whose shares differ most."""
    from grade.evaluation.difference import compare
    from grade.sampling.census import check_top

    check_top(settings.top)
    with progress_bar("census") as progress:
        found = compare(load(settings.graphs), load(settings.other), settings.k, settings.threads, progress)
    shown = dataclasses.replace(
        found,
        type_shifts=found.type_shifts[: settings.top],
        pattern_shifts=found.pattern_shifts[: settings.top],
    )
    data = {"sets": [settings.graphs, settings.other], **dataclasses.asdict(shown)}

    def lines() -> Iterator[str]:
        yield (
            f"types: distance {found.type_distance:.3f} (0: the same, 1: nothing in common),"
            f" {found.types_in_common:,} in common"
        )
        yield from shift_lines(shown.type_shifts)
        yield (
            f"patterns of {found.k} nodes: distance {found.pattern_distance:.3f}, {found.patterns[0]:,} and"
            f" {found.patterns[1]:,}, {found.patterns_in_common:,} in common"
        )
        yield from shift_lines(shown.pattern_shifts)

    show(output, data, lines)


def shift_lines(rows: Iterable[Any]) -> Iterator[str]:
    """Share in either set, change and name in columns."""
    for row in rows:
        first, second = (f"{100 * share:.2f} %" for share in row.shares)
        yield f"  {first:>9}  {second:>9}  {100 * row.change:>+8.2f}  {row.name}"


@command(
    app,
    "grade census zoo -k 5",
    "grade census nas-bench-101 -k 4 --top 50 --out census.parquet",
    "grade census my-graphs -k 6 --threads 8 --json",
)
def census(settings: CensusSettings, output: OutputSettings) -> None:
    """Count every connected induced subgraph of K nodes by pattern, exactly."""
    from grade.sampling.census import check_target, check_top, take_census

    check_top(settings.top)
    if settings.out is not None:
        check_target(settings.out)
    with progress_bar("census") as progress:
        result = take_census(load(settings.graphs), settings.k, settings.threads, progress)
    top = result.top(settings.top)
    if settings.out is not None:
        result.save(settings.out)
    data = {
        "set": settings.graphs,
        "k": result.k,
        "instances": result.instances,
        "types": result.types,
        "seconds": result.seconds,
        "threads": result.threads,
        "top": [pattern_data(pattern, count) for pattern, count in top],
    }

    def lines() -> Iterator[str]:
        threads = f"{result.threads} thread{'s' if result.threads > 1 else ''}"
        yield (
            f"{settings.graphs}: {result.instances:,} instances of {result.types:,} types, k = {result.k},"
            f" {result.seconds:.2f} s on {threads}"
        )
        yield from pattern_lines(top, result.instances)

    show(output, data, lines)


@command(
    app,
    "grade sample nas-bench-101 -k 5 --density 0.1 --out sample-5",
    "grade sample zoo -k 15 --method rand-fase --count 40000 --seed 1 --out sample-15",
    "grade sample zoo -k 8 --count 20000 --weighting graphs --out every-model-counts",
)
def sample(settings: SampleSettings, output: OutputSettings) -> None:
    """Draw connected induced subgraphs of K nodes, by count or by density."""
    from grade.graphs.sample import check_sample_target, save_sample
    from grade.sampling import sample as draw

    check_sample_target(settings.out)
    with progress_bar("sample") as progress:
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
            census=settings.census,
            parts=settings.parts,
            progress=progress,
        )
    save_sample(result, settings.out)
    data = {**result.drawn, "set": settings.graphs, "out": str(settings.out)}

    def lines() -> Iterator[str]:
        yield (
            f"{settings.out}: {len(result):,} samples of {len(result.patterns):,} types, k = {settings.k},"
            f" by {settings.method}, {data['seconds']:.2f} s"
        )
        if "density" in data:
            yield f"density: {data['density']:.4f}"
        if "acceptance_rate" in data:
            yield f"acceptance rate: {data['acceptance_rate']:.3g}"
        if "effective_r" in data:
            yield f"effective r: {data['effective_r']:.3f}, {data['leaves']:,} leaves in {data['passes']:,} passes"

    show(output, data, lines)


@command(
    app,
    "grade fit sample-5 --out model",
    "grade fit sample-4 sample-5 sample-6 --out model --seed 1",
    "grade fit sample-5 --estimator disco --preset paper --out disco --device cuda",
    "grade fit sample-5 --out model --set layers=3 --set members=1",
)
def fit(settings: FitSettings, output: OutputSettings) -> None:
    """Fit an estimator to a sample, or to samples of several sizes. A fit that was killed goes on when repeated."""
    from grade.estimators import fit_to_folder, parse_changes, preset_for
    from grade.graphs.sample import load_sample

    samples = [load_sample(path) for path in settings.samples]
    changes = {"seed": settings.seed, "device": settings.device, **parse_changes(settings.changes or [])}
    chosen = preset_for(samples, settings.estimator, settings.preset, **changes)
    with training_progress() as progress:
        model = fit_to_folder(samples, chosen, settings.out, progress)
    data = {
        "out": str(settings.out),
        "estimator": settings.estimator,
        "k": sorted(sample.size for sample in samples),
        "occurrences": sum(map(len, samples)),
        "types": sum(len(sample.patterns) for sample in samples),
        **{name: value for name, value in model.fitted.items() if name != "held_out"},
    }
    facts = ", ".join(f"{name} {value}" for name, value in data.items() if name != "out")
    show(output, data, lambda: [f"{settings.out}: {facts}"])


@command(
    app,
    "grade score model census.npz --out scores.csv",
    "grade score model patterns.txt --out scores.npz --json",
)
def score(settings: ScoreSettings, output: OutputSettings) -> None:
    """Write the log-probability of each pattern's isomorphism class under a model."""
    from grade.estimators import load_estimator
    from grade.evaluation import scores

    scores.check_target(settings.out)
    model, patterns = load_estimator(settings.model), scores.read_patterns(settings.patterns)
    begin = time.perf_counter()
    values = scores.score(model, patterns, settings.out)
    data = {
        "out": str(settings.out),
        "types": len(values),
        "evaluations": model.evaluations,
        "seconds": time.perf_counter() - begin,
    }
    show(output, data, lambda: [f"{settings.out}: {len(values):,} patterns, {data['seconds']:.1f} s"])


@command(app, "grade evaluate model census.npz", "grade evaluate model census.npz --json")
def evaluate(settings: EvaluateSettings, output: OutputSettings) -> None:
    """Compare a model's ranking of patterns with their exact counts: Spearman's rho, Kendall's tau-b."""
    from grade.estimators import load_estimator
    from grade.evaluation import ranking
    from grade.sampling.census import Census

    model, census = load_estimator(settings.model), Census.load(settings.census)
    data = dataclasses.asdict(ranking.evaluate(model, census.patterns, census.counts))
    show(output, data, lambda: [f"{name.replace('_', ' ')}: {value:,.4g}" for name, value in data.items()])


runs_app = typer.Typer(help="Look at runs.")
app.add_typer(runs_app, name="runs")


@command(
    app,
    "grade mine zoo -k 8 --out run --contains 'Conv*' --max-in-degree 2 --max-out-degree 2 --rank-by graphs",
    "grade mine my-models -k 6 --top 100 --fusible --min-graphs 5 --out fusion-candidates",
    "grade mine zoo -k 10 --rank-by estimator --estimator disco --samples 40000 --out as-in-the-paper",
)
def mine(settings: MineSettings, output: OutputSettings) -> None:
    """Find the most frequent patterns of K nodes: sample, fit, search, verify, catalogue.

    A run that was stopped goes on when it is started again, and ends with the same catalogue.
    """
    from grade import pipeline

    begin = time.perf_counter()
    with stage_progress() as report:
        catalogue = pipeline.mine(settings, report=report)
    show_catalogue(settings.out, catalogue, settings.top, time.perf_counter() - begin, output)


@command(
    app,
    "grade verify census.npz zoo --top 100",
    "grade verify patterns.txt my-graphs --seconds-per-pattern 60 --time-budget 30m --out supports.csv",
    "grade verify '8.8.20/0>1.1>2' zoo --fusible --json",
)
def verify(settings: VerifySettings, output: OutputSettings) -> None:
    """Count given patterns exactly: occurrences, graphs, disjoint occurrences, covered nodes.

    Where time runs out before a count is done, it is estimated; a lower bound where that is not possible.
    """
    from grade.machine import thread_count
    from grade.search.deadline import NEVER, Deadline
    from grade.units import parse_seconds
    from grade.verify import COUNTING_SHARE, files, verify_patterns, with_estimates

    threads, total, deadline = thread_count(settings.threads), None, NEVER
    if settings.time_budget is not None:
        deadline = Deadline.after(parse_seconds(settings.time_budget))
        total = COUNTING_SHARE * parse_seconds(settings.time_budget)
    if settings.out is not None:
        files.check_target(settings.out)
    begin = time.perf_counter()
    graphs = load(settings.graphs)
    patterns = files.read_patterns(settings.patterns, graphs, settings.top)
    with progress_bar("verify") as progress:
        supports = verify_patterns(
            graphs, patterns, settings.seconds_per_pattern, total, threads, progress, settings.fusible
        )
    if not settings.fusible:  # estimates are of all occurrences
        supports = with_estimates(graphs, patterns, supports, threads, deadline)
    if settings.out is not None:
        files.write_supports(settings.out, patterns, supports, graphs)
    exact = sum(support.quality == "exact" for support in supports)
    data = {
        "set": settings.graphs,
        "patterns": len(patterns),
        "exact": exact,
        "fusible": settings.fusible,
        "nodes": graphs.nodes,
        "seconds": time.perf_counter() - begin,
        "threads": threads,
        "supports": [
            files.support_data(pattern, support, graphs, most_common=10)
            for pattern, support in zip(patterns, supports, strict=True)
        ],
    }

    def lines() -> Iterator[str]:
        yield f"{settings.graphs}: {len(patterns):,} patterns, {exact:,} counted exactly, {data['seconds']:.2f} s"
        yield from files.support_lines(patterns, supports, graphs)

    show(output, data, lines)


@command(runs_app, "grade runs show run", "grade runs show run --top 5 --json", called="show")
def runs_show(settings: RunSettings, output: OutputSettings) -> None:
    """Show the motifs that a run found."""
    from grade.runs import Catalogue, RunFolder

    catalogue = Catalogue.load(RunFolder.open(settings.run).catalogue)
    show_catalogue(settings.run, catalogue, settings.top, None, output)


@command(
    app,
    "grade report run --open",
    "grade report run --out motifs.html",
    "grade report before after",
    called="report",
)
def report_page(settings: ReportSettings, output: OutputSettings) -> None:
    """Write a page on a run, one HTML file with everything in it; on two runs, what changed between them."""
    from grade.report.comparison import write_comparison
    from grade.report.page import write_page

    if len(settings.runs) > 2:
        raise InputError(f"{len(settings.runs)} runs were given; a page shows one, or compares two.")
    first, *second = settings.runs
    out = settings.out or (Path("comparison.html") if second else first / "report.html")
    facts = write_comparison(first, second[0], out) if second else {"motifs": write_page(first, out)}
    if settings.open:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())
    texts = ", ".join(f"{count:,} {name}" for name, count in facts.items())
    show(output, {"page": str(out), **facts}, lambda: [f"{out}: {texts}"])


@command(
    app,
    "grade export run --pattern 1 --to pytorch --out block.py",
    "grade export run --pattern 3 --to onnx",
    "grade export run --pattern 2 --to svg",
)
def export(settings: ExportSettings, output: OutputSettings) -> None:
    """Write a pattern of a run as code, as a model, as a picture, or for another graph tool."""
    from grade.export.formats import export as write

    out = write(settings.run, settings.pattern, settings.to, settings.out)
    show(output, {"file": str(out)}, lambda: [str(out)])


def show_catalogue(run: Any, catalogue: Any, top: int, seconds: float | None, output: OutputSettings) -> None:
    """Report a run: its settings and levels, and the best of its motifs."""
    from grade.report.tables import motif_lines

    motifs = catalogue.motifs[:top]
    data = {
        "run": str(run),
        "set": catalogue.run["settings"]["graphs"],
        "k": catalogue.run["settings"]["k"],
        "partial": catalogue.run["partial"],
        "constraints": catalogue.run["constraints"],
        "levels": catalogue.levels,
        "motifs": [dataclasses.asdict(motif) for motif in motifs],
        **({"seconds": seconds} if seconds is not None else {}),
    }
    show(output, data, lambda: motif_lines(str(run), catalogue, motifs, seconds))


if __name__ == "__main__":
    main()

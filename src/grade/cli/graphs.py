"""``grade graphs``: build, describe and compare graph sets."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from grade.cli.app import graphs_app
from grade.settings import BuildSettings, DiffSettings, InfoSettings, OutputSettings, ReadSettings
from grade.sources import load
from grade.terminal import command, progress_bar, show, with_flags
from grade.text import counted, table


@command(
    graphs_app,
    "grade graphs build 'models/**/*.onnx' my-models",
    "grade graphs build models my-models --merge-duplicates --attribute Conv.kernel_shape",
    "grade graphs build nas-bench-101 cells",
    "grade graphs build my-models zoo more.onnx everything --strict",
)
def build(settings: BuildSettings, reading: ReadSettings, output: OutputSettings) -> None:
    """Build a graph set from files, models and other sets, and save it to a folder.

    Several processes read the inputs, each with a limit of time and memory; unreadable inputs are skipped and listed.
    Repeat the command to resume a build that was killed.
    """
    from grade.sources.building import build_graph_set
    from grade.sources.worker_pool import Limits

    with progress_bar("build") as progress:
        report = build_graph_set(
            settings.sources,
            settings.out,
            reading,
            overwrite=settings.overwrite,
            strict=settings.strict,
            merge_duplicates=settings.merge_duplicates,
            workers=settings.workers,
            limits=Limits(settings.seconds, settings.memory),
            progress=progress,
        )

    def lines() -> Iterator[str]:
        size = counted(report.graphs, "graph"), counted(report.nodes, "node"), counted(report.edges, "edge")
        yield f"{report.out}: {', '.join(size)}"
        if report.inputs > 1 or report.skipped:
            yield f"{report.read:,} of {report.inputs:,} inputs read, {len(report.skipped):,} skipped"
        if report.resumed:
            yield f"{report.resumed:,} of them by an earlier build that was interrupted"
        if report.duplicates:
            yield f"{counted(len(report.duplicates), 'graph')} left out, each the same as another:"
            yield from (f"  {name} = {first}" for name, first in report.duplicates)
        if report.skipped:
            yield "skipped:"
            yield from (f"  {with_flags(reason)}" for reason in report.skipped)

    show(output, {"sources": settings.sources, **dataclasses.asdict(report)}, lines)


@command(graphs_app, "grade graphs info zoo-mini", "grade graphs info my-graphs --json")
def info(settings: InfoSettings, output: OutputSettings) -> None:
    """Describe a graph set: sizes, types, degrees, cycles. All of its files are checked against their checksums."""
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
    cells = [
        [*(f"{100 * share:.2f} %" for share in row.shares), f"{100 * row.change:+.2f}", row.name]
        for row in rows
    ]
    return table(["first", "second", "change", "name"], cells) if cells else iter(())

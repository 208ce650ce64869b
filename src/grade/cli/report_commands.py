"""``grade report``, ``grade export`` and ``grade occurrences``: pages, code and places of motifs."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from grade.cli.app import app
from grade.errors import InputError
from grade.settings import ExportSettings, OccurrencesSettings, OutputSettings, ReportSettings
from grade.terminal import command, show
from grade.text import counted

PANEL = "Look at a run"  # of the help


@command(
    app,
    "grade report run --open",
    "grade report run --out motifs.html",
    "grade report before after",
    called="report",
    panel=PANEL,
)
def report_page(settings: ReportSettings, output: OutputSettings) -> None:
    """Write a page on a run, one self-contained HTML file; of two runs, a comparison."""
    from grade.report.comparison import write_comparison
    from grade.report.page import write_page

    if len(settings.runs) > 2:
        raise InputError(f"{len(settings.runs)} runs were given; a page shows one, or compares two.")
    first, *second = settings.runs
    out = settings.out or (Path("comparison.html") if second else first / "report.html")
    facts = write_comparison(first, second[0], out) if second else write_page(first, out)
    if settings.open:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())
    if second:
        texts = [f"{count:,} {name}" for name, count in facts.items()]
    else:
        words = {"motifs": "motif", "variants": "variant", "others": "other pattern"}
        texts = [counted(count, words[name]) for name, count in facts.items() if count or name == "motifs"]
    show(output, {"page": str(out), **facts}, lambda: [f"{out}: {', '.join(texts)}"])


@command(
    app,
    "grade export run --pattern 1 --to pytorch --out block.py",
    "grade export run --pattern 3 --to onnx --values",
    "grade export run --pattern 2 --to svg",
    panel=PANEL,
)
def export(settings: ExportSettings, output: OutputSettings) -> None:
    """Write a pattern of a run as code, as a model, as a picture, or for another graph tool.

    PyTorch code and ONNX models compute what an occurrence in a model of the set computes, where its file is at hand.
    """
    from grade.export.formats import export as write

    made = write(
        settings.run, settings.pattern, settings.to, settings.out, settings.values, settings.pattern_only
    )
    occurrence = made.occurrence
    data = {
        "file": str(made.file),
        "weights": None if made.weights is None else str(made.weights),
        "graph": None if occurrence is None else occurrence.graph,
        "nodes": None if occurrence is None else occurrence.nodes,
        "reason": made.reason or None,
        "unknown": list(made.unknown),
    }

    def lines() -> Iterator[str]:
        yield str(made.file)
        if made.weights is not None:
            yield str(made.weights)
        if occurrence is not None:
            yield f"as in {occurrence.graph}: {', '.join(occurrence.nodes)}"
        elif made.reason:
            yield f"made of the pattern alone, with example shapes. {made.reason}"
        if made.unknown:
            yield f"operators without a counterpart, to be filled in: {', '.join(made.unknown)}"

    show(output, data, lines)


@command(
    app,
    "grade occurrences run --pattern 1",
    "grade occurrences run --pattern 1 --to jsonl --out where.jsonl",
    "grade occurrences run --pattern 2 --to onnx --limit 5 --values --out cut-out",
    "grade occurrences my-models --pattern 'Conv* -> Relu'",
    panel=PANEL,
)
def occurrences(settings: OccurrencesSettings, output: OutputSettings) -> None:
    """List where a pattern of a run, or one of your own, occurs: graph, names of nodes, tensors that enter and leave.

    With --to onnx each occurrence is cut out of its model file, as a model with its attributes and shapes.
    """
    from grade.export.occurrences import SUFFIXES, occurrences_of

    found = occurrences_of(settings.run, settings.pattern, settings.limit, induced=not settings.non_induced)
    written = []
    if settings.to is not None or settings.out is not None:
        to = settings.to or "jsonl"
        number = f"-{settings.pattern}" * settings.pattern.isdecimal()
        out = settings.out or Path(f"occurrences{number}{SUFFIXES.get(to, '')}")
        written = found.write(to, out, settings.values)
    rows = [] if written else list(found)
    data = {
        "run": str(settings.run),
        "pattern": found.what,
        "occurrences": len(found),
        "complete": found.complete,
        "files": [str(file) for file in written],
        "list": [asdict(row) for row in rows],
        "notes": found.notes,
    }

    def lines() -> Iterator[str]:
        limited = not found.complete and len(found) == settings.limit
        more = f"; there are more, raise --limit ({settings.limit:,})" * limited
        yield f"{found.what}: {counted(len(found), 'occurrence')}{more}"
        yield from map(str, written)
        for row in rows:
            yield f"{row.graph}: {', '.join(row.nodes)}"
            if row.inputs is not None and row.outputs is not None:
                yield f"    {', '.join(row.inputs) or 'nothing'} -> {', '.join(row.outputs) or 'nothing'}"
        yield from found.notes

    show(output, data, lines)

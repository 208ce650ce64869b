"""``grade report`` and ``grade export``: pages on runs, and patterns for use elsewhere."""

from pathlib import Path

from grade.cli.app import app
from grade.errors import InputError
from grade.settings import ExportSettings, OutputSettings, ReportSettings
from grade.terminal import command, show


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

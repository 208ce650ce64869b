"""``grade time``: latencies of patterns and blocks."""

from grade.cli.app import app
from grade.settings import OutputSettings, TimeSettings
from grade.terminal import command, progress_bar, show

PANEL = "Look at a run"  # of the help


@command(
    app,
    "grade time run --pattern 1",
    "grade time run --pattern 3 --strategies eager,operators,hand,compiled --threads 1 --json",
    "grade time run --pattern 1 --pattern-only --shape 8x64x56x56 --device cuda",
    "grade time run --pattern 1 --costs costs.json",
    called="time",
    panel=PANEL,
)
def time_of(settings: TimeSettings, output: OutputSettings) -> None:
    """Measure how long a pattern takes: operator by operator, fused by hand, compiled as one, by other runtimes.

    The pattern is cut out of a model of the set where one is at hand. All strategies must compute the same before they
    are timed; one that is not available is named and left out. 'grade report' then shows the measurements.
    """
    from grade.report.latency_tables import latency_lines
    from grade.timing.latencies import time_pattern

    with progress_bar("time") as progress:
        timed = time_pattern(settings, progress)
    show(output, timed.data(), lambda: latency_lines(timed.data()))

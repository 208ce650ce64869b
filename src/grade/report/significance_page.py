"""A test against a null model as one HTML page: volcano plot, significance profile, and a table to sort."""

import math
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from grade import __version__
from grade.files import whole_file
from grade.report.axes import HEIGHT, MARGIN, WIDTH, Scale, picture, ticks
from grade.report.drawing import svg
from grade.report.rendering import render
from grade.significance import Significance
from grade.significance.ensemble import LEVEL

ROWS = 300  # patterns in the table, the most significant first
POINTS = 4000  # in the volcano plot
PROFILE = 80  # patterns in the profile


def write_significance_page(result: Significance, out: Path) -> int:
    """Write the page, whole or not at all; returns the number of patterns in its table."""
    test = shown_test(result)
    text = render(
        "significance.html",
        data={},
        program_file="significance.js",
        title=f"Motifs of {result.set} against the null model '{result.null.name}'",
        facts=result.facts(),
        test=test,
        version=__version__,
    )
    with whole_file(out) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")
    return len(test["rows"])


def shown_test(
    result: Significance, prefix: str = "row", motifs: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """A test as the templates show it. Names of its rows begin with ``prefix``; ``motifs``: key -> number in a run."""
    shown = result.order[:ROWS]
    shown = shown[result.scores.tested[shown]]
    return {
        "name": f"k = {result.k}, null model {result.null.name}",
        "facts": result.facts(),
        "prefix": prefix,
        "level": LEVEL,
        "volcano": Markup(volcano(result, prefix)),
        "profile": Markup(profile(result, prefix)),
        "profile_size": min(int(result.scores.tested.sum()), PROFILE),
        "rows": [table_row(result, row, motifs or {}) for row in shown.tolist()],
    }


def table_row(result: Significance, row: int, motifs: Mapping[str, int]) -> dict[str, Any]:
    """One pattern as the template shows it: texts, and the numbers to sort by."""
    scores = result.scores
    numbers = {
        "observed": (scores.observed[row], f"{scores.observed[row]:,.0f}"),
        "mean": (scores.mean[row], f"{scores.mean[row]:,.1f}"),
        "deviation": (scores.deviation[row], f"{scores.deviation[row]:,.1f}"),
        "ratio": (scores.log_ratio[row], f"{scores.log_ratio[row]:+.2f}"),
        "z": (scores.z[row], f"{scores.z[row]:+.1f}"),
        "q": (scores.q[row], f"{scores.q[row]:.2g}"),
        "share": (result.concentration[row], f"{100 * result.concentration[row]:.3f}"),
    }
    return {
        "row": row,
        "picture": Markup(svg(result.patterns[row])),  # its texts are escaped
        "text": str(result.patterns[row]),
        "motif": motifs.get(result.patterns[row].key),
        "kind": kind_of(result, row),
        "numbers": [(sort_key(float(value)), text) for value, text in numbers.values()],
    }


def sort_key(value: float) -> str:
    """A number that a program can compare, infinite ones included."""
    if math.isnan(value):
        return "0"
    return repr(max(min(value, 1e300), -1e300))


def kind_of(result: Significance, row: int) -> str:
    if not result.scores.q[row] < LEVEL:
        return "neither"
    return "over" if result.scores.over[row] else "under"


def volcano(result: Significance, prefix: str) -> str:
    """-log10 q of all patterns tested against the base-2 logarithm of observed to expected."""
    rows = result.order[result.scores.tested[result.order]][:POINTS]
    x, y = result.scores.log_ratio[rows], -np.log10(result.scores.q[rows])
    reach = max(float(np.abs(x).max(initial=0)), 1.0) * 1.05
    top = max(float(y.max(initial=0)), -math.log10(LEVEL)) * 1.08
    across = Scale(-reach, reach, MARGIN, WIDTH - 12)
    up = Scale(0, top, HEIGHT - MARGIN, 12)
    marks = [
        f'<a href="#{prefix}-{row}"><circle cx="{across(a):.1f}" cy="{up(b):.1f}" r="3.5"'
        f' class="{kind_of(result, row)}">'
        f"<title>{escape(str(result.patterns[row]))}: {result.scores.observed[row]:,.0f} observed,"
        f" {result.scores.mean[row]:,.1f} expected, q {result.scores.q[row]:.2g}</title></circle></a>"
        for row, a, b in zip(reversed(rows.tolist()), reversed(x.tolist()), reversed(y.tolist()), strict=True)
    ]
    line = up(-math.log10(LEVEL))
    marks.insert(0, f'<line x1="{MARGIN}" x2="{WIDTH - 12}" y1="{line:.1f}" y2="{line:.1f}" class="level"/>')
    axes = [*ticks(-reach, reach, across, horizontal=True), *ticks(0, top, up, horizontal=False)]
    return picture(
        [*axes, *marks],
        "log2 (observed + 1) / (expected + 1)",
        "-log10 q",
        "Volcano plot of all patterns tested",
    )


def profile(result: Significance, prefix: str) -> str:
    """Scaled z-scores of the most significant patterns, in the fixed order of the pattern table."""
    values = result.scores.profile
    rows = np.flatnonzero(result.scores.tested)
    rows = np.sort(rows[np.argsort(-np.abs(values[rows]), kind="stable")[:PROFILE]])
    reach = max(float(np.abs(values[rows]).max(initial=0)), 0.1) * 1.1
    across = Scale(-0.5, max(len(rows) - 0.5, 0.5), MARGIN, WIDTH - 12)
    up = Scale(-reach, reach, HEIGHT - MARGIN, 12)
    points = [(across(i), up(float(values[row])), row) for i, row in enumerate(rows.tolist())]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    marks = [
        f'<line x1="{MARGIN}" x2="{WIDTH - 12}" y1="{up(0):.1f}" y2="{up(0):.1f}" class="zero"/>',
        f'<polyline points="{path}" class="curve"/>',
    ]
    marks += [
        f'<a href="#{prefix}-{row}"><circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="{kind_of(result, row)}">'
        f"<title>{escape(str(result.patterns[row]))}: z {result.scores.z[row]:+.1f}</title></circle></a>"
        for x, y, row in points
    ]
    axes = ticks(-reach, reach, up, horizontal=False)
    return picture(
        [*axes, *marks], "patterns, in a fixed order", "z, scaled to length 1", "Significance profile"
    )

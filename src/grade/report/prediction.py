"""Predicted against verified counts: how well the estimator of a run predicted the later counts."""

from dataclasses import dataclass
from html import escape

import numpy as np
from markupsafe import Markup
from scipy.stats import spearmanr

from grade.report.axes import HEIGHT, MARGIN, WIDTH, Scale, picture, ticks
from grade.runs import Catalogue, Motif
from grade.support import LOWER_BOUND

FEWEST = 3  # motifs of a size that have a rank correlation


@dataclass(frozen=True)
class Prediction:
    """The part of the page about the prediction."""

    plot: Markup
    rho: list[tuple[int, int, float]]  # (size, motifs, Spearman's rho)


def prediction(catalogue: Catalogue) -> Prediction | None:
    """The plot, and the rank correlation of each size; None for a run without an estimator.

    An estimator gives shares of all occurrences of a size. Here the predicted counts of a size are scaled to the sum of
    the verified ones, so that only proportions are compared.
    """
    by_size: dict[int, list[tuple[Motif, float]]] = {}
    for motif, share in zip(catalogue.motifs, catalogue.run.get("predicted") or [], strict=False):
        if share is not None and motif.support.occurrences_quality != LOWER_BOUND:
            by_size.setdefault(motif.size, []).append((motif, share))
    points: list[tuple[Motif, float, float]] = []
    rho = []
    for size, pairs in sorted(by_size.items()):
        counts = np.array([motif.support.occurrences for motif, _ in pairs], np.float64)
        shares = np.array([share for _, share in pairs])
        predicted = np.log10(counts.sum()) + (shares - np.logaddexp.reduce(shares)) / np.log(10)
        points += zip([motif for motif, _ in pairs], np.log10(counts), predicted, strict=True)
        if len(pairs) >= FEWEST and np.ptp(counts) > 0 and np.ptp(shares) > 0:
            rho.append((size, len(pairs), float(spearmanr(shares, counts).statistic)))
    return Prediction(scatter(points), rho) if points else None


def scatter(points: list[tuple[Motif, float, float]]) -> Markup:
    """Logarithms of predicted against verified counts; on the line they are equal."""
    values = [value for _, *pair in points for value in pair]
    low, high = min(values) - 0.2, max(values) + 0.2
    across, up = Scale(low, high, MARGIN, WIDTH - 12), Scale(low, high, HEIGHT - MARGIN, 12)
    marks = [*ticks(low, high, across, horizontal=True), *ticks(low, high, up, horizontal=False)]
    marks.append(
        f'<line x1="{across(low):.1f}" y1="{up(low):.1f}" x2="{across(high):.1f}" y2="{up(high):.1f}" class="level"/>'
    )
    marks += [
        f'<circle cx="{across(counted):.1f}" cy="{up(predicted):.1f}" r="4">'
        f"<title>#{motif.id} {escape(motif.text)}: {motif.support.occurrences:,} verified,"
        f" {10**predicted:,.0f} predicted</title></circle>"
        for motif, counted, predicted in points
    ]
    name = "Predicted against verified counts"
    return Markup(
        picture(marks, "log10 of the verified occurrences", "log10 of the predicted occurrences", name)
    )

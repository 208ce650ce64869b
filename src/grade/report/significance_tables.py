"""Patterns with their scores as JSON, and as text for a terminal."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from grade.significance import Significance
from grade.significance.ensemble import LEVEL


def number(value: float) -> float | None:
    """A number for JSON, which has neither NaN nor infinity."""
    return float(value) if np.isfinite(value) else None


def score_data(result: Significance, top: int) -> dict[str, Any]:
    """The result for JSON: how the scores were made, and the most significant patterns."""
    scores = result.scores
    rows = [
        {
            "key": result.patterns[row].key,
            "observed": number(scores.observed[row]),
            "mean": number(scores.mean[row]),
            "deviation": number(scores.deviation[row]),
            "z": number(scores.z[row]),
            "p_over": number(scores.p_over[row]),
            "p_under": number(scores.p_under[row]),
            "p": number(scores.p[row]),
            "q": number(scores.q[row]),
            "log_ratio": number(scores.log_ratio[row]),
            "concentration": number(result.concentration[row]),
            "null_concentration": number(result.null_concentration[row]),
        }
        for row in result.order[:top].tolist()
    ]
    facts = {
        name: number(value) if isinstance(value, float) else value for name, value in result.facts().items()
    }
    return {**facts, "top": rows}


def score_lines(result: Significance, top: int) -> Iterator[str]:
    """A heading, the diagnostics of the chains, and one row for each pattern."""
    scores, mixing = result.scores, result.mixing
    yield (
        f"{result.set}: {int(scores.tested.sum()):,} patterns of {result.k} nodes tested against {result.draws:,} draws"
        f" of the null model '{result.null.name}', {result.seconds:.1f} s"
    )
    yield (
        f"{len(result.motifs):,} are over-represented and {len(result.anti_motifs):,} under-represented (q < {LEVEL});"
        f" counts are {'exact' if result.quality == 'exact' else 'estimates'}"
    )
    chain = f"{mixing.switches:,.0f} proposed switches for each edge"
    if result.acceptance is not None:
        chain += f", {100 * result.acceptance:.1f} % of them made"
    if mixing.autocorrelation is not None:
        chain += f"; autocorrelation times of counts: median {mixing.autocorrelation:.1f}, slowest {mixing.slowest:.1f}"
    yield chain
    if mixing.mixed is False:
        yield "the chain mixes slowly: p-values hold, but motifs may be missed and z-scores exaggerate"
    if result.least_q > LEVEL and not len(result.motifs) and not len(result.anti_motifs):
        yield (
            f"one pattern alone cannot fall below q = {result.least_q:.2g} with {result.draws:,} draws; raise `draws`"
            " or `least` to find single motifs"
        )
    rows = [
        (
            f"{scores.observed[row]:,.0f}",
            f"{scores.mean[row]:,.1f}",
            f"{scores.deviation[row]:,.1f}",
            f"{scores.z[row]:+.1f}",
            f"{scores.q[row]:.2g}",
            f"{100 * result.concentration[row]:.2f}",
            str(result.patterns[row]),
        )
        for row in result.order[:top].tolist()
    ]
    head = ("observed", "null mean", "+-", "z", "q", "share %", "pattern")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head) - 1)]
    for row in [head, *rows] if rows else []:
        yield "  ".join([*(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]])

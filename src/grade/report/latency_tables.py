"""Latencies as lines of text, from the plain data that `grade time` keeps."""

from collections.abc import Iterator
from typing import Any

from grade.costs.saving import with_unit
from grade.text import table


def latency_lines(data: dict[str, Any]) -> Iterator[str]:
    """A heading, one row for each strategy, and the strategies that could not be used."""
    work, machine = data["work"], data["machine"]
    yield f"{data['text']}"
    threads = f"{data['threads']} thread{'s' * (data['threads'] != 1)}"
    yield f"{data['about']}; {data['device']}, {threads}"
    rows, missing = [], []
    base = next((row["seconds"] for row in data["latencies"] if row["seconds"]), None)
    for row in data["latencies"]:
        if row["seconds"] is None:
            missing.append(f"{row['strategy']}: left out, {row['reason']}")
            continue
        spread = f"{1e3 * row['low']:.3f} to {1e3 * row['high']:.3f}"
        rows.append(
            (
                row["strategy"],
                f"{1e3 * row['seconds']:.3f}",
                spread,
                f"{base / row['seconds']:.2f}",
                f"{100 * row['roofline']:.0f}",
                f"{row['first_seconds']:.1f}",
                row["title"] + (f" ({row['detail']})" if row["detail"] else ""),
            )
        )
    head = ("strategy", "ms", "quartiles", "times", "roofline %", "first run s", "")
    if rows:
        yield from table(head, rows, left=["strategy"])
    yield from missing
    products = f"{work['products'] / 1e9:.3g} G operations of products, "
    yield (
        f"{products if work['products'] else ''}{with_unit(work['bytes_fused'], 'bytes')} in, out and weights;"
        f" operator by operator {with_unit(work['bytes_apart'], 'bytes')}"
    )
    yield (
        f"roofline: at least {1e3 * data['least_seconds']:.3f} ms at {machine['bandwidth'] / 1e9:.1f} GB/s of a copy of"
        f" as many bytes and {machine['rate'] / 1e9:,.0f} G operations/s of a large product, both measured"
    )
    if data["saved_seconds"] is not None:
        yield (
            f"fusing saves {with_unit(data['saved_seconds'], 'seconds')} an occurrence, measured ({data['apart']} less"
            f" {data['fused']}, one layout)"
        )
    saving = data["expected_saving"]
    if saving is not None:
        yield (
            f"expected saving: {with_unit(saving['per_occurrence'], saving['unit'])} for each of"
            f" {saving['occurrences']:,} disjoint occurrences, from {saving['basis']}"
        )

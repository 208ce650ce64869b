"""Axes of the plots on pages, as SVG: scales, round values along them, names."""

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, MARGIN = 640, 380, 48


class Scale:
    """Values to places on the page, linearly."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.start, self.factor = low, start, (end - start) / (high - low)

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) * self.factor


def ticks(low: float, high: float, place: Scale, horizontal: bool) -> list[str]:
    """Round values along an axis, each with a faint line."""
    step = 10 ** math.floor(math.log10((high - low) / 2))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
    marks = []
    for number in range(math.ceil(low / step), math.floor(high / step) + 1):
        at, text = place(number * step), f"{number * step:g}"
        if horizontal:
            marks.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="12" y2="{HEIGHT - MARGIN}" class="grid"/>')
            marks.append(f'<text x="{at:.1f}" y="{HEIGHT - MARGIN + 16}" text-anchor="middle">{text}</text>')
        else:
            marks.append(f'<line x1="{MARGIN}" x2="{WIDTH - 12}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>')
            marks.append(f'<text x="{MARGIN - 6}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
    return marks


def picture(marks: Sequence[str], below: str, beside: str, name: str) -> str:
    middle = (HEIGHT - MARGIN + 12) / 2
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(name)}" class="plot">{"".join(marks)}'
        f'<text x="{(WIDTH + MARGIN) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(below)}</text>'
        f'<text transform="translate(12 {middle}) rotate(-90)" text-anchor="middle">{escape(beside)}</text></svg>'
    )

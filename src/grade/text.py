"""Text for terminals: escaped names, and tables."""

import re
import shutil
import sys
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

ESCAPED = (
    "Cc",
    "Cf",
    "Cs",
    "Zl",
    "Zp",
)  # controls, direction marks and the like, lone surrogates, line separators
NARROWEST = 24  # the last column of a table that is still folded to the width of a terminal
BOUND = "\ue000"  # stands for a space at which a line does not break


def printable(text: str) -> str:
    r"""The text with control characters and line breaks escaped.

    >>> print(printable("conv\x1b[31m\nrelu"))
    conv\x1b[31m\nrelu
    """
    if text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode("ascii") if unicodedata.category(c) in ESCAPED else c for c in text
    )


def counted(number: int, word: str) -> str:
    """A number of things, in the singular or the plural.

    >>> counted(1, "graph"), counted(2000, "node")
    ('1 graph', '2,000 nodes')
    """
    return f"{number:,} {word}{'s' * (number != 1)}"


def spans(numbers: Collection[int]) -> str:
    """Whole numbers as text, consecutive ones as a range.

    >>> spans({3, 4, 5, 8}), spans([7]), spans([2, 3])
    ('3 to 5, 8', '7', '2, 3')
    """
    ordered = sorted(set(numbers))
    starts = [n for n in ordered if n - 1 not in ordered]
    ends = [n for n in ordered if n + 1 not in ordered]
    pairs = zip(starts, ends, strict=True)
    return ", ".join(f"{a} to {b}" if b - a > 1 else ", ".join(map(str, range(a, b + 1))) for a, b in pairs)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[str] = (),
    width: int | None = None,
) -> Iterator[str]:
    """The lines of a table: columns to the right, those named in ``left`` and the last one to the left.

    The last column is folded to ``width`` characters in all, by default to the width of the terminal if there is one.

    >>> for line in table(["rank", "pattern"], [["1", "a -> b"], ["10", "b -> c"]]): print(line)
    rank  pattern
       1  a -> b
      10  b -> c
    >>> for line in table(["rank", "pattern"], [["1", "first -> second -> third -> fourth"]], width=30): print(line)
    rank  pattern
       1  first -> second -> third
          -> fourth
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if width is None and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    cells = [[printable(cell) for cell in row] for row in rows]
    others = sum(2 + max(len(line[i]) for line in [head, *cells]) for i in range(len(head) - 1))
    folded = width is not None and width - others >= NARROWEST
    grid = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    for number, name in enumerate(head):
        last = number == len(head) - 1
        side: Literal["left", "right"] = "left" if last or name in left else "right"
        grid.add_column(Text(name), justify=side, no_wrap=not (folded and last))
    for row in cells:
        # An arrow stays with the type that it leads to.
        texts = [*row[:-1], re.sub(r"(-\S*>|\(\d+) ", rf"\1{BOUND}", row[-1])] if folded else row
        grid.add_row(*map(Text, texts))
    size = width if folded and width is not None else 100_000
    console = Console(width=size, color_system=None, markup=False, highlight=False)
    with console.capture() as capture:
        console.print(grid)
    yield from (line.replace(BOUND, " ").rstrip() for line in capture.get().splitlines())

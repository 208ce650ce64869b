"""Text for terminals: escaped names, and tables."""

import unicodedata
from collections.abc import Iterator, Sequence

ESCAPED = (
    "Cc",
    "Cf",
    "Cs",
    "Zl",
    "Zp",
)  # controls, direction marks and the like, lone surrogates, line separators


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


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> Iterator[str]:
    """The lines of a table: columns to the right, those named in ``left`` and the last one to the left.

    >>> for line in table(["rank", "pattern"], [["1", "a -> b"], ["10", "b -> c"]]): print(line)
    rank  pattern
       1  a -> b
      10  b -> c
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    for number, name in enumerate(head):
        last = number == len(head) - 1
        grid.add_column(Text(name), justify="left" if last or name in left else "right", no_wrap=True)
    for row in rows:
        grid.add_row(*(Text(printable(cell)) for cell in row))
    console = Console(width=100_000, color_system=None, markup=False, highlight=False)
    with console.capture() as capture:
        console.print(grid)
    yield from (line.rstrip() for line in capture.get().splitlines())

"""Which weight of a module is which constant of a model, as source: one entry for all layers of a loop."""

import re
from collections.abc import Sequence

WIDTH = 100  # of a line that can be broken
FEWEST = 3  # layers that are written as one entry
Row = tuple[str, str]


def table(name: str, rows: Sequence[Row]) -> list[str]:
    """A dictionary of these keys and values.

    >>> rows = [(f"layers.{i}.bias", f"h.{i + 1}.b") for i in range(3)]
    >>> print("\\n".join(table("NAMES", [("weight", "w"), *rows])))
    NAMES = {
        "weight": "w",
        **{f"layers.{i}.bias": f"h.{i + 1}.b" for i in range(3)},
    }
    """
    if not rows:
        return [f"{name}: dict[str, str] = {{}}"]
    layers: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        layers.setdefault(parted(row[0]), []).append(row)
    lines = []
    for key, _ in rows:
        same = layers.pop(parted(key), [])
        entry = one_entry(same)
        lines += entry or [f"    {quoted(key)}: {quoted(value)}," for key, value in same]
    return [f"{name} = {{", *lines, "}"]


def parted(key: str) -> tuple[str, str]:
    """What is before and after the first number between dots; the key itself where there is none.

    >>> parted("layers.12.norm.weight"), parted("weight")
    (('layers.', '.norm.weight'), ('weight', ''))
    """
    found = re.match(r"([^.]*\.)\d+(\..*)$", key)
    return (found[1], found[2]) if found else (key, "")


def one_entry(rows: Sequence[Row]) -> list[str]:
    """The entry of layers 0, 1, 2 ... whose values differ in a number that goes along; empty for others."""
    if len(rows) < FEWEST:
        return []
    before, after = parted(rows[0][0])
    if [key for key, _ in rows] != [f"{before}{i}{after}" for i in range(len(rows))]:
        return []
    pieces = [re.split(r"(\d+)", value) for _, value in rows]
    text = ""
    if len({len(each) for each in pieces}) > 1:
        return []
    for column in zip(*pieces, strict=True):
        if len(set(column)) == 1:
            text += braced(column[0])
            continue
        first = int(column[0]) if column[0].isdigit() else 0
        if list(column) != [str(first + i) for i in range(len(rows))]:
            return []
        text += f"{{i + {first}}}" if first else "{i}"
    given = f"f{quoted(f'{braced(before)}{{i}}{braced(after)}')}"
    made = f"f{quoted(text)}" if "{" in text else quoted(text)
    loop = f"for i in range({len(rows)})"
    line = f"    **{{{given}: {made} {loop}}},"
    if len(line) <= WIDTH:
        return [line]
    return ["    **{", f"        {given}: {made}", f"        {loop}", "    },"]


def braced(text: str) -> str:
    """A text within an f-string."""
    return text.replace("{", "{{").replace("}", "}}")


def quoted(text: str) -> str:
    """A text as source, in ASCII.

    >>> print(quoted('a "b"'), quoted("\\u00e9\\n"))
    "a \\"b\\"" "\\xe9\\n"
    """
    return '"' + text.encode("unicode_escape").decode().replace('"', '\\"') + '"'

"""ONNX's Slice, GatherElements and lists of axes as Python writes them."""

import re
from collections.abc import Sequence

from grade.export.operator_call import Call

FAR = 2**31 - 1  # ends from here on mean the end of the axis
MOST_COLONS = 5  # axes before the one that an index cuts


def single(numbers: str) -> str:
    """The number of a list of one; empty for others.

    >>> single("[-1]"), single("[0, 1]")
    ('-1', '')
    """
    one = re.fullmatch(r"\[(-?\d+)\]", numbers)
    return one[1] if one else ""


def slice_(c: Call) -> str:
    if c.opset < 10:
        starts, ends = list(c.attributes["starts"]), list(c.attributes["ends"])
        axes = list(c.get("axes", range(len(starts))))
        index = indices(starts, ends, axes, [1] * len(starts))
        return f"{c[0]}[{index}]" if index else c.helper("slice_axes", c[0], starts, ends, axes)
    known = [None if (value := c.constant(i)) is None else value.ravel().tolist() for i in range(1, 5)]
    if all(found is not None or c.optional(i) is None for i, found in enumerate(known, 1)):
        starts, ends = known[0] or [], known[1] or []
        index = indices(starts, ends, known[2] or range(len(starts)), known[3] or [1] * len(starts))
        if index:
            return f"{c[0]}[{index}]"
    last = 4 if c.optional(4) is not None else 3 if c.optional(3) is not None else 2
    given = [c.ints(i) if c.optional(i) is not None else "None" for i in range(1, last + 1)]
    return c.helper("slice_axes", c[0], *given)


def gather_elements(c: Call) -> str:
    axis = c.get("axis", 0)
    return f"torch.gather({c[0]}, {axis}, {c[1]}.long() % {c[0]}.shape[{axis}])"  # it may count from the end


def indices(starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]) -> str:
    """An index that takes these ranges of these axes; empty where Python has none.

    >>> indices([1], [3], [2], [1]), indices([0, 1], [2**63 - 1, -1], [1, 0], [2, 1]), indices([5], [0], [0], [-1])
    (':, :, 1:3', '1:-1, ::2', '')
    """
    repeated = len(set(axes)) < len(axes)
    if not starts or repeated or min(steps) < 1 or min(axes) < 0 or max(axes) > MOST_COLONS:
        return ""
    parts = [":"] * (max(axes) + 1)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        last = "" if end >= FAR else str(end)
        parts[axis] = f"{start or ''}:{last}" + (f":{step}" if step > 1 else "")
    return ", ".join(parts)

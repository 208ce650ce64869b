"""Constructors of module classes: the line that makes each member. Numbers that differ between occurrences become
arguments.
"""

from collections.abc import Mapping

import numpy as np

from grade.export.module_classes import SIZE, Class, Layer, Member, Own, Setting
from grade.export.module_layers import is_usual
from grade.export.module_values import FLOATS, KnownValues

HINTS = {
    "nn.Linear": ("features", "hidden"),
    "nn.LayerNorm": ("features",),
    "nn.Embedding": ("entries", "features"),
}
CHANNELS = ("channels", "width")


def occurrence(inner: Class, begin: int) -> int:
    """The number of the occurrence of a class that begins at this place."""
    return int(np.searchsorted(inner.occurrences, begin))


def setup_line(known: KnownValues, classes: Mapping[int, Class], made: Class, member: Member) -> str:
    if isinstance(member, Setting):
        return f"self.{member.name} = {member.text}"
    if isinstance(member, Own):
        return own_line(known, made, member)
    if isinstance(member, Layer):
        return f"self.{member.name} = {layer_text(made, member)}"
    inner = classes[member.symbol]
    calls = []
    for begin in member.begins:
        at = [occurrence(inner, start + begin) for start in made.occurrences]
        given = []
        for argument in inner.sorted_arguments():
            text = made.argument(argument.group, argument.name, [argument.values[i] for i in at])
            given.append(text if argument.group == SIZE else f"{argument.name}={text}")
        calls.append(f"{inner.name}({', '.join(given)})")
    if len(calls) == 1:
        return f"self.{member.name} = {calls[0]}"
    if len(set(calls)) == 1:
        return f"self.{member.name} = nn.ModuleList({calls[0]} for _ in range({len(calls)}))"
    return f"self.{member.name} = nn.ModuleList([{', '.join(calls)}])"


def layer_text(made: Class, layer: Layer) -> str:
    specs = layer.specs
    hints = HINTS.get(specs[0].name, CHANNELS)
    given = [
        made.argument(SIZE, hints[place], [spec.sizes[place] for spec in specs])
        for place in range(len(specs[0].sizes))
    ]
    for option in specs[0].options:
        if all(is_usual(spec, option) for spec in specs):
            continue
        group, hint = (SIZE, "groups") if option == "groups" else (option, option.removesuffix("_size"))
        text = made.argument(group, hint, [spec.options[option] for spec in specs])
        given.append(text if option == "kernel_size" else f"{option}={text}")
    return f"{specs[0].name}({', '.join(given)})"


def own_line(known: KnownValues, made: Class, own: Own) -> str:
    shapes = [known.shape(value) for value in own.values]
    if len({len(shape) for shape in shapes}) > 1:
        text = made.argument("shape", f"{own.name}_shape", shapes)
    else:
        columns = zip(*shapes, strict=True)
        text = f"[{', '.join(made.argument(SIZE, 'size', list(column)) for column in columns)}]"
    kind = known.dtype(own.values[0])
    if kind in FLOATS:
        more = "" if kind == "torch.float32" else f", {kind}"
        return f"self.{own.name} = weight({text}{more})"
    return f'self.register_buffer("{own.name}", torch.zeros({text}, dtype={kind}))'

"""Blocks as functions: their inputs, outputs, and constants common to all occurrences.

An input of an operator in a block is internal where the block computes it; a constant where it has the same content in
every occurrence; else an input of the function. Inputs that are one value in every occurrence are one input. Sizes of
convolutions and pools that differ between occurrences are attributes of the function, in the same way.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from grade.blocks.finding import Blocks, Unit
from grade.blocks.onnx_graph import OnnxGraph, import_onnx, open_attributes
from grade.blocks.rules import body, tokens

Slot = tuple[int, int]  # place in the block, input of the operator there
Size = tuple[int, str]  # place in the block, attribute of the operator there


@dataclass(frozen=True)
class Function:
    """A block as a function."""

    symbol: int
    name: str
    units: list[Unit]  # its body; `begin` counts from the block's first place
    params: list[Slot]  # one slot for each input
    param_names: list[str]
    param_of: dict[Slot, int]  # slots that read an input
    constants: dict[Slot, str]  # slots that read the same constant in all occurrences -> a value that is it
    inner: dict[Slot, Slot]  # slots that read an operator of the block -> (its place, its output)
    outputs: list[int]  # outputs of the root
    sizes: list[Size]  # one for each attribute
    size_names: list[str]
    size_of: dict[Size, int]  # attributes of operators that are an attribute of the function


class FunctionMaker:
    """Makes the functions of the blocks of a model."""

    def __init__(self, onnx_graph: OnnxGraph, found: Blocks, flat: bool) -> None:
        self.onnx_graph, self.found, self.flat = onnx_graph, found, flat
        self.made: dict[int, Function] = {}
        self.read = {text for node in onnx_graph.nodes for text in node.input} | onnx_graph.wanted
        self.examples: dict[int, int] = {}  # by type
        for number, kind in enumerate(found.grammar.wiring.types.tolist()):
            self.examples.setdefault(kind, number)

    def function(self, symbol: int) -> Function:
        if symbol not in self.made:
            self.made[symbol] = self.make(symbol)
        return self.made[symbol]

    def node(self, begin: int, place: int) -> int:
        return int(self.found.grammar.order[begin + place])

    def top(self) -> list[Unit]:
        """The units of the graph, each repetition as its copies, in the order of the file."""
        found = self.found
        units = [
            (part, int(found.grammar.offsets[unit]) + at)
            for unit, symbol in enumerate(found.grammar.labels.tolist())
            for part, at in tokens(found.grammar, found.kept, symbol)
        ]
        return self.in_order(units, 0)

    def body(self, symbol: int) -> list[Unit]:
        """The units of a block; with ``flat`` all its operators."""
        grammar = self.found.grammar
        parts = body(grammar, self.found.kept, symbol)
        if self.flat:
            leaves = [(int(self.type_at(symbol, place)), place) for place in range(grammar.sizes[symbol])]
            return self.in_order(leaves, self.first(symbol))
        return self.in_order(parts, self.first(symbol))

    def type_at(self, symbol: int, place: int) -> int:
        return int(self.found.grammar.wiring.types[self.node(self.first(symbol), place)])

    def first(self, symbol: int) -> int:
        return int(self.found.places.of(symbol)[0])

    def in_order(self, parts: list[tuple[int, int]], start: int) -> list[Unit]:
        """Copies one by one, sorted by where the file computes their roots: producers come before consumers."""
        grammar = self.found.grammar
        opened: list[tuple[int, int]] = []
        waiting = list(reversed(parts))
        while waiting:
            symbol, begin = waiting.pop()
            copies, base = int(grammar.copies[symbol]), int(grammar.first[symbol])
            if copies:
                size = int(grammar.sizes[base])
                inner = tokens(grammar, self.found.kept, base)
                parts_of = list(inner)
                waiting += [
                    (part, begin + i * size + at)
                    for i in reversed(range(copies))
                    for part, at in reversed(parts_of)
                ]
            else:
                opened.append((symbol, begin))
        opened.sort(key=lambda unit: self.node(start + unit[1], int(grammar.roots[unit[0]])))
        return [Unit(symbol, symbol, 1, begin) for symbol, begin in opened]

    def make(self, symbol: int) -> Function:
        found, grammar = self.found, self.found.grammar
        units = self.body(symbol)
        begins = found.places.of(symbol).tolist()
        inside = {self.node(begins[0], place): place for place in range(grammar.sizes[symbol])}
        inner: dict[Slot, Slot] = {}
        constants: dict[Slot, str] = {}
        groups: dict[tuple[str, ...], list[Slot]] = {}
        for unit in units:
            for slot in self.slots_of(unit):
                values = [self.value(begin, slot) for begin in begins]
                if not values[0]:
                    continue
                producer, place = self.onnx_graph.producer.get(values[0], (-1, -1))
                if producer in inside:
                    inner[slot] = (inside[producer], place)
                elif self.same_constant(values):
                    constants[slot] = values[0]
                else:
                    groups.setdefault(tuple(values), []).append(slot)
        outputs: set[int] = set()
        for begin in begins:
            root = self.onnx_graph.nodes[self.node(begin, int(grammar.roots[symbol]))]
            outputs.update(i for i, text in enumerate(root.output) if text and text in self.read)
        root = self.onnx_graph.nodes[self.node(begins[0], int(grammar.roots[symbol]))]
        if not outputs:  # nothing reads it, but it is there
            outputs = {next(i for i, text in enumerate(root.output) if text)}
        sizes: dict[tuple[bytes, ...], list[Size]] = {}
        for size in (each for unit in units for each in self.sizes_of(unit)):
            given = tuple(
                self.attribute(begin, size).SerializeToString(deterministic=True) for begin in begins
            )
            if len(set(given)) > 1:
                sizes.setdefault(given, []).append(size)
        return Function(
            symbol,
            found.name_of(symbol),
            units,
            [slots[0] for slots in groups.values()],
            distinct([self.param_name(values, slots[0], begins) for values, slots in groups.items()]),
            {slot: number for number, slots in enumerate(groups.values()) for slot in slots},
            constants,
            inner,
            sorted(outputs),
            [group[0] for group in sizes.values()],
            distinct([group[0][1] for group in sizes.values()]),
            {size: number for number, group in enumerate(sizes.values()) for size in group},
        )

    def slots_of(self, unit: Unit) -> Iterator[Slot]:
        """The inputs that a unit of a body reads: all of an operator, those of a function."""
        if unit.symbol < self.found.grammar.types:
            # Operators of one type have the same number of inputs.
            inputs = len(self.onnx_graph.nodes[self.examples[unit.symbol]].input)
            yield from ((unit.begin, slot) for slot in range(inputs))
        else:
            for place, slot in self.function(unit.symbol).params:
                yield unit.begin + place, slot

    def value(self, begin: int, slot: Slot) -> str:
        """The value that a slot reads in the occurrence that begins here."""
        place, number = slot
        return str(self.onnx_graph.nodes[self.node(begin, place)].input[number])

    def param_name(self, values: tuple[str, ...], slot: Slot, begins: Sequence[int]) -> str:
        """The common part of what an input is; else its role: the operand of an operator, or x if it is computed."""
        name = common_name(values)
        if name:
            return name
        if any(value in self.onnx_graph.producer for value in values):
            return "x"
        place, number = slot
        node = self.onnx_graph.nodes[self.node(begins[0], place)]
        return operand_name(node, number)

    def sizes_of(self, unit: Unit) -> Iterator[Size]:
        """The attributes that may differ between occurrences of a unit of a body."""
        if unit.symbol < self.found.grammar.types:
            names = open_attributes(self.onnx_graph.nodes[self.examples[unit.symbol]])
            yield from ((unit.begin, name) for name in names)
        else:
            yield from ((unit.begin + place, name) for place, name in self.function(unit.symbol).sizes)

    def attribute(self, begin: int, size: Size) -> Any:
        """The attribute in the occurrence that begins here."""
        place, name = size
        return next(a for a in self.onnx_graph.nodes[self.node(begin, place)].attribute if a.name == name)

    def same_constant(self, values: list[str]) -> bool:
        digests = {self.onnx_graph.constants.get(value) for value in values}
        return len(digests) == 1 and None not in digests


def operand_name(node: Any, number: int) -> str:
    """An operand by its name in the definition of the operator, as in ``Conv.W``."""
    onnx = import_onnx()
    try:
        inputs = onnx.defs.get_schema(node.op_type, domain=node.domain).inputs
    except onnx.defs.SchemaError:
        inputs = []
    role = inputs[min(number, len(inputs) - 1)].name if inputs else f"input{number}"
    return f"{node.op_type}.{role}"


def common_name(values: Sequence[str]) -> str:
    """A name for several values, from their common part; empty where there is none that says anything.

    >>> common_name(["layer.0.weight", "layer.1.weight"]), common_name(["/add/out"])
    ('layer.weight', 'add.out')
    >>> common_name(["onnx::Conv_1", "onnx::Conv_2"])
    ''
    """
    parts = [re.findall(r"[^./:]+", value) for value in values]
    if len({len(row) for row in parts}) > 1:
        return ""
    kept = [column[0] for column in zip(*parts, strict=True) if len(set(column)) == 1]
    return "" if kept == ["onnx"] else ".".join(kept)


def distinct(names: list[str]) -> list[str]:
    """The names, made unique by numbers.

    >>> distinct(["a", "b", "a", "a_2"])
    ['a', 'b', 'a_2', 'a_2_2']
    """
    taken: set[str] = set()
    result = []
    for name in names:
        new, number = name, 2
        while new in taken:
            new, number = f"{name}_{number}", number + 1
        taken.add(new)
        result.append(new)
    return result

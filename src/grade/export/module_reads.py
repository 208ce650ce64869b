"""The values that operators and calls of a module class read and compute, in all occurrences of the class at once."""

from collections.abc import Sequence

from grade.blocks.finding import Unit
from grade.blocks.functions import FunctionMaker, Slot
from grade.export.module_classes import Class
from grade.export.module_values import KnownValues

Value = tuple[
    str, ...
]  # a value that a class reads or computes: one of the model for each of its occurrences


class Reads:
    """Of the classes of one model."""

    def __init__(self, maker: FunctionMaker, known: KnownValues) -> None:
        self.maker, self.known = maker, known

    def owned(self, symbol: int, group: int) -> bool:
        """Whether an input of a block is a weight in every occurrence: then the block's class has it."""
        slot = self.maker.function(symbol).params[group]
        begins = self.maker.found.places.of(symbol).tolist()
        return all(self.known.is_weight(self.maker.value(begin, slot)) for begin in begins)

    def readers(self, made: Class, units: Sequence[Unit], outputs: Sequence[Value]) -> dict[Value, int]:
        """For each value, the number of operands of these units that it is."""
        readers: dict[Value, int] = dict.fromkeys(outputs, 2)
        for unit in units:
            for slot in self.maker.slots_of(unit):
                value = self.values(made, slot)
                readers[value] = readers.get(value, 0) + 1
        return readers

    def chain(self, made: Class, units: Sequence[Unit], readers: dict[Value, int]) -> int:
        """How many calls of one block follow on each other, each reading the one before and all else the same."""
        symbol = units[0].symbol
        if len(self.maker.function(symbol).outputs) != 1:
            return 1
        length, at = 1, None  # `at`: the arguments that the one before is
        while length < len(units) and units[length].symbol == symbol:
            result = self.results(made, units[length - 1])[0]
            before, now = self.arguments(made, units[length - 1]), self.arguments(made, units[length])
            places = [i for i, value in enumerate(now) if value == result]
            if not places or readers.get(result, 0) != self.uses(made, units[length], result):
                break
            if at not in (None, places) or len({before[i] for i in places}) > 1:
                break
            if any(a != b for i, (a, b) in enumerate(zip(before, now, strict=True)) if i not in places):
                break
            at = places
            length += 1
        return length

    def arguments(self, made: Class, unit: Unit) -> list[Value]:
        """The arguments of a block's call: all values that it reads except weights, which belong to its class."""
        params = self.maker.function(unit.symbol).params
        slots = [slot for group, slot in enumerate(params) if not self.owned(unit.symbol, group)]
        return [self.values(made, (unit.begin + place, number)) for place, number in slots]

    def uses(self, made: Class, unit: Unit, value: Value) -> int:
        return sum(self.values(made, slot) == value for slot in self.maker.slots_of(unit))

    def results(self, made: Class, unit: Unit) -> list[Value]:
        root = unit.begin + int(self.maker.found.grammar.roots[unit.symbol])
        return [self.computed(made, root, output) for output in self.maker.function(unit.symbol).outputs]

    def values(self, made: Class, slot: Slot) -> Value:
        """The values that a slot reads."""
        return tuple(self.maker.value(begin, slot) for begin in made.occurrences)

    def computed(self, made: Class, place: int, output: int) -> Value:
        """An output of the operator at a place."""
        return tuple(
            str(self.maker.onnx_graph.nodes[self.maker.node(begin, place)].output[output])
            for begin in made.occurrences
        )

"""Module classes while they are written: their layers, parameters and modules, their arguments, their statements."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from grade.export.module_layers import Literal, Spec
from grade.export.torch_helpers import HELPERS

RESERVED = {"torch", "nn", "F", "self", "weight", "layer", "placeholder", *HELPERS}
VARIABLES = {
    name: f"{name.rstrip('e')}ed" for name in ("reshape", "gather", "unsqueeze", "divide")
}  # helpers, too
SIZE = "size"  # the group of arguments that are numbers of channels or features
LINE = 80  # most characters of a statement that another one is put into


@dataclass
class Own:
    """A parameter of a class, with its value in each occurrence."""

    name: str
    values: tuple[str, ...]


@dataclass
class Layer:
    """A module of torch.nn in a class, with its weights in each occurrence."""

    name: str
    specs: list[Spec]
    values: dict[str, tuple[str, ...]]  # parameter -> value of the model in each occurrence


@dataclass
class Child:
    """A module in a module, or a list of them that follow each other."""

    name: str
    symbol: int
    begins: list[int]  # first places, one for each of the list


@dataclass
class Setting:
    """A number of a class that differs between occurrences."""

    name: str
    text: str  # how the constructor says it


Member = Own | Layer | Child | Setting


@dataclass
class Argument:
    """An argument of a constructor, with its value in each occurrence."""

    name: str
    group: str
    values: list[Any]

    def annotation(self) -> str:
        if any(isinstance(value, Literal) for value in self.values):
            return "torch.dtype" if self.group == "dtype" else "float"
        kinds = {type(value) for value in self.values}
        names = {bool: "bool", int: "int", tuple: "tuple[int, ...]", list: "list[int]"}
        return " | ".join(text for kind, text in names.items() if kind in kinds)


@dataclass
class Statement:
    """``targets = expression``, or lines that are taken as they are."""

    targets: list[str]
    expression: str
    note: str = ""
    lines: tuple[str, ...] = ()

    def source(self) -> list[str]:
        return list(self.lines) or [f"{', '.join(self.targets)} = {self.expression}{self.note}"]

    def uses(self, name: str) -> int:
        text = "\n".join(self.lines) or self.expression
        return len(re.findall(rf"(?<![\w.]){name}(?!\w)", text))


@dataclass
class Class:
    """A class while it is written."""

    symbol: int | None  # None for the model
    name: str
    occurrences: list[int]  # where each begins in the order of the grammar
    members: list[Member] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)  # of the constructor
    setup: list[str] = field(default_factory=list)  # the constructor's lines
    statements: list[Statement] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=lambda: set(RESERVED))
    attributes: set[str] = field(default_factory=set)

    def fresh(self, wanted: str, attribute: bool = False) -> str:
        taken = self.attributes if attribute else self.taken
        wanted = wanted if attribute else VARIABLES.get(wanted, wanted)
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}{number}"
        taken.add(name)
        return name

    def argument(self, group: str, wanted: str, values: Sequence[Any]) -> str:
        """The constructor's expression for a value: the value itself where it is always the same, else an argument."""
        if all(value == values[0] for value in values):
            return repr(values[0])
        for known in self.arguments:
            if known.group == group and known.values == list(values):
                return known.name
        taken = {known.name for known in self.arguments}
        base = wanted.rstrip("0123456789")
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}{number}"
        self.arguments.append(Argument(name, group, list(values)))
        return name

    def sorted_arguments(self) -> list[Argument]:
        """Numbers of channels and features first; the others are given by name."""
        return sorted(self.arguments, key=lambda argument: argument.group != SIZE)

    def forward(self) -> list[str]:
        """The lines of the forward pass. A function of the result before it takes it as it is computed."""
        joined: list[Statement] = []
        for statement in self.statements:
            before = joined[-1] if joined else None
            if before is not None and self.can_take(statement, before):
                name = before.targets[0]
                expression = statement.expression.replace(f"({name}", f"({before.expression}", 1)
                if len(expression) <= LINE:
                    joined[-1] = Statement(statement.targets, expression, statement.note)
                    continue
            joined.append(statement)
        last = joined[-1] if joined else None
        if last is not None and not last.lines and not last.note and last.targets == self.results:
            joined.pop()
            return [*(line for each in joined for line in each.source()), f"return {last.expression}"]
        return [*(line for each in joined for line in each.source()), f"return {', '.join(self.results)}"]

    def can_take(self, statement: Statement, before: Statement) -> bool:
        """Whether a statement is a function of the result before it, which nothing else reads."""
        if len(before.targets) != 1 or before.lines or before.note or statement.lines:
            return False
        name = before.targets[0]
        function = re.fullmatch(rf"(F|torch)\.\w+\({name}(, \w+=[^,()]*)*\)", statement.expression)
        everywhere = sum(each.uses(name) for each in self.statements) + self.results.count(name)
        return function is not None and everywhere == 1

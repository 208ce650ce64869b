"""Module classes while they are written: their parameters, the modules inside, their statements."""

from dataclasses import dataclass, field

from grade.export.torch_helpers import HELPERS

RESERVED = {"torch", "nn", "F", "self", "weight", "layer", *HELPERS}


@dataclass
class Own:
    """A parameter of a class, with its value in each occurrence."""

    name: str
    values: list[str]


@dataclass
class Child:
    """A module in a module, or a list of them that follow each other."""

    name: str
    symbol: int
    begins: list[int]  # first places, one for each of the list


@dataclass
class Class:
    """A class while it is written."""

    symbol: int | None  # None for the model
    name: str
    occurrences: list[int]  # where each begins in the order of the grammar
    own: list[Own] = field(default_factory=list)
    children: list[Child] = field(default_factory=list)
    shapes: list[tuple[str, list[list[int]]]] = field(default_factory=list)  # constructor arguments
    lines: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=lambda: set(RESERVED))
    attributes: set[str] = field(default_factory=set)

    def fresh(self, wanted: str, attribute: bool = False) -> str:
        taken = self.attributes if attribute else self.taken
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}{number}"
        taken.add(name)
        return name

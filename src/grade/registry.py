"""Named things found by their name: sources, samplers, estimators.

A new one is one new file: it calls ``register`` at import, and its package imports it.
"""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Generic, TypeVar

from grade.errors import InputError

Thing = TypeVar("Thing")


class Registry(Generic[Thing]):
    """A mapping from names to things that explains itself when a name is unknown.

    >>> shapes = Registry[type]("shape")
    >>> @shapes.register("ring")
    ... class Ring: ...
    >>> shapes["ring"].__name__
    'Ring'
    >>> shapes["rng"]
    Traceback (most recent call last):
        ...
    grade.errors.InputError: There is no shape named 'rng'; did you mean 'ring'? Known: ring.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._things: dict[str, Thing] = {}

    def register(self, name: str) -> Callable[[Thing], Thing]:
        def add(thing: Thing) -> Thing:
            if name in self._things:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._things[name] = thing
            return thing

        return add

    def __getitem__(self, name: str) -> Thing:
        if name in self._things:
            return self._things[name]
        near = get_close_matches(name, self._things, n=1)
        guess = f"; did you mean {near[0]!r}?" if near else "."
        raise InputError(
            f"There is no {self.kind} named {name!r}{guess} Known: {', '.join(sorted(self._things))}."
        )

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._things))

    def __len__(self) -> int:
        return len(self._things)

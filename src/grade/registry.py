"""Registries of sources, samplers and estimators by name.

A new one is one new file: it calls ``register`` at import, and its package imports it.
"""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Generic, TypeVar

from grade.errors import InputError

Thing = TypeVar("Thing")


class Registry(Generic[Thing]):
    """A mapping from names to things; an unknown name raises an error that lists the known ones.

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

    def __init__(self, kind: str, modules: Mapping[str, str] | None = None) -> None:
        """``modules`` maps names to modules that are imported when first used, and then register themselves."""
        self.kind, self.modules = kind, dict(modules or {})
        self._things: dict[str, Thing] = {}

    def register(self, name: str) -> Callable[[Thing], Thing]:
        def add(thing: Thing) -> Thing:
            if name in self._things:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._things[name] = thing
            return thing

        return add

    def __getitem__(self, name: str) -> Thing:
        self.check(name)
        if name not in self._things:
            import_module(self.modules[name])
        return self._things[name]

    def check(self, name: str) -> None:
        """Refuse an unknown name; a known one is not imported."""
        if name not in self:
            near = get_close_matches(name, self, n=1)
            guess = f"; did you mean {near[0]!r}?" if near else "."
            raise InputError(f"There is no {self.kind} named {name!r}{guess} Known: {', '.join(self)}.")

    def __contains__(self, name: object) -> bool:
        return name in self._things or name in self.modules

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._things, *self.modules}))

    def __len__(self) -> int:
        return len({*self._things, *self.modules})

"""The engine by its name."""

from collections.abc import Iterator
from contextlib import contextmanager

from grade.engine.base import LOCAL, Engine
from grade.errors import InputError

ENGINES = ("local", "ray")


@contextmanager
def engine_named(name: str = "local", address: str | None = None) -> Iterator[Engine]:
    """The engine of this name, connected for as long as the context lasts.

    >>> with engine_named("local") as engine:
    ...     print(engine.name)
    local
    """
    if name not in ENGINES:
        raise InputError(f"There is no engine {name!r}; known: {', '.join(ENGINES)}.")
    if name == "local":
        if address is not None:
            raise InputError("`address` is that of a Ray cluster; set `engine` to ray as well.")
        yield LOCAL
        return
    from grade.engine.cluster import RayEngine

    engine = RayEngine.connected(address)
    try:
        yield engine
    finally:
        engine.close()

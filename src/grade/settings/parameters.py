"""Fields of settings objects: each carries its help text, its limits, and its flag or position.

Messages name a setting in backquotes (`` `list_size` ``); the command line writes the flag instead (``--list-size``).
"""

from dataclasses import MISSING, dataclass, field, fields
from math import isfinite
from typing import Any

from grade.errors import InputError

LIMITS = "limits"  # the same for a setting that is no parameter of its own
PARAMETER = "parameter"  # the key of a field's metadata under which its Parameter stands


@dataclass(frozen=True)
class Parameter:
    """How one field appears on the command line, and which values it takes."""

    help: str
    flags: tuple[str, ...] = ()  # empty: by position
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    above: float | None = None  # an exclusive limit
    may_be_empty: bool = False  # of text

    @property
    def positional(self) -> bool:
        return not self.flags

    def check(self, name: str, value: Any) -> None:
        """Refuse empty text, and a number outside the limits; None stands for "left out"."""
        if "" in (value if isinstance(value, list | tuple) else [value]) and not self.may_be_empty:
            raise InputError(f"`{name}` is empty; give it a value.")
        if value is None or (self.least, self.most, self.above) == (None, None, None):
            return
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise InputError(f"`{name}` is {value!r}; give a number.")
        if not isfinite(value):
            raise InputError(f"`{name}` is {value}; give a finite number.")
        below = self.least is not None and not value >= self.least
        beyond = self.most is not None and not value <= self.most
        if below or beyond:
            limits = f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"
            raise InputError(f"`{name}` is {value}; give {limits}.")
        if self.above is not None and not value > self.above:
            raise InputError(f"`{name}` is {value}; give more than {self.above:g}.")


class Settings:
    """A base for settings objects: a value outside its limits is refused when the object is made."""

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            parameter = each.metadata.get(PARAMETER) or each.metadata.get(LIMITS)
            if parameter is not None:
                parameter.check(each.name, getattr(self, each.name))


def argument(help: str, *, metavar: str, default: Any = MISSING) -> Any:
    """A field that is given by position."""
    return field(default=default, metadata={PARAMETER: Parameter(help, (), metavar)})


def option(
    help: str,
    *flags: str,
    default: Any = MISSING,
    metavar: str | None = None,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    may_be_empty: bool = False,
) -> Any:
    """A field that is given by a flag; required when it has no default. Numbers may have limits."""
    parameter = Parameter(help, flags, metavar, least, most, above, may_be_empty)
    return field(default=default, metadata={PARAMETER: parameter})


def setting(
    help: str,
    default: Any,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
) -> Any:
    """A field of an estimator: not a flag of its own, but set by a preset or by ``--set NAME=VALUE``."""
    limits = Parameter(help, least=least, most=most, above=above)
    return field(default=default, metadata={"help": help, LIMITS: limits})


def set_argument() -> Any:
    """The graph set that most commands start from."""
    return argument(
        "A folder that GraDE saved, files that it reads (a glob in quotes), or a name from the list above.",
        metavar="SET",
    )


def threads_option() -> Any:
    return option(
        "Threads to use; by default one for each available core.",
        "--threads",
        default=None,
        metavar="N",
        least=1,
        most=1024,
    )


def engine_option() -> Any:
    return option(
        "Where to work: local, or ray (the machines of a Ray cluster); the result is the same.",
        "--engine",
        default="local",
        metavar="NAME",
    )


def address_option() -> Any:
    return option(
        "host:port of the Ray cluster that this machine belongs to; by default the one found on this machine.",
        "--address",
        default=None,
        metavar="ADDRESS",
    )

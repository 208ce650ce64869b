"""What the fields of a settings object are made with: each carries its help text, and its flag or position."""

from dataclasses import MISSING, dataclass, field
from typing import Any

PARAMETER = "parameter"  # the key of a field's metadata under which its Parameter stands


@dataclass(frozen=True)
class Parameter:
    """How one field appears on the command line."""

    help: str
    flags: tuple[str, ...] = ()  # empty: by position
    metavar: str | None = None

    @property
    def positional(self) -> bool:
        return not self.flags


def argument(help: str, *, metavar: str, default: Any = MISSING) -> Any:
    """A field that is given by position."""
    return field(default=default, metadata={PARAMETER: Parameter(help, (), metavar)})


def option(help: str, *flags: str, default: Any = MISSING, metavar: str | None = None) -> Any:
    """A field that is given by a flag; required when it has no default."""
    return field(default=default, metadata={PARAMETER: Parameter(help, flags, metavar)})


def setting(help: str, default: Any) -> Any:
    """A field of an estimator: not a flag of its own, but set by a preset or by ``--set NAME=VALUE``."""
    return field(default=default, metadata={"help": help})


def set_argument() -> Any:
    """The graph set that most commands start from."""
    return argument(
        "A folder that GraDE saved, files that it reads (a glob in quotes), or a name from the list above.",
        metavar="SET",
    )


def threads_option() -> Any:
    return option(
        "Threads to use; all available cores when left out.", "--threads", default=None, metavar="N"
    )

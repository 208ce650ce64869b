"""Tools for commands: parameters from settings objects, results as JSON or text, progress bars.

`command` registers a function whose parameters are settings objects of `grade.settings`: each field becomes an argument
or a flag. `show` reports a result. Progress is drawn on standard error, and only where that is a terminal.
"""

import dataclasses
import functools
import inspect
import json
import re
import sys
import typing
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grade import progress
from grade.graphs.patterns import Pattern
from grade.settings import PARAMETER, OutputSettings, Parameter
from grade.sources import sources
from grade.text import printable, table

if TYPE_CHECKING:
    from grade.estimators.reports import Report, TrainingReport

FLAGS: dict[str, str] = {}  # of every setting of every command, by its name


def command(
    group: typer.Typer, *examples: str, called: str | None = None, panel: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function of settings objects as a command with one parameter for each of their fields.

    The command has the function's name unless another is given; ``panel`` is the part of the help that lists it.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        hints = typing.get_type_hints(function)
        objects = {name: hints[name] for name in inspect.signature(function).parameters}
        owners: dict[str, tuple[str, dataclasses.Field[Any]]] = {}
        for name, settings in objects.items():
            for field in dataclasses.fields(settings):
                if field.name in owners:
                    raise TypeError(
                        f"two settings objects of {function.__name__} have a field {field.name!r}"
                    )
                owners[field.name] = (name, field)
                parameter: Parameter = field.metadata[PARAMETER]
                if not parameter.positional:
                    FLAGS[field.name] = parameter.flags[0]
                else:  # a flag of another command says more
                    FLAGS.setdefault(field.name, parameter.metavar or field.name)

        @functools.wraps(function)
        def run(**values: Any) -> None:
            parts: dict[str, dict[str, Any]] = {name: {} for name in objects}
            for field_name, value in values.items():
                parts[owners[field_name][0]][field_name] = value
            function(**{name: objects[name](**part) for name, part in parts.items()})

        parameters = [
            typer_parameter(field, typing.get_type_hints(objects[name])[field.name])
            for name, field in owners.values()
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        text = inspect.cleandoc(function.__doc__ or "") + block("Examples:", examples)
        if any(field.name in ("graphs", "sources") for _, field in owners.values()):
            text += block("Built-in sets:", (f"{sources[s].spec:<22} {sources[s].summary}" for s in sources))
        group.command(called, help=text, rich_help_panel=panel)(run)
        return function

    return register


def with_flags(message: str) -> str:
    """A message with the flags of the settings that it names in backquotes.

    >>> import grade.cli
    >>> with_flags("raise `list_size`")
    'raise --list-size'
    """
    return re.sub(r"`(\w+)`", lambda match: FLAGS.get(match[1], match[0]), message)


def block(title: str, lines: Iterable[str]) -> str:
    """Lines of a help text that typer does not reflow."""
    return f"\n\n{title}\n\n\b\n" + "\n".join(f"  {line}" for line in lines)


def typer_parameter(field: "dataclasses.Field[Any]", kind: Any) -> inspect.Parameter:
    """The parameter for typer of a field of a settings object: an argument or a flag."""
    parameter: Parameter = field.metadata[PARAMETER]
    texts: dict[str, Any] = {"help": parameter.help, "metavar": parameter.metavar}
    if Path in (kind, *typing.get_args(kind)):
        texts["parser"] = path_of
    place = typer.Argument(**texts) if parameter.positional else typer.Option(*parameter.flags, **texts)
    default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
    if kind == tuple[str, ...]:  # typer makes a list of a flag that may be given several times
        kind, default = list[str], []
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(field.name, keyword, default=default, annotation=Annotated[kind, place])


def path_of(text: str) -> Path:
    """A path that was given; `Path` alone would take nothing for the folder that the user is in."""
    if not text:
        raise typer.BadParameter("it is empty; name a file or a folder.")
    return Path(text)


def show(output: OutputSettings, data: dict[str, Any], lines: Callable[[], Iterable[str]]) -> None:
    """Print a result: one JSON object, or lines of text."""
    if output.json:
        print(json.dumps(data))
    else:
        for line in lines():
            print(printable(with_flags(line)))


@contextmanager
def progress_bar(label: str) -> Iterator[progress.Progress | None]:
    """A progress callback that draws a bar on standard error; None where that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=1.0)

        def update(share: float, stage: str = "", /) -> None:
            bar.update(task, completed=share, description=escape(printable(stage)) or label)

        yield update


@contextmanager
def training_progress() -> Iterator["Report | None"]:
    """A receiver of reports that draws step, loss and time left of a training; None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[loss]}"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("fit", total=1, loss="")

        def update(report: "TrainingReport") -> None:
            if bar.tasks[0].description != report.phase:
                bar.reset(line, description=report.phase)
            bar.update(line, completed=report.step, total=report.steps, loss=f"loss {report.loss:.3f}")

        yield update


def pattern_data(pattern: Pattern, count: int) -> dict[str, Any]:
    """A pattern in JSON: key, count, names of the node types, edges as [source, target, type]."""
    return {
        "key": pattern.key,
        "count": count,
        "node_types": list(pattern.type_names),
        "edges": [list(edge) for edge in pattern.edge_list],
    }


def pattern_lines(rows: Iterable[tuple[Pattern, int]], total: int) -> Iterator[str]:
    """Rank, count, share and text of patterns in columns."""
    cells = [
        [str(rank), f"{count:,}", f"{100 * count / total:.2f} %", str(pattern)]
        for rank, (pattern, count) in enumerate(rows, start=1)
    ]
    return table(["rank", "count", "share", "pattern"], cells) if cells else iter(())

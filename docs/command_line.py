"""Writes docs/command-line.md, the reference of all commands, from the commands themselves.

Run: python docs/command_line.py (a test says when that is due)
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from grade.cli import app

PAGE = Path(__file__).with_name("command-line.md")
HEAD = """# Command line

Written by `python docs/command_line.py` from the commands themselves.

Every command takes `--help` (with examples) and `--json`: one JSON object on standard output, and nothing else there.
Progress is drawn on standard error, and only if that is a terminal. Exit codes: 0; 2 and one sentence for bad input;
1 and one sentence if the machine fails (a full disk, a GPU); 130 after Ctrl-C. Files and folders are written whole or
not at all.
"""


def commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command below a group, with the words that call it, in alphabetical order."""
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def section(path: str, command: Any) -> Iterator[str]:
    """The heading, the description, the examples and the table of one command."""
    text, _, rest = (command.help or "").partition("\n\nExamples:")
    yield f"\n## {path}\n"
    yield text.replace("\b\n", "").strip() + "\n"
    examples = re.split(r"\n\n[A-Z][^\n]*:\n", rest)[0]
    lines = [line.strip() for line in examples.replace("\b", "").splitlines() if line.strip()]
    if lines:
        yield "```text\n" + "\n".join(lines) + "\n```\n"
    yield "| | | default |"
    yield "|---|---|---|"
    for parameter in command.params:
        if parameter.name == "help":
            continue
        names = ", ".join(f"`{flag}`" for flag in (*parameter.opts, *parameter.secondary_opts))
        positional = parameter.param_type_name == "argument"
        name = f"`{parameter.metavar or parameter.name.upper()}`" if positional else names
        metavar = f" `{parameter.metavar}`" if parameter.metavar and not positional else ""
        yield f"| {name}{metavar} | {escaped(parameter.help or '')} | {default_of(parameter)} |"


def default_of(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return "required"
    return "" if value is None or value is False or value == [] else f"`{value}`"


def escaped(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", r"\|").replace("*", r"\*").replace("<", "&lt;").replace("\n", " ")


def page() -> str:
    parts = [HEAD]
    for path, command in commands(typer.main.get_command(app), "grade"):
        parts.extend(section(path, command))
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

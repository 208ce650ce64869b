"""The application that the commands are added to, and how it ends: with a result, or with one sentence."""

import os
import sys
from typing import Annotated

import typer

import grade
from grade.errors import InputError
from grade.terminal import with_flags

app = typer.Typer(
    name="grade",
    help="Find frequent subgraphs (motifs) in sets of directed, typed graphs.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
graphs_app = typer.Typer(help="Build and describe graph sets.")
runs_app = typer.Typer(help="Look at runs.")
app.add_typer(graphs_app, name="graphs")
app.add_typer(runs_app, name="runs")


def main() -> None:
    """Run the command line; bad input gives one sentence and exit code 2, Ctrl-C exit code 130."""
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="grade", standalone_mode=False) or 0
        sys.stdout.flush()
    except InputError as error:
        code = report(2, with_flags(str(error)))
    except MemoryError:
        code = report(2, "there is not enough memory for this; ask for less, or use a machine with more.")
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except BrokenPipeError:
        # The reader has gone (`grade ... | head`). Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Exception as error:
        # A usage error of typer: its class has moved between versions, its two attributes have not.
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        hint = f" See '{context.command_path} --help'." if context is not None else ""
        code = report(getattr(error, "exit_code", 2), error.format_message() + hint)
    if code == 130:
        report(code, "interrupted.")
    sys.exit(code)


def report(code: int, sentence: str) -> int:
    print(f"grade: {sentence}", file=sys.stderr)
    return code


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        print(f"grade {grade.__version__}")
        raise typer.Exit

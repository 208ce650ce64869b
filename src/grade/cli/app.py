"""The application of all commands. It ends with a result, or with one sentence."""

import io
import os
import signal
import sys
import warnings
from typing import Annotated, Any

import typer

import grade
from grade.errors import ClusterError, DeviceError, FileError, InputError
from grade.progress import Stopped
from grade.terminal import with_flags
from grade.text import printable

app = typer.Typer(
    name="grade",
    help="Find recurring structure in sets of directed, typed graphs: motifs, repeated regions, statistics.\n\n"
    "First steps: 'grade graphs build MODELS.onnx my-set', 'grade mine my-set', 'grade report RUN'.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
graphs_app = typer.Typer(help="Build and describe graph sets.")
runs_app = typer.Typer(help="Look at runs.")
app.add_typer(graphs_app, name="graphs")
app.add_typer(runs_app, name="runs", rich_help_panel="Look at a run")


def main() -> None:
    """Run the command line. Bad input gives one sentence and exit code 2, a failing machine 1, Ctrl-C 130."""
    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on work ends in order
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # names are not always Unicode
        warnings.showwarning = show_warning
        code = app(sys.argv[1:] or ["--help"], prog_name="grade", standalone_mode=False) or 0
        sys.stdout.flush()
    except InputError as error:
        code = report(2, with_flags(str(error)))
    except (FileError, DeviceError, ClusterError, Stopped) as error:
        code = report(1, with_flags(str(error)))
    except MemoryError:
        code = report(2, "there is not enough memory for this; ask for less, or use a machine with more.")
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except BrokenPipeError:
        # The reader has closed the pipe (`grade ... | head`). Python would raise again when it closes the
        # stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        # Errors that no code closer to the file handles: a name that is too long, a loop of links.
        name = str(error.filename)[:200] if error.filename else "A file"
        code = report(2, f"{name} cannot be used ({error.strerror or error}); choose another name or place.")
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


def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print warnings of GraDE, which are sentences; those of libraries are for programmers."""
    if category is UserWarning:
        report(0, with_flags(str(message)))


def report(code: int, sentence: str) -> int:
    print(f"grade: {printable(sentence)}", file=sys.stderr)
    return code


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        print(f"grade {grade.__version__}")
        raise typer.Exit

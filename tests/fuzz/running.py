"""Runs commands in forked processes with limits, many in a second, and says how each ended."""

import importlib
import os
import resource
import select
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import typer

PATIENCE = 10  # seconds of processor time until a command is interrupted as by Ctrl-C
GRACE = 10  # such seconds until an interrupted command must have ended
ROUNDING = 0.5  # such seconds between the time that ended the patience and the one that is reported
LONGEST = (
    600.0  # seconds on the clock until one that waits for something counts as hung, however busy the machine
)
MOST_MEMORY = 3 << 30  # bytes of address space that a command may take beside what it starts with
application = importlib.import_module("grade.cli.app")
COMMANDS = typer.main.get_command(application.app)  # made once here, and not in every process
vars(application)["app"] = COMMANDS


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    code: int  # negative: the number of the signal that killed it
    out: str
    err: str
    memory: int  # bytes that it held at most
    interrupted: bool
    hung: bool


def run(
    argv: tuple[str, ...], folder: Path, interrupt_after: float | None = None, patience: int = PATIENCE
) -> Ending:
    """Run ``grade`` with these arguments in this folder.

    It is interrupted after so many seconds on the clock, or when its patience is spent, which is processor time.
    """
    out, err = folder.with_suffix(".out"), folder.with_suffix(".err")
    for file in (out, err):
        file.write_text("")  # a child that is interrupted at once has not opened them
    begin = time.monotonic()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the child can take it
    child = os.fork()
    if child == 0:
        run_in_child(argv, folder, out, err, patience)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    handle = os.pidfd_open(child)
    interrupted = False
    if interrupt_after is not None and not ends_within(handle, interrupt_after - (time.monotonic() - begin)):
        interrupted = True
        os.kill(child, signal.SIGINT)
    hung = not ends_within(handle, LONGEST)
    if hung:
        os.killpg(child, signal.SIGKILL)
    os.close(handle)
    _, status, usage = os.wait4(child, 0)
    interrupted |= usage.ru_utime + usage.ru_stime >= patience - ROUNDING
    texts = [file.read_text(errors="surrogateescape") for file in (out, err)]
    return Ending(os.waitstatus_to_exitcode(status), *texts, usage.ru_maxrss * 1024, interrupted, hung)


def ends_within(handle: int, seconds: float) -> bool:
    """Wait for the end of a process."""
    return bool(select.select([handle], [], [], max(seconds, 0.0))[0])


def interrupt_once(*_: object) -> None:
    """The patience is spent: as by one Ctrl-C, though this signal comes again every second."""
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    signal.raise_signal(signal.SIGINT)


def run_in_child(argv: tuple[str, ...], folder: Path, out: Path, err: Path, patience: int) -> None:
    code = 70
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # until the command takes over
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        os.chdir(folder)
        for place, file in ((0, os.devnull), (1, out), (2, err)):
            flags = os.O_RDONLY if place == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(file, flags, 0o644), place)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MOST_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        signal.signal(signal.SIGXCPU, interrupt_once)
        resource.setrlimit(resource.RLIMIT_CPU, (patience, patience + GRACE))
        sys.argv = ["grade", *argv]
        application.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

"""Trainings side by side on the cores of a processor, each in a process that is forked from this one.

A training takes one thread (`grade.estimators.world.one_thread`), so what can use more cores are the networks of one
fit. A process leaves its network in the folder of the fit, where this one finds it as it would find that of a fit that
was killed. A process that fails leaves none: the caller then trains that network itself, and meets the same error, or
goes on from the checkpoint of a process that was killed.
"""

import multiprocessing
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

import torch

from grade.estimators.phases import Phases


def train_ahead(
    names: Sequence[str], train: Callable[[str, Phases], Any], phases: Phases, processes: int
) -> None:
    """Train the networks of these phases, so many at once, where there is more than one to train and a folder to leave
    them in.

    Parameters
    ----------
    train : trains the network of a phase and stores it by ``phases.save``
    """
    waiting = [name for name in names if not phases.finished(name)]
    processes = min(processes, len(waiting))
    if processes < 2 or phases.folder is None or phases.world.size > 1 or not can_fork():
        return
    context = multiprocessing.get_context("fork")
    running: dict[Connection, tuple[Any, Any]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                name = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                child = context.Process(
                    target=work,
                    name=name,
                    args=(name, train, phases, sender, [*running, receiver]),
                    daemon=True,
                )
                child.start()
                sender.close()  # the child has the other one: when it ends, there is nothing more to receive
                running[receiver] = child, phases.report(name)
            ready = wait(list(running))
            for receiver in [one for one in running if one in ready]:
                child, report = running[receiver]
                try:
                    values = receiver.recv()
                except EOFError:
                    child.join()
                    if child.exitcode:
                        warnings.warn(
                            f"The process of {child.name} was ended (code {child.exitcode}), perhaps for memory; its"
                            " training goes on in this one. Fewer threads need less.",
                            stacklevel=2,
                        )
                    receiver.close()
                    del running[receiver]
                else:
                    if report is not None:
                        report(values)
    finally:
        for child, _ in running.values():
            child.terminate()
            child.join()


def work(
    name: str,
    train: Callable[[str, Phases], Any],
    phases: Phases,
    sender: Connection,
    inherited: list[Connection],
) -> None:
    """One training in its own process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, too, which ends its children
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for receiver in inherited:
        receiver.close()  # so that sending fails, and this process ends, when the parent is no more
    with suppress(Exception):  # the parent meets it, too
        train(name, phases.reporting_to(sender))


def can_fork() -> bool:
    """Whether a copy of this process can train: not with threads of CUDA, nor on systems whose libraries forbid it."""
    return (
        sys.platform == "linux"
        and not torch.cuda.is_initialized()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        and not multiprocessing.current_process().daemon
    )

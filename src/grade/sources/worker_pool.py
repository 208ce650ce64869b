"""Inputs read in child processes: several at a time, each with a limit of time and memory.

A worker is a process of its own that makes slow imports once and then
forks for every input: the fork reads it and sends graph sets through a pipe. An input that hangs, eats the
memory or crashes its process costs nothing but itself. A pipe holds little, so that a fork that is ahead of
its reader waits: memory stays bounded by one piece for each worker. Results come in the order of the inputs.
"""

import os
import pickle
import resource
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import NoReturn

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.settings import ReadSettings
from grade.sources.readers import Item, readers

GIB = 1 << 30
PROGRAM = "import sys, grade.sources.worker_pool as it; it.serve(*it.connections(*map(int, sys.argv[1:])))"


@dataclass(frozen=True)
class Limits:
    """Limits of one input."""

    seconds: float = 300.0
    memory: float = 4.0  # GiB

    def __post_init__(self) -> None:
        for name, unit in (("seconds", "seconds"), ("memory", "GiB")):
            if not 0 < getattr(self, name) < 1e6:
                raise InputError(
                    f"The limit of {name} is {getattr(self, name)}; give a number of {unit} above 0."
                )


@dataclass(frozen=True)
class Failure:
    """An input that could not be read, and why, in one sentence."""

    reason: str


Message = GraphSet | Failure | None  # None: the input has been read to its end


def read_in_workers(
    items: Sequence[Item], settings: ReadSettings, workers: int, limits: Limits
) -> Iterator[tuple[Item, Message]]:
    """(input, its next graphs, or how it ended) for all inputs, in their order."""
    waiting = deque(items)
    crew = [Worker(settings, limits) for _ in range(min(workers, len(items)))]
    try:
        busy = deque((worker, worker.start(waiting.popleft())) for worker in crew)
        while busy:
            worker, item = busy.popleft()
            while True:
                message = worker.receive(item)
                yield item, message
                if not isinstance(message, GraphSet):
                    break
            if waiting:
                busy.append((worker, worker.start(waiting.popleft())))
    finally:
        for worker in crew:
            worker.stop()


class Worker:
    """The parent's side of a worker process; a process that was lost is replaced."""

    def __init__(self, settings: ReadSettings, limits: Limits) -> None:
        self.settings, self.limits = settings, limits
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, item: Item) -> Item:
        if self.process is None:
            ours, theirs = (
                os.pipe(),
                os.pipe(),
            )  # (read end, write end) of the pipe from the worker, and of that to it
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", PROGRAM, str(theirs[0]), str(ours[1])],
                pass_fds=(theirs[0], ours[1]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a group of its own: it is ended with its fork, and not by Ctrl-C
            )
            os.close(theirs[0])
            os.close(ours[1])
            self.results = Connection(ours[0], writable=False)
            self.orders = Connection(theirs[1], readable=False)
        with suppress(OSError):  # a worker that has died is noticed when it is listened to
            self.orders.send((item, self.settings, self.limits))
        return item

    def receive(self, item: Item) -> Message:
        try:
            message: Message = self.results.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            assert self.process is not None
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=10)
            code = self.process.returncode
            self.stop()
            return Failure(f"{item.place} was given up: {fate(code, self.limits)}.")
        return message

    def stop(self) -> None:
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.results.close()
        self.orders.close()
        self.process = None


def fate(code: int | None, limits: Limits) -> str:
    """Why a worker ended, from its exit code, which is that of the signal that ended its fork."""
    if code == signal.SIGALRM:
        return f"it took longer than {limits.seconds:g} seconds (raise `seconds`)"
    if code == signal.SIGKILL:
        return "its process was killed, as happens when memory runs out"
    return f"its process ended unexpectedly (code {code})"


def connections(orders: int, results: int) -> tuple[Connection, Connection]:
    return Connection(orders, writable=False), Connection(results, readable=False)


def serve(orders: Connection, results: Connection) -> None:
    """A worker: fork for every order. It ends when its parent does, and with a fork that was killed."""
    prepared = set()
    while True:
        try:
            item, settings, limits = orders.recv()
        except (EOFError, OSError):
            return
        if item.reader not in prepared:
            with suppress(Exception):  # the fork meets the same error, and reports it
                readers[item.reader].prepare()
            prepared.add(item.reader)
        child = os.fork()
        if child == 0:
            answer(results, item, settings, limits)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:  # its last message may be incomplete, so nothing can follow it
            sys.exit(abs(code))


def answer(results: Connection, item: Item, settings: ReadSettings, limits: Limits) -> NoReturn:
    """The fork: read the input, send its graphs, and end."""
    code = 1
    try:
        bound = int(limits.memory * GIB)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, whatever code it is in
        signal.setitimer(signal.ITIMER_REAL, limits.seconds)
        last: Message = None
        try:
            for graphs in item.read(settings):
                signal.setitimer(signal.ITIMER_REAL, 0)  # waiting for the reader is not the input's fault
                results.send(graphs)
                signal.setitimer(signal.ITIMER_REAL, limits.seconds)
        except Exception as error:
            last = Failure(sentence(item, error, limits))
        signal.setitimer(signal.ITIMER_REAL, 0)
        results.send(last)
        code = 0
    finally:
        os._exit(code)  # no clean-up of what belongs to the worker


def sentence(item: Item, error: BaseException, limits: Limits) -> str:
    """The error in one sentence with the input's name."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, MemoryError):
        return (
            f"{item.place} was given up: it needs more than {limits.memory:g} GiB of memory (raise `memory`)."
        )
    if isinstance(error, RecursionError):
        return f"{item.place} is nested too deep to be read."
    text = " ".join(str(error).split())[:200]
    return f"{item.place} cannot be read ({type(error).__name__}: {text})."

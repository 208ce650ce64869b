"""The engine of several machines: every block is a task of Ray.

A task gets the folder of the set and a range of graphs, opens these by memory mapping, and keeps them for the next task
that a process gets of the same block. So the folder must be there, under the same path, on all machines. A set that is
in no folder goes to the tasks itself, block by block.

Tasks have no state but their arguments. If a process or a machine is lost, Ray repeats its tasks and recomputes the
results that it held. The result is the same.
"""

import contextlib
import logging
import os
import socket
import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import grade
from grade.engine.base import Merge, Work
from grade.engine.matching import SpreadMatcher
from grade.engine.parts import Crew, KeepGoing, Part, bounds_of
from grade.errors import ClusterError, InputError
from grade.graphs import GraphSet
from grade.graphs.storage import digest_at, load_graph_set
from grade.progress import Stopped

RETRIES = 10  # of a task whose process or machine was lost
FAN_IN = 8  # results that one task joins
KEPT_NODES = 2**22  # of blocks that a process keeps open
PATIENCE = 5.0  # seconds until an address must answer
MISSING = "`engine` ray needs Ray, which is not installed; run 'pip install grade-motifs[ray]'."

opened: OrderedDict[tuple[str, int, int], Part] = OrderedDict()  # in a process that works


class RayEngine:
    """A Ray cluster that this process is connected to."""

    name = "ray"

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.spreads: dict[str, RaySpread] = {}  # by the digest of the set
        self.block = ray.remote(num_cpus=1, max_retries=RETRIES)(work_on_block)
        self.join = ray.remote(num_cpus=1, max_retries=RETRIES)(join_results)

    @classmethod
    def connected(cls, address: str | None) -> "RayEngine":
        """Connect to the cluster at the address, or to that of this machine.

        No cluster is started: it would listen to the whole network.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent elsewhere
        try:
            import ray
        except ImportError:
            raise InputError(MISSING) from None
        if address is not None:
            check_answers(address)
        try:
            with silenced():
                ray.init(address=address or "auto", log_to_driver=False, logging_level=logging.ERROR)
        except ConnectionError as error:
            if address is None:
                raise InputError(
                    "No Ray cluster is found on this machine; start one with 'ray start --head', or give `address`."
                ) from None
            raise refused(address, error) from error
        except Exception as error:  # it has many, for a wrong token, version or address
            raise refused(address or "of this machine", error) from error
        return cls(ray)

    @property
    def workers(self) -> int:
        return max(int(self.ray.cluster_resources().get("CPU", 1)), 1)

    def over(self, graphs: GraphSet, threads: int | None = None) -> "RaySpread":
        if graphs.digest not in self.spreads:
            self.spreads[graphs.digest] = RaySpread(self, graphs)
        return self.spreads[graphs.digest]

    def close(self) -> None:
        self.ray.shutdown()


class RaySpread:
    """A graph set in blocks on a cluster."""

    def __init__(self, engine: RayEngine, graphs: GraphSet) -> None:
        self.engine, self.graphs, self.ray = engine, graphs, engine.ray
        self.bounds = bounds_of(graphs)
        folder = os.path.abspath(graphs.folder) if graphs.folder else ""  # noqa: PTH100 (no links followed)
        self.sources: list[Any] = [folder] * len(self.bounds)
        if not folder:
            self.sources = [self.ray.put(graphs.slice(*bound)) for bound in self.bounds]
        self.matchers: dict[bool, SpreadMatcher] = {}

    @property
    def threads(self) -> int:
        return self.engine.workers

    def begin(
        self,
        work: Work,
        *shared: Any,
        own: Sequence[tuple[Any, ...]] | None = None,
        keep_going: KeepGoing | None = None,
    ) -> list[Any]:
        offsets = self.graphs.node_offsets
        everyone = self.ray.put((grade.__version__, shared))
        handles = [
            self.engine.block.remote(
                work,
                source,
                (self.graphs.digest, *bound, int(offsets[bound[0]])),
                everyone,
                *(own[i] if own else ()),
            )
            for i, (source, bound) in enumerate(zip(self.sources, self.bounds, strict=True))
        ]
        self.wait(handles, keep_going)
        return handles

    def get(self, handles: Sequence[Any]) -> list[Any]:
        with errors_of_tasks(self.ray):
            return list(self.ray.get(list(handles)))

    def merged(self, handles: Sequence[Any], merge: Merge, keep_going: KeepGoing | None = None) -> Any:
        level = list(handles)
        while len(level) > FAN_IN:
            level = [
                self.engine.join.remote(merge, *level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)
            ]
        self.wait(level, keep_going)
        return merge(self.get(level))

    def matcher(self, fusible: bool = False) -> SpreadMatcher:
        if fusible not in self.matchers:
            self.matchers[fusible] = SpreadMatcher(self, fusible)
        return self.matchers[fusible]

    def wait(self, handles: Sequence[Any], keep_going: KeepGoing | None) -> None:
        """Wait for tasks, reporting the share that is done; those that are not wanted any more are cancelled."""
        left = list(handles)
        try:
            while left:
                with errors_of_tasks(self.ray):
                    _, left = self.ray.wait(left, num_returns=len(left), timeout=0.1, fetch_local=False)
                if keep_going is not None and keep_going(1 - len(left) / len(handles)) is False:
                    raise Stopped
        except BaseException:
            for handle in left:
                with contextlib.suppress(Exception):
                    self.ray.cancel(handle, force=True)
            raise


@contextlib.contextmanager
def errors_of_tasks(ray: Any) -> Iterator[None]:
    """The exception that a task raised; failures of Ray itself in one sentence."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        raise (error.cause if isinstance(error.cause, Exception) else error) from None
    except ray.exceptions.RayError as error:
        text = " ".join(str(error).split())[:200]
        raise ClusterError(
            f"The Ray cluster could not finish a task, tried {RETRIES} times ({type(error).__name__}: {text});"
            " mend it, and start the command again."
        ) from error


def refused(address: str, error: Exception) -> InputError:
    text = " ".join(str(error).split())[:200]
    return InputError(
        f"The Ray cluster {address} refuses this process ({type(error).__name__}: {text}); run the command on a"
        " machine of it, with its token in RAY_AUTH_TOKEN_PATH and the same versions of Ray and Python."
    )


def check_answers(address: str) -> None:
    """Refuse a bad address, or one without a cluster."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise InputError(
            f"{address!r} is no address of a Ray cluster; give host:port as 'ray start --head' shows it."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"No answer from {address} ({reason}); start the cluster with 'ray start --head', or give its address."
        ) from None


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Without the lines that Ray's native part writes to standard error, where a command has one sentence to say."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def work_on_block(
    work: Work, source: str | GraphSet, place: tuple[str, int, int, int], shared: tuple[str, Any], *own: Any
) -> Any:
    """One task: the work on one block, in a process of some machine of the cluster."""
    version, values = shared
    if version != grade.__version__:
        raise InputError(
            f"A machine of the cluster has GraDE {grade.__version__}, and this one {version}; install the same on all."
        )
    return work(part_at(source, *place), Crew(), *values, *own)


def part_at(source: str | GraphSet, digest: str, first: int, last: int, first_node: int) -> Part:
    """A block, from those that this process keeps open, or opened now."""
    key = (digest, first, last)
    if key not in opened:
        if isinstance(source, str):
            graphs = load_graph_set(source, (first, last))
            if digest_at(source) not in ("", digest):
                raise InputError(
                    f"{source} is another graph set on {socket.gethostname()}; let all machines see the same."
                )
            graphs = replace(graphs, folder=source)  # for its messages
        else:
            graphs = source
        opened[key] = Part(graphs, first_node)
        while len(opened) > 1 and sum(part.graphs.nodes for part in opened.values()) > KEPT_NODES:
            opened.popitem(last=False)
    opened.move_to_end(key)
    return opened[key]


def join_results(merge: Merge, *results: Any) -> Any:
    return merge(results)

"""A Ray cluster of two nodes on this machine: on the loopback address only, with a token, stopped by process id.

Ray listens on the loopback address alone where that is a node's own address, and takes another in its place where it
can; so it is started with that taken away.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

STORE = 100_000_000  # bytes of each node's object store
HOST = "127.0.0.1"
ON_LOOPBACK = (
    "import ray._private.services as services; services.resolve_ip_for_localhost = lambda host: host;"
    " services.get_node_ip_address = lambda address=None: '127.0.0.1';"
    " from ray.scripts.scripts import main; main()"
)
PATIENCE = 300.0


def free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        port: int = server.getsockname()[1]
        return port


class Cluster:
    """Nodes that were started here, each a process group of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"{HOST}:{free_port()}"
        token = folder / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        self.environment = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",  # else tasks wait for ever where a machine is busy
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # a process that connects takes the loopback address, too
        }
        self.nodes: list[subprocess.Popen[bytes]] = []

    def start(self, *where: str) -> None:
        command = [sys.executable, "-c", ON_LOOPBACK, "start", *where, "--block"]
        environment = {**self.environment, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"}
        command += ["--node-ip-address", HOST, "--num-cpus", "1", "--object-store-memory", str(STORE)]
        with (self.folder / "log").open("ab") as log:
            self.nodes.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def start_head(self) -> None:
        # Paths of sockets have a limit, so the folder must have a short name.
        short = ["--temp-dir", str(self.folder / "r"), "--include-dashboard", "false"]
        self.start("--head", "--port", self.address.rpartition(":")[2], *short)

    def start_worker(self) -> None:
        self.start("--address", self.address)

    def busy(self, *nodes: int) -> list[int]:
        """Processes that work on tasks now, of these nodes or of all."""
        groups, found = {self.nodes[node].pid for node in nodes or range(len(self.nodes))}, []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                session = int((place / "stat").read_text().rpartition(")")[2].split()[3])
                name = (place / "cmdline").read_bytes()
                if session in groups and name.startswith((b"ray::work_on_block", b"ray::join_results")):
                    found.append(int(place.name))
        return found

    def kill(self, node: int) -> None:
        """A machine that is lost: everything that it ran ends at once."""
        with suppress(ProcessLookupError):
            os.killpg(self.nodes[node].pid, signal.SIGKILL)
        self.nodes[node].wait()

    def wait_for_nodes(self, number: int) -> None:
        """Until so many nodes are there, as a process of its own asks them."""
        program = (
            "import ray, sys, time; ray.init(address=sys.argv[1], log_to_driver=False, logging_level='ERROR')\n"
            f"while sum(n['Alive'] for n in ray.nodes()) < {number}: time.sleep(0.1)"
        )
        end = time.monotonic() + PATIENCE
        while True:
            with suppress(OSError):
                socket.create_connection((HOST, int(self.address.rpartition(":")[2])), 1).close()
                break
            assert time.monotonic() < end, (self.folder / "log").read_text()
            time.sleep(0.1)
        subprocess.run(
            [sys.executable, "-c", program, self.address],
            env=self.environment,
            check=True,
            timeout=PATIENCE,
            capture_output=True,
        )


@contextmanager
def cluster_in(folder: Path) -> Iterator[Cluster]:
    cluster = Cluster(folder)
    try:
        cluster.start_head()
        for _ in range(300):
            with suppress(OSError):
                socket.create_connection((HOST, int(cluster.address.rpartition(":")[2])), 1).close()
                break
            time.sleep(0.1)
        cluster.start_worker()
        cluster.wait_for_nodes(2)
        yield cluster
    finally:
        for node in range(len(cluster.nodes)):
            cluster.kill(node)

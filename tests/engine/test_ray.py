"""The same commands on a Ray cluster of two nodes and on this machine, byte for byte."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.ray_cluster import Cluster, cluster_in

pytest.importorskip("ray", reason="Ray is not installed; `pip install grade-motifs[ray]` brings it")

GRADE = [sys.executable, "-m", "grade.cli"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="g") as folder, cluster_in(Path(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set in a folder, which the tasks open by its path."""
    folder = tmp_path_factory.mktemp("sets") / "zoo"
    subprocess.run([*GRADE, "graphs", "build", "zoo-mini", str(folder)], check=True, capture_output=True)
    return folder


def run(cluster: Cluster | None, *words: str | Path) -> dict[str, Any]:
    """The JSON that a command shows, here or on the cluster."""
    where = [] if cluster is None else ["--engine", "ray", "--address", cluster.address]
    done = subprocess.run(
        [*GRADE, *map(str, words), *where, "--json"],
        env=None if cluster is None else cluster.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return {name: value for name, value in found.items() if name not in ("seconds", "threads", "out", "run")}


@pytest.mark.parametrize("in_folder", [True, False])
def test_census(cluster: Cluster, zoo: Path, in_folder: bool, tmp_path: Path) -> None:
    graphs = zoo if in_folder else "zoo-mini"
    files = tmp_path / "here.npz", tmp_path / "there.npz"
    here, there = (
        run(where, "census", graphs, "-k", "4", "--out", file)
        for where, file in zip((None, cluster), files, strict=True)
    )
    assert here == there
    with np.load(files[0]) as ours, np.load(files[1]) as theirs:
        for name in ("node_types", "edges", "counts"):
            assert np.array_equal(ours[name], theirs[name])


def test_sample(cluster: Cluster, zoo: Path, tmp_path: Path) -> None:
    folders = tmp_path / "here", tmp_path / "there"
    for where, folder in zip((None, cluster), folders, strict=True):
        run(where, "sample", zoo, "-k", "5", "--count", "500", "--out", folder)
    for file in ("occurrences", "weights", "pattern_ids", "node_types", "edges"):
        ours, theirs = (folder / f"{file}.npy" for folder in folders)
        assert ours.read_bytes() == theirs.read_bytes()
    assert (folders[0] / "parts.npz").read_bytes() == (folders[1] / "parts.npz").read_bytes()


MINE = ("-k", "3-5", "--rank-by", "occurrences", "--list-size", "100", "--beam", "200")


def mined(cluster: Cluster | None, graphs: Path, out: Path) -> bytes:
    run(cluster, "mine", graphs, *MINE, "--out", out)
    return (out / "catalogue.sqlite").read_bytes()


def test_mine(cluster: Cluster, zoo: Path, tmp_path: Path) -> None:
    assert mined(cluster, zoo, tmp_path / "there") == mined(None, zoo, tmp_path / "here")


def test_verify(cluster: Cluster, zoo: Path) -> None:
    words = ["verify", "Conv -> Relu", zoo]
    here, there = run(None, *words), run(cluster, *words)
    for found in (here, there):
        for support in found["supports"]:
            support.pop("seconds", None)
    assert here == there


@pytest.mark.slow
def test_a_wrong_token_is_refused_with_one_sentence(cluster: Cluster, zoo: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0" * 64)
    done = subprocess.run(
        [*GRADE, "census", str(zoo), "-k", "3", "--engine", "ray", "--address", cluster.address],
        env={**cluster.environment, "RAY_AUTH_TOKEN_PATH": str(token)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"grade: The Ray cluster {cluster.address} refuses this process (" in done.stderr


def test_ctrl_c_ends_with_one_line_and_stops_the_tasks(cluster: Cluster, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*GRADE, "census", "zoo", "-k", "7", "--engine", "ray", "--address", cluster.address],
        env=cluster.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: bool(cluster.busy()))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "grade: interrupted.\n")
    wait_until(lambda: not cluster.busy())


def wait_until(holds: Callable[[], bool], seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_a_killed_process_and_a_killed_machine_change_nothing(
    cluster: Cluster, zoo: Path, tmp_path: Path
) -> None:
    """A process that works is killed; then a machine, with all that it held. The run goes on by itself."""
    whole = mined(None, zoo, tmp_path / "here")
    command = [*GRADE, "mine", str(zoo), *MINE, "--out", str(tmp_path / "there")]
    process = subprocess.Popen(
        [*command, "--engine", "ray", "--address", cluster.address],
        env=cluster.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: bool(cluster.busy(0)) or process.poll() is not None)
    assert process.poll() is None, process.communicate()[1]
    for worker in cluster.busy(0):
        os.kill(worker, signal.SIGKILL)
    wait_until(lambda: bool(cluster.busy(1)) or process.poll() is not None)
    assert process.poll() is None, process.communicate()[1]
    cluster.kill(1)
    try:
        _, errors = process.communicate(timeout=600)
        assert (process.returncode, errors) == (0, "")
        assert (tmp_path / "there" / "catalogue.sqlite").read_bytes() == whole
    finally:
        cluster.start_worker()

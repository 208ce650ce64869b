"""The same commands on a Ray cluster of two nodes and on this machine, byte for byte."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
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


MINE = ("-k", "3-6", "--rank-by", "occurrences", "--list-size", "100", "--beam", "200")


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

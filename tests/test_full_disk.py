"""A disk that takes no more: exit code 1, one sentence that names the file, and nothing half-written."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

GRADE = [sys.executable, "-m", "grade.cli"]
ROOM = 2048  # bytes of a file until the disk is full
SMALL = ["--preset", "fast", "--set", "steps=5", "--set", "members=1"]


def full() -> None:
    """Python ignores the signal, so that writing ends as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for arguments in (
        ["sample", "zoo-mini", "-k", "4", "--count", "400", "--out", "sample"],
        ["fit", "sample", "--estimator", "frequency", "--out", "model"],
        ["census", "zoo-mini", "-k", "4", "--out", "census.npz"],
        ["mine", "zoo-mini", "-k", "4", "--top", "3", "--all", "--out", "run"],
    ):
        subprocess.run([*GRADE, *arguments], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["graphs", "build", "zoo-mini", "new"], set()),
        (["sample", "zoo-mini", "-k", "4", "--count", "400", "--out", "new"], set()),
        (["census", "zoo-mini", "-k", "4", "--out", "new.npz"], set()),
        (["census", "zoo-mini", "-k", "4", "--out", "new.parquet"], set()),
        (["fit", "sample", "--estimator", "frequency", "--out", "new"], {"new.fitting"}),
        (["fit", "sample", *SMALL, "--out", "new"], {"new.fitting"}),
        (["score", "model", "census.npz", "--out", "new.csv"], set()),
        (["score", "model", "census.npz", "--out", "new.npz"], set()),
        (["features", "zoo-mini", "-k", "4", "--out", "new.npz"], set()),
        (["significance", "zoo-mini", "-k", "4", "--draws", "2", "--out", "new.npz"], set()),
        (["blocks", "zoo-mini", "--out", "new"], set()),
        (["report", "run", "--out", "new.html"], set()),
        (["occurrences", "run", "--pattern", "1", "--to", "csv", "--out", "new.csv"], set()),
        (["mine", "zoo-mini", "-k", "4", "--all", "--out", "new"], {"new"}),  # goes on when it is repeated
    ],
    ids=lambda value: " ".join(value[:1] + value[-1:]) if isinstance(value, list) else "",
)
def test_a_full_disk_is_named(arguments: list[str], left: set[str], made: Path) -> None:
    before = {path.name for path in made.iterdir()}
    done = subprocess.run(
        [*GRADE, *arguments], cwd=made, capture_output=True, text=True, check=False, preexec_fn=full
    )
    found = {path.name for path in made.iterdir()} - before
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith("grade: ")
    assert "cannot be written" in done.stderr
    assert "new" in done.stderr
    assert done.stderr.count("\n") == 1
    assert found <= left, found
    for name in found:
        subprocess.run(["rm", "-r", made / name], check=True)

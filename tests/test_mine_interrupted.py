"""Mining that is interrupted: full disks, kills, Ctrl-C; a run resumes and ends with the same catalogue."""

import errno
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from grade.errors import FileError
from grade.runs import RunFolder
from grade.sources import load
from tests.test_mine import GRADE, mine


def no_space(monkeypatch: Any, name: str) -> None:
    """A disk that is full whenever a file whose path ends so is put in its place."""
    real = Path.replace

    def replace_unless_full(path: Path, target: Path) -> Path:
        if Path(target).as_posix().endswith(name):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, target)

    monkeypatch.setattr(Path, "replace", replace_unless_full)


@pytest.mark.parametrize(
    "name",
    [
        "run.json",
        "samples/k-04",
        "models/k-05",
        "levels/k-05.npz",
        "supports/k-05-0003.json",
        "timings.json",
        "catalogue.sqlite",
    ],
)
def test_a_full_disk_gets_one_sentence_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: Any, name: str
) -> None:
    changes = {"rank_by": "estimator", "estimator": "frequency", "samples": 500, "beam": 50}
    with monkeypatch.context() as patched:
        no_space(patched, name)
        with pytest.raises(FileError, match=rf"{name} cannot be written \(No space left on device\); free"):
            mine(tmp_path / "run", **changes)
    assert not [file for file in (tmp_path / "run").rglob("*") if file.name.startswith(".")]
    assert not [file for file in (tmp_path / "run").rglob("*") if file.as_posix().endswith(name)]
    assert mine(tmp_path / "run", **changes) == mine(tmp_path / "whole", **changes)


@pytest.mark.parametrize("room", [3_000, 56_000, 75_000])
def test_a_command_that_may_write_no_more_ends_with_code_1(tmp_path: Path, room: int) -> None:
    """Files cannot grow past the limit, as on a disk without room: levels, then the catalogue are too large."""
    arguments = [
        "mine",
        "zoo-mini",
        "-k",
        "5",
        "--all",
        "--rank-by",
        "occurrences",
        "--top",
        "50",
        "--beam",
        "60",
        "--list-size",
        "40",
    ]
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f" resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}));"
        " from grade.start import main; sys.argv[0] = 'grade'; main()"
    )
    command = [sys.executable, "-c", limited, *arguments, "--out", str(tmp_path / "run")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1, result.stderr
    assert result.stderr.count("\n") == 1
    assert "cannot be written" in result.stderr
    assert not [file for file in (tmp_path / "run").rglob("*") if file.name.startswith(".")]
    assert not (tmp_path / "run" / "catalogue.sqlite").exists()
    for out in ("run", "whole"):
        subprocess.run([*GRADE, *arguments, "--out", tmp_path / out], check=True, capture_output=True)
    assert catalogue_bytes(tmp_path / "run") == catalogue_bytes(tmp_path / "whole")


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """A disk of half a MB holds some levels, then no more; in a larger place the same run ends like any other."""
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)]
    try:
        subprocess.run([*alone, *mount], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this process may not mount a small disk")
    arguments = [
        "mine",
        "zoo-mini",
        "-k",
        "6",
        "--all",
        "--rank-by",
        "occurrences",
        "--top",
        "5",
        "--beam",
        "200",
    ]
    arguments += ["--list-size", "40"]
    command = shlex.join([*GRADE, *arguments, "--out", str(disk / "run")])
    kept = tmp_path / "kept"
    script = f"{shlex.join(mount)} && {{ {command}; code=$?; cp -r {disk}/. {kept}; exit $code; }}"
    result = subprocess.run([*alone, "sh", "-c", script], capture_output=True, text=True)
    assert result.returncode == 1, result.stderr
    assert result.stderr.count("\n") == 1
    assert "cannot be written (No space left on device); free space" in result.stderr
    assert (kept / "run" / "levels" / "k-03.npz").exists()
    assert not list(kept.rglob(".*"))
    assert not (kept / "run" / "catalogue.sqlite").exists()
    for out in (kept / "run", tmp_path / "whole"):
        subprocess.run([*GRADE, *arguments, "--out", out], check=True, capture_output=True)
    assert catalogue_bytes(kept / "run") == catalogue_bytes(tmp_path / "whole")


def catalogue_bytes(run: Path) -> bytes:
    return (run / "catalogue.sqlite").read_bytes()


def test_a_killed_run_ends_with_the_same_catalogue(tmp_path: Path) -> None:
    """kill -9 a moment after something was written, again and again, until a run gets through."""
    arguments = [
        "mine",
        "zoo-mini",
        "-k",
        "7",
        "--top",
        "15",
        "--beam",
        "300",
        "--memory",
        "600M",
        "--threads",
        "1",
    ]
    subprocess.run([*GRADE, *arguments, "--out", tmp_path / "whole"], check=True, capture_output=True)
    moments = random.Random(3)
    kills = 0

    def written() -> int:
        """Whole files: what is under a hidden name is not."""
        number = 0
        for _, folders, files in os.walk(tmp_path / "killed"):  # which passes over what vanishes meanwhile
            folders[:] = [name for name in folders if not name.startswith(".")]
            number += sum(not name.startswith(".") for name in files)
        return number

    for _ in range(60):
        before = written()
        process = subprocess.Popen(
            [*GRADE, *arguments, "--out", tmp_path / "killed"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and written() == before:
            time.sleep(0.001)
        if process.poll() is not None:
            assert process.returncode == 0
            break
        # Each run writes something, so that the last one has nothing left to do, however slow or fast the machine is.
        time.sleep(moments.uniform(0, 0.02))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    assert kills > 0
    assert catalogue_bytes(tmp_path / "killed") == catalogue_bytes(tmp_path / "whole")
    assert not [file for file in (tmp_path / "killed").rglob("*") if file.name.startswith(".")]


KILLED_AT_FILES = """
import os, signal, sys
from pathlib import Path
from grade.mine import mine

put_in_place = Path.replace

def killing(before):
    def replace(path, target):
        if not before:
            put_in_place(path, target)
        os.kill(os.getpid(), signal.SIGKILL)
    return replace

def run(out):
    mine("zoo-mini", k="3-6", out=out, top=15, beam=60, list_size=40, threads=1)

for moment in range(20):
    child = os.fork()
    if child == 0:
        Path.replace = killing(before=moment % 2 == 0)
        run(sys.argv[1])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, moment
run(sys.argv[1])
run(sys.argv[2])
"""


def test_killed_at_twenty_moments(tmp_path: Path) -> None:
    """kill -9 just before a file is put in its place, and just after, ten times each; every run begins where the one
    before it ended.
    """
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_FILES, killed, whole], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert catalogue_bytes(killed) == catalogue_bytes(whole)
    assert not [file for file in killed.rglob("*") if file.name.startswith(".")]


def test_a_run_that_goes_on_removes_what_a_kill_left_half_written(tmp_path: Path) -> None:
    whole = mine(tmp_path / "run")
    (tmp_path / "run" / "catalogue.sqlite").unlink()
    (tmp_path / "run" / ".0123456789ab-catalogue.sqlite-journal").write_bytes(b"half")
    (tmp_path / "run" / "samples" / ".0123456789ab-k-04").mkdir()
    assert mine(tmp_path / "run") == whole
    assert not list((tmp_path / "run").rglob(".*"))


def test_ctrl_c_ends_with_one_line_and_the_run_goes_on(tmp_path: Path) -> None:
    arguments = ["mine", "zoo", "-k", "9", "--top", "5", "--memory", "1G", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(
        [*GRADE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "run" / "levels" / "k-03.npz").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == "grade: interrupted."
    assert not (tmp_path / "run" / "catalogue.sqlite").exists()
    assert RunFolder.open(tmp_path / "run").load_levels(load("zoo"))[0].size == 3

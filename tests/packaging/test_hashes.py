"""The lists of checksums have what is pinned, and nothing else."""

import re
from pathlib import Path

import pytest

from tests.packaging.hashes import BESIDE, CUDA, HASHED, ROOT, pinned

LINE = re.compile(r"(\S+)==([^\s+]+)((?: --hash=sha256:[0-9a-f]{64})+)")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def listed(file: Path) -> dict[str, tuple[str, int]]:
    """Version and number of checksums of every package, by name."""
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    packages = {normal(match[1]): (match[2], match[3].count("sha256:")) for match in found if match}
    assert len(packages) == len(lines)
    return packages


def test_every_pinned_package_has_its_checksum() -> None:
    packages = listed(HASHED)
    wanted = {normal(name): version for name, version in (line.split("==") for line in pinned())}
    found_here = {name: version for name, (version, _) in packages.items() if name not in BESIDE}
    assert found_here == wanted, "constraints.txt has changed: run 'make hashes'"


def test_torch_may_come_from_an_index_that_has_no_wheel_for_the_cpu() -> None:
    packages = listed(HASHED)
    assert {name for name, (_, checksums) in packages.items() if checksums > 1} == {"torch"}
    libraries = listed(CUDA)
    assert {"triton", "nvidia-cublas", "nvidia-cuda-runtime", "nvidia-cudnn-cu13"} <= libraries.keys()
    assert not libraries.keys() & packages.keys()


@pytest.mark.parametrize("file", [HASHED, CUDA])
def test_make_reads_the_lists(file: Path) -> None:
    assert f"-r {file.name}" in (ROOT / "Makefile").read_text()

"""The list of checksums has what is pinned, and nothing else."""

import re

from tests.packaging.hashes import BESIDE, HASHED, pinned


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_pinned_package_has_its_checksum() -> None:
    lines = [line for line in HASHED.read_text().splitlines() if not line.startswith("#")]
    found = [re.fullmatch(r"(\S+)==([^\s+]+)(\+\S+)? --hash=sha256:[0-9a-f]{64}", line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    hashed = {normal(match[1]): match[2] for match in found if match}
    assert len(hashed) == len(lines)
    wanted = {normal(name): version for name, version in (line.split("==") for line in pinned())}
    found_here = {name: version for name, version in hashed.items() if name not in BESIDE}
    assert found_here == wanted, "constraints.txt has changed: run 'make hashes'"

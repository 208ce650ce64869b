"""Archives that are damaged in every byte of their structure: read, or refused in one sentence."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grade import InputError
from grade.sources import load
from grade.sources.archives import archived
from tests.sources.test_circuits import BENCH


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_every_byte_of_an_archive_may_be_wrong(how: int, tmp_path: Path) -> None:
    """Flags of encryption and of patches, unknown methods, sizes and places that are not there."""
    path = tmp_path / "circuits.zip"
    with zipfile.ZipFile(path, "w", how) as archive:
        archive.writestr("a.bench", BENCH)
    whole = path.read_bytes()
    assert len(load(f"circuits:{path}")) == 1
    refused = set()
    for place in range(len(whole)):
        for bit in (0x01, 0x20, 0x80):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            try:
                load(f"circuits:{path}")
            except InputError as error:
                refused.add(str(error))
    assert all(str(path) in sentence and sentence.endswith(".") for sentence in refused)
    reasons = " ".join(refused)
    assert all(word in reasons for word in ("encrypted", "flag bit 5", "compression method"))


def test_errors_of_the_caller_stay() -> None:
    def members() -> Iterator[int]:
        yield 1

    def use() -> None:
        for _ in archived("archive.zip", members()):
            raise KeyError("of the caller")

    with pytest.raises(KeyError, match="of the caller"):
        use()

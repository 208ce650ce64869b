from pathlib import Path

import pytest

from grade.mine import mine


@pytest.fixture(scope="session")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small run."""
    folder = tmp_path_factory.mktemp("runs") / "mined"
    mine("zoo-mini", 6, folder, top=30, beam=200, threads=1, rank_by="occurrences", all=True)
    return folder

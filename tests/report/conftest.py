from pathlib import Path

import pytest

from grade.pipeline import mine
from grade.settings import MineSettings


@pytest.fixture(scope="session")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small run."""
    folder = tmp_path_factory.mktemp("runs") / "mined"
    mine(MineSettings(graphs="zoo-mini", k=6, out=folder, top=30, beam=200, threads=1))
    return folder

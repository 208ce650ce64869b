"""What the tests of the experiments share."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.accuracy import FOLDER, start


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a file of the accuracy experiment as it does itself: from its own folder."""
    monkeypatch.syspath_prepend(FOLDER)
    return import_module


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of the accuracy experiment's reduced matrix."""
    folder = tmp_path_factory.mktemp("accuracy")
    done = start("run.py", "--quick", "--out", folder, "--lines", folder / "copy" / "all.jsonl")
    assert done.returncode == 0, done.stderr
    return folder

"""What the tests of the experiments share."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ACCURACY = Path(__file__).parents[2] / "experiments" / "accuracy"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a file of the accuracy experiment as it does itself: from its own folder."""
    monkeypatch.syspath_prepend(ACCURACY)
    return import_module

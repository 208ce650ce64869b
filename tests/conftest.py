"""What all tests share."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

from grade import cli

# The same examples in every run: a test fails because the behaviour broke, and for no other reason.
settings.register_profile("grade", deadline=None, derandomize=True)
settings.load_profile("grade")

# A shell makes what it starts in the background deaf to Ctrl-C, and with it all that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Built-in graph sets are cached in a folder of this test session, not in the user's."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    yield folder
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


class Result(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON object on standard output; nothing else may be there or on standard error."""
        assert self.code == 0, self.err
        assert self.err == ""
        assert self.out.count("\n") == 1
        return json.loads(self.out)


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Result]:
    """Runs the command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["grade", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        captured = capfd.readouterr()
        return Result(int(stop.value.code or 0), captured.out, captured.err)

    return call

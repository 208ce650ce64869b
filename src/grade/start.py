"""Entry point of the command ``grade``: Ctrl-C ends it silently until the slow imports are done.

Nothing is imported before that but what Python has at hand: even ``signal`` takes milliseconds.
"""

import _signal  # type: ignore[import-not-found]  # typeshed lacks it
import os


def main() -> None:
    """Import the command line and run it."""
    if (
        _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
    ):  # in background jobs of a shell it is ignored
        _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))
    from grade.cli.app import main as run

    run()

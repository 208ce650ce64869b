"""Entry point of the command ``grade``: Ctrl-C ends it silently until the slow imports are done."""

import os
import signal


def main() -> None:
    """Import the command line and run it."""
    if (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):  # in background jobs of a shell it is ignored
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from grade.cli.app import main as run

    run()

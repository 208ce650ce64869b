"""Where the command ``grade`` begins: Ctrl-C ends it without a word until the slow imports are done."""

import os
import signal


def main() -> None:
    """Import the command line and run it."""
    if (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):  # a shell makes background jobs deaf to it
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from grade.cli.app import main as run

    run()

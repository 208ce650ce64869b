"""The command line. Commands are generated from the settings objects; the work is done elsewhere.

A command is a function whose parameters are settings objects of `grade.settings`, decorated with `command`:
each field becomes an argument or a flag. It does the work by one or two calls, then reports with `show`: a
dictionary for ``--json``, lines of text otherwise. Slow imports (torch) stand inside the command.
"""

from grade.cli import (  # noqa: F401, I001 (the order of the help)
    graphs,
    mining_commands,
    report_commands,
    timing_commands,
    block_commands,
    sampling_commands,
    significance_commands,
    estimator_commands,
)
from grade.cli.app import app, main

__all__ = ["app", "main"]

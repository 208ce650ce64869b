"""``python -m grade.cli`` is the command ``grade``."""

from grade.cli import main

main()

"""``python -m grade.cli`` is the command ``grade``."""

from grade.start import main

main()

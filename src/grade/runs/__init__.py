"""The results of a run: its folder and its catalogue."""

from grade.runs.catalogue import Catalogue, Chosen, Motif
from grade.runs.folder import RunFolder

__all__ = ["Catalogue", "Chosen", "Motif", "RunFolder"]

"""GraDE: frequent subgraphs (motifs) in sets of directed, typed graphs."""

from importlib import import_module
from typing import Any

from grade.errors import InputError
from grade.graphs import GraphSet, Pattern, PatternTable, SubgraphSample

__version__ = "0.1.0"
__all__ = ["GraphSet", "InputError", "Pattern", "PatternTable", "SubgraphSample", "__version__", "mine"]


def mine(models: Any, k: int = 8, **settings: Any) -> Any:
    """Find the most frequent patterns of k nodes in models; returns a `grade.mining.Mined`.

    Parameters
    ----------
    models : a GraphSet, a file, folder, glob or name that `grade mine` takes, or a list of those
    out : folder of the run, to keep it or to go on with it; a temporary one when left out
    settings : those of `grade mine`, e.g. ``top=20, contains="Conv*", rank_by="graphs"``

    >>> found = mine("zoo-mini", k=4, top=3, contains="Conv")
    >>> print(found.patterns[0], int(found.motifs[0].occurrences))
    Relu#1 -> Concat -> Conv; Relu#2 -> Concat 279
    """
    # What does the work lies in the upper layers and is slow to import: it is looked up when it is needed.
    return import_module("grade.mining").mine(models, k, **settings)

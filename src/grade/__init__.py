"""GraDE: frequent subgraphs (motifs) in sets of directed, typed graphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grade.errors import InputError
from grade.graphs import GraphSet, Pattern, PatternTable, SubgraphSample

if TYPE_CHECKING:
    from grade.mine import mine as mine

__version__ = "0.1.0"
__all__ = ["GraphSet", "InputError", "Pattern", "PatternTable", "SubgraphSample", "__version__", "mine"]

# What does the work lies in the upper layers and is slow to import: it is looked up when it is asked for.
ON_DEMAND = {"mine": "grade.mine"}


def __getattr__(name: str) -> Any:
    if name not in ON_DEMAND:
        raise AttributeError(f"module 'grade' has no attribute {name!r}")
    return import_module(ON_DEMAND[name])  # a module that can be called

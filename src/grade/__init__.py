"""GraDE: frequent subgraphs (motifs) in sets of directed, typed graphs."""

from grade.errors import InputError
from grade.graphs import GraphSet, Pattern, PatternTable, SubgraphSample

__version__ = "0.1.0"
__all__ = ["GraphSet", "InputError", "Pattern", "PatternTable", "SubgraphSample", "__version__"]

"""Graph sets, patterns and samples: the data that all stages share."""

from grade.graphs.graph_set import GraphSet
from grade.graphs.patterns import Pattern, PatternTable
from grade.graphs.sample import SubgraphSample

__all__ = ["GraphSet", "Pattern", "PatternTable", "SubgraphSample"]

"""The search: growing occurrences node by node, keeping the best patterns of each size."""

from grade.search.beam import Level, beam_search
from grade.search.constraints import Constraints
from grade.search.occurrence_lists import OccurrenceLists

__all__ = ["Constraints", "Level", "OccurrenceLists", "beam_search"]

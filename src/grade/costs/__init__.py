"""Savings by fusing a pattern: bytes not moved through memory, or measured costs."""

from grade.costs.cost_files import Costs, read_costs
from grade.costs.saving import Saving, Savings
from grade.costs.value_sizes import ValueSizes

__all__ = ["Costs", "Saving", "Savings", "ValueSizes", "read_costs"]

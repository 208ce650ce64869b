"""Repeated regions of any size: a grammar of a graph set, its blocks, and models written with them."""

import sys

from grade.blocks.finding import Block, Blocks, Model, Unit, blocks
from grade.callable_module import CallableModule

__all__ = ["Block", "Blocks", "Model", "Unit", "blocks"]

CallableModule.make(sys.modules[__name__], blocks)

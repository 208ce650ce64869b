"""Compiled networks. A network of this size is bound by memory and by the number of kernels, and torch's
compiler fuses most of them. Compilation takes a minute, and not every machine has what it needs.
"""

import warnings
from typing import Any, cast
from weakref import WeakKeyDictionary

import torch
from torch import nn

_compiled: "WeakKeyDictionary[nn.Module, Compiled]" = WeakKeyDictionary()


class Compiled(nn.Module):
    """A network that is compiled when it is first called, and works as it is where that fails."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network, self.fast = network, try_compile(network)

    def forward(self, *inputs: Any) -> Any:
        if self.fast is not self.network:
            try:
                return self.fast(*inputs)
            except Exception as error:  # what a compiler stumbles over; the network's own errors come again
                tell(error)
                self.fast = self.network
        return self.network(*inputs)


def try_compile(network: nn.Module) -> nn.Module:
    """What torch's compiler makes of the network; the network where there is no compiler."""
    try:
        return cast(nn.Module, torch.compile(network))
    except Exception as error:  # a version of Python that it does not know, say
        tell(error)
        return network


def tell(error: Exception) -> None:
    """Say that the network works as it is."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    warnings.warn(f"The network is not compiled and will be slower: {reason}", stacklevel=3)


def compiled(network: nn.Module) -> Compiled:
    """The compiled network, the same one for every call."""
    if network not in _compiled:
        _compiled[network] = Compiled(network)
    return _compiled[network]


def filled_rows(rows: int, limit: int) -> int:
    """A power of two that holds all rows, or the limit.

    >>> filled_rows(900, 4096), filled_rows(90_000, 4096)
    (1024, 4096)
    """
    return min(limit, 1 << (rows - 1).bit_length())

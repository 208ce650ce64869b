"""Compiled networks and steps. A network of this size is bound by memory and by the number of kernels, and torch's
compiler fuses most of them. Compilation takes a minute, and not every machine has a compiler for it.
"""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

import torch

F = TypeVar("F", bound=Callable[..., Any])

VARIANTS = 64


class Compiled:
    """A network or function that is compiled when it is first called, and works as it is where that fails."""

    def __init__(self, plain: Callable[..., Any]) -> None:
        self.plain, self.fast = plain, try_compile(plain)

    def __call__(self, *inputs: Any) -> Any:
        if self.fast is not self.plain:
            try:
                return self.fast(*inputs)
            except Exception as error:  # errors of the compiler; the network's own errors are raised again
                tell(error)
                self.fast = self.plain
        return self.plain(*inputs)


def try_compile(function: F) -> F:
    """A network or function compiled by torch; itself where there is no compiler."""
    try:
        # Beyond this number of variants (shapes, models) of one function, torch would go on without compiling.
        torch._dynamo.config.recompile_limit = max(VARIANTS, torch._dynamo.config.recompile_limit)
        return cast(F, torch.compile(function))
    except Exception as error:  # a version of Python that it does not know, say
        tell(error)
        return function


def tell(error: Exception) -> None:
    """Say that the network works as it is."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    warnings.warn(f"The network is not compiled and will be slower: {reason}", stacklevel=3)


@lru_cache(maxsize=16)
def compiled(function: Callable[..., Any]) -> Compiled:
    """The compiled network or function, the same one for every call; only the last few are kept."""
    return Compiled(function)


def filled_rows(rows: int, limit: int) -> int:
    """A power of two that holds all rows, or the limit.

    >>> filled_rows(900, 4096), filled_rows(90_000, 4096)
    (1024, 4096)
    """
    return min(limit, 1 << (rows - 1).bit_length())

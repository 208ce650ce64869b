"""Modules that can be called: `grade.mine` is a module, and ``grade.mine("zoo", k=8)`` runs its main function.

A package and a function of the same name would hide each other, depending on what was imported first.
"""

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module that calls its main function when called, with that function's signature and documentation."""

    __wrapped__: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    @classmethod
    def make(cls, module: ModuleType, main: Callable[..., Any]) -> None:
        """Make a module callable.

        >>> import inspect, grade.mine
        >>> list(inspect.signature(grade.mine).parameters)[:2]
        ['graphs', 'k']
        >>> "Parameters" in grade.mine.__doc__
        True
        """
        module.__class__ = cls
        # Without the examples, which doctest would find twice.
        module.__doc__ = inspect.cleandoc(main.__doc__ or "").partition("\n>>>")[0]
        functools.update_wrapper(module, main, assigned=())  # type: ignore[arg-type]  # sets __wrapped__

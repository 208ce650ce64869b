"""The models of one package: their names, and how one is made."""

from collections.abc import Callable
from typing import Any

import torch

Made = tuple[torch.nn.Module, tuple[Any, ...]] | tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]
DOT = "·"  # stands for a dot in a name, because the dots of a spec separate attributes


class Package:
    """Models of one package by their names, which may hold any character but `DOT`."""

    def __init__(
        self,
        names: Callable[[], list[str]],
        make: Callable[[str], Made],
        rank: int = 0,
        family: Callable[[str], str] = lambda name: "",
    ) -> None:
        self.names, self.make, self.rank, self.family = names, make, rank, family

    def __getattr__(self, name: str) -> Callable[[], Made]:
        return lambda: self.make(name.replace(DOT, "."))

    @staticmethod
    def spec(key: str, name: str) -> str:
        return f"torch:makers:{key}.{name.replace('.', DOT)}"

"""One use of an ONNX operator, as the translation to PyTorch sees it."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

DTYPES = {  # onnx.TensorProto.DataType -> torch
    1: "torch.float32", 2: "torch.uint8", 3: "torch.int8", 5: "torch.int16", 6: "torch.int32", 7: "torch.int64",
    9: "torch.bool", 10: "torch.float16", 11: "torch.float64", 16: "torch.bfloat16",
}  # fmt: skip


def short(value: float) -> str:
    """The shortest text that is the same number in single precision.

    >>> short(9.999999974752427e-07), short(0.5)
    ('1e-06', '0.5')
    """
    return str(float(np.format_float_scientific(np.float32(value))))


def number(value: Any) -> str:
    """A number of the model as Python writes it; those of single precision are as short as they can be.

    >>> number(np.float32(0.1)), number(np.array(-np.inf)), number(3)
    ('0.1', 'float("-inf")', '3')
    """
    plain = value.item() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(plain, float) and not math.isfinite(plain):
        return f'float("{plain}")'
    single = isinstance(value, np.ndarray | np.generic) and value.dtype == np.float32
    return short(plain) if single else str(plain)


class UntranslatableError(Exception):
    """The operator, or this use of it, has no counterpart here."""


@dataclass(frozen=True)
class Call:
    """One use of an operator."""

    inputs: list[str | None]  # expressions; None for an operand that is left out
    attributes: dict[str, Any]
    constants: list[NDArray[Any] | None]  # values of the inputs that are known
    ranks: list[int | None]
    outputs: int
    opset: int
    helpers: set[str] = field(default_factory=set)  # those that the expression uses

    def __getitem__(self, place: int) -> str:
        found = self.optional(place)
        if found is None:
            raise UntranslatableError
        return found

    def optional(self, place: int) -> str | None:
        return self.inputs[place] if place < len(self.inputs) else None

    def constant(self, place: int) -> NDArray[Any] | None:
        return self.constants[place] if place < len(self.constants) else None

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute; the default where it is missing or has no value."""
        value = self.attributes.get(name)
        return default if value is None else value

    def ints(self, place: int) -> str:
        """A list of numbers: written out where they are known, taken from the tensor otherwise."""
        known = self.constant(place)
        if known is not None:
            return str(known.ravel().tolist())
        return f"{self[place]}.reshape(-1).tolist()"

    def scalar(self, place: int) -> str:
        """An operand of an arithmetic operator: a number where it is known and the other one is a tensor of no fewer
        dimensions.
        """
        known = self.constant(place)
        if known is None or known.size != 1 or self.constant(1 - place) is not None:
            return self[place]
        if known.ndim and known.ndim > (self.ranks[1 - place] or 0):
            return self[place]
        return f"({number(known)})" if known < 0 else number(known)

    def helper(self, name: str, *arguments: object) -> str:
        self.helpers.add(name)
        return f"{name}({', '.join(str(argument) for argument in arguments)})"

    def axes(self, place: int) -> str | None:
        """Axes: an attribute in older opsets, an operand in newer ones."""
        given = self.get("axes")
        if given is not None:
            return str(list(given))
        return self.ints(place) if self.optional(place) is not None else None

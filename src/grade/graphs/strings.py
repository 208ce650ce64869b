"""Millions of names without millions of Python objects."""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray


class StringTable(Sequence[str]):
    """An immutable sequence of strings: UTF-8 bytes end to end, and offsets. Both may be memory-mapped.

    >>> table = StringTable.from_strings(["conv", "", "größe"])
    >>> len(table), table[2], list(table)
    (3, 'größe', ['conv', '', 'größe'])
    """

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> "StringTable":
        # A lone surrogate (a file name that is not UTF-8) must not stop a build: it becomes '?'.
        encoded = [text.encode("utf-8", "replace") for text in strings]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @classmethod
    def joined(cls, tables: "Sequence[StringTable]") -> "StringTable":
        """All strings of several tables, one table after the other."""
        ends = np.cumsum([0, *(len(table.data) for table in tables)])
        tails = [table.offsets[1:] + end for table, end in zip(tables, ends[:-1], strict=True)]
        data = np.concatenate([np.zeros(0, np.uint8), *(table.data for table in tables)])
        return cls(data, np.concatenate([np.zeros(1, np.int64), *tails]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "StringTable": ...
    def __getitem__(self, index: int | slice) -> "str | StringTable":
        if isinstance(index, slice):
            begin, end, step = index.indices(len(self))
            if step == 1:  # bytes end to end: nothing is looked at one by one
                bounds = self.offsets[begin : max(begin, end) + 1]
                return StringTable(self.data[bounds[0] : bounds[-1]], bounds - bounds[0])
            return self.take(np.arange(len(self))[index])
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        return bytes(self.data[self.offsets[index] : self.offsets[index + 1]]).decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StringTable):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.data, other.data)

    __hash__ = None  # type: ignore[assignment]  # equality by content over arrays: not hashable

    def take(self, indices: NDArray[np.int64]) -> "StringTable":
        """The strings at these indices, in this order."""
        lengths = (self.offsets[1:] - self.offsets[:-1])[indices]
        offsets = np.zeros(len(indices) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return StringTable(self.data[ranges(self.offsets[indices], lengths)], offsets)


def storable(text: str) -> str:
    """The text as it will be read back: a lone surrogate, which is no character, becomes '?'.

    >>> storable("conv"), storable(chr(0xD800))
    ('conv', '?')
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The concatenation of ``arange(start, start + length)``.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    if len(starts) == 0:
        return np.zeros(0, np.int64)
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1])

"""A reader for the wire format of protocol buffers that skips unwanted fields.

A message is a sequence of fields, each a tag (number and kind of field) and a value; a value of variable
length says its length first. So a field that is not wanted, such as the weights in a model, is stepped over
without being touched: a memory-mapped file of 10 GB is read in the time that its wanted fields take. Nothing is
trusted: a length that leaves its message, or a number that does not end, is a `WireError`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grade.errors import InputError

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)
MAX_TEXT = 1 << 16  # bytes of a name; none is longer in a file that means well


class WireError(ValueError):
    """The bytes are not a message."""


def fields(data: memoryview, begin: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(number, kind, begin or value, end) of every field of the message ``data[begin:end]``.

    For a field of variable length and for fixed ones the last two are its bounds; a varint has its value in
    the third place.

    >>> list(fields(memoryview(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69])), 0, 7))
    [(1, 0, 150, 3), (2, 2, 5, 7)]
    """
    place = begin
    while place < end:
        tag = data[place]
        place += 1
        if tag >= 0x80:
            tag, place = varint(data, place - 1, end)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise WireError("a field has an impossible number")
        if kind == LENGTH:
            if place >= end:
                raise WireError("it ends too early")
            length = data[place]
            place += 1
            if length >= 0x80:
                length, place = varint(data, place - 1, end)
            if length > end - place:
                raise WireError("it ends too early")
            yield number, kind, place, place + length
            place += length
        elif kind == VARINT:
            value, place = varint(data, place, end)
            yield number, kind, value, place
        elif kind in (FIXED32, FIXED64):
            size = 4 if kind == FIXED32 else 8
            if size > end - place:
                raise WireError("it ends too early")
            yield number, kind, place, place + size
            place += size
        else:
            raise WireError("a field is of an unknown kind")


def varint(data: memoryview, place: int, end: int) -> tuple[int, int]:
    """(value, place after it) of a number of 1 to 10 bytes, seven bits each, the lowest first.

    >>> varint(memoryview(bytes([0xAC, 0x02])), 0, 2)
    (300, 2)
    """
    value = 0
    for shift in range(0, 70, 7):
        if place >= end:
            raise WireError("it ends too early")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place
    raise WireError("a number does not end")


def signed(value: int) -> int:
    """A varint as a 64-bit signed number.

    >>> signed(2**64 - 1)
    -1
    """
    return value - (1 << 64) if value >= 1 << 63 else value


def text(data: memoryview, begin: int, end: int) -> str:
    """The UTF-8 text of a field."""
    if end - begin > MAX_TEXT:
        raise WireError(f"a name has {end - begin} bytes")
    try:
        return str(data[begin:end], "utf-8")
    except UnicodeDecodeError:
        raise WireError("a name is not UTF-8") from None


def check_text(message: Any, path: str | Path) -> None:
    """Refuse a model, parsed by onnx, in which a text is not UTF-8: its parser hands those bytes on as they are."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            if any(
                isinstance(each, bytes) for each in ([value] if isinstance(value, str | bytes) else value)
            ):
                raise InputError(f"{path} is not a valid ONNX model (a name is not UTF-8); export it again.")
        elif field.type == field.TYPE_MESSAGE:
            for part in [value] if hasattr(value, "ListFields") else value:
                check_text(part, path)

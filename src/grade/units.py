"""Sizes and times in text."""

import re

from grade.errors import InputError

BYTES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_bytes(text: str) -> int:
    """
    >>> parse_bytes("8G"), parse_bytes("512m"), parse_bytes("1.5K")
    (8589934592, 536870912, 1536)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise InputError(f"{text!r} is not a size in bytes; write one like 8G or 512M.")
    return int(float(match[1]) * BYTES[match[2].upper()])


def parse_seconds(text: str) -> float:
    """
    >>> parse_seconds("30m"), parse_seconds("1.5h"), parse_seconds("90")
    (1800.0, 5400.0, 90.0)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip())
    if match is None or float(match[1]) <= 0:
        raise InputError(f"{text!r} is not a length of time; write one like 30m, 90s or 2h.")
    return float(match[1]) * SECONDS[match[2]]

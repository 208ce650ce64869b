"""Damage to files, and what a reader may do with a damaged file: read it, or refuse it by name."""

import random
from pathlib import Path

from grade.errors import InputError
from grade.settings import ReadSettings
from grade.sources.readers import item_of

TOKENS = [
    b"\xff" * 10,
    b"\x00",
    b"\x7f",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    b"<",
    b"&a;",
    b"[" * 50,
    b"1e999",
    b'"',
]


def mutated(whole: bytes, rng: random.Random) -> bytes:
    """One or two kinds of damage, half of them changes of single bits."""
    content = bytearray(whole)
    for _ in range(rng.randint(1, 2)):
        if not content:
            break
        place, length = rng.randrange(len(content)), rng.randint(1, 40)
        match rng.randrange(10):
            case 0 | 6 | 7 | 8 | 9:
                content[place] ^= 1 << rng.randrange(8)
            case 1:
                del content[place:]
            case 2:
                del content[place : place + length]
            case 3:
                content[place:place] = rng.choice(TOKENS)
            case 4:
                content[place : place + length] = rng.randbytes(length)
            case 5:
                other = rng.randrange(len(content))
                content[place:place] = content[other : other + length * 5]
    return bytes(content)


def outcome(path: Path, settings: ReadSettings) -> str:
    """ "read" or "refused"; any other exception, and a refusal that does not say of what, is an error."""
    try:
        for graphs in item_of(path).read(settings):
            _ = graphs.core  # what was read is a valid set
    except InputError as error:
        sentence = str(error)
        assert str(path) in sentence
        assert "\n" not in sentence
        assert sentence.endswith(".")
        return "refused"
    return "read"

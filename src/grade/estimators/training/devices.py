"""The device to compute on, its memory, and torch's threads."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from grade.errors import InputError


def pick_device(name: str) -> torch.device:
    """The device that the settings name; ``auto`` takes the GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    known = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    try:
        device = torch.device(name)
        if device.type not in known:
            raise ValueError("torch has no such device here")
        if device.index is not None and device.type == "cuda":
            torch.cuda.set_device(device)  # a name without a number means the current device
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"The device {name!r} cannot be used ({reason}); give {' or '.join(known)}."
        ) from error
    return device


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch with one thread inside: sums that are split among threads depend on their number in the last digit, and
    training amplifies such differences.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def rows_that_fit(device: torch.device, floats: int, share: float) -> int:
    """The number of rows to evaluate at once when each needs memory for ``floats`` numbers.

    On a GPU as many as a share of the free memory holds, rounded to a power of two so that a little more or less
    memory does not change the shape of batches; on a CPU as many as stay in the cache, which is faster than more.
    """
    if device.type == "cpu":
        return max(16, (1 << 25) // floats)
    free, _ = torch.cuda.mem_get_info(device)
    fit = max(16, min(1 << 16, int(free * share) // (4 * floats)))
    return 1 << (fit.bit_length() - 1)

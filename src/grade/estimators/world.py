"""The device to compute on, and the processes of a torchrun, which train one network together."""

import atexit
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from grade.errors import InputError


@dataclass(frozen=True)
class World:
    """The processes of a torchrun; a single one otherwise."""

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls, device: torch.device) -> "World":
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size == 1:
            return cls()
        if not torch.distributed.is_initialized():
            # Its functions take the group that there is at its import, by default, and keep it alive: imported
            # later, by an optimizer, the group's threads outlive `leave` and may abort at the interpreter's end.
            importlib.import_module("torch.distributed.nn.functional")
            torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
            atexit.register(leave)
        return cls(torch.distributed.get_rank(), size)

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and reports."""
        return self.rank == 0

    def wait(self) -> None:
        """Go on when all processes are here."""
        if self.size > 1:
            torch.distributed.barrier()

    def agreed(self, value: float, device: torch.device) -> float:
        """The first process's value, so that all take the same decision."""
        if self.size == 1:
            return value
        shared = torch.tensor(value, dtype=torch.float64, device=device)
        torch.distributed.broadcast(shared, 0)
        return float(shared)

    def gather(self, tensor: Tensor, device: torch.device) -> list[Tensor]:
        """Every process's tensor, in the order of their ranks."""
        if self.size == 1:
            return [tensor]
        parts = [torch.empty_like(tensor, device=device) for _ in range(self.size)]
        torch.distributed.all_gather(parts, tensor.to(device))
        return [part.to(tensor.device) for part in parts]

    def average_gradients(self, parameters: list[Tensor]) -> None:
        """One all-reduce of all gradients end to end."""
        if self.size == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([g.flatten() for g in gradients])
        torch.distributed.all_reduce(flat)
        begin = 0
        for gradient in gradients:
            gradient.copy_(flat[begin : begin + gradient.numel()].view_as(gradient) / self.size)
            begin += gradient.numel()


def leave() -> None:
    """Part from the other processes at the end of the program."""
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def pick_device(name: str) -> torch.device:
    """The device that the settings name; ``auto`` takes the GPU where there is one, and ``auto`` and ``cuda``
    take one for each process of a torchrun.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        name = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    try:
        device = torch.device(name)
        if device.type == "cuda":
            torch.cuda.set_device(device)  # streams, captures and collectives use the current one
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"The device {name!r} cannot be used ({str(error).splitlines()[0]}); give cpu or cuda."
        ) from error
    return device


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch with one thread inside: sums that are split among threads depend, in the last digit, on how many
    there are, and a training makes much of the last digit.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def rows_that_fit(device: torch.device, floats: int, share: float) -> int:
    """How many rows to evaluate at once when each needs so many numbers of memory.

    On a GPU what a share of the free memory holds, as a power of two so that a little more or less memory
    does not change the shape of the batches; on a CPU what stays in the cache, which is faster than more.
    """
    if device.type == "cpu":
        return max(16, (1 << 25) // floats)
    free, _ = torch.cuda.mem_get_info(device)
    fit = max(16, min(1 << 16, int(free * share) // (4 * floats)))
    return 1 << (fit.bit_length() - 1)

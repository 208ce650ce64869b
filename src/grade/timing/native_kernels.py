"""Kernels as functions of tensors: compiled by the C++ compiler for a CPU, by Triton for a GPU."""

import ctypes
import hashlib
import itertools
import os
import shutil
import subprocess
import tempfile
import types
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from grade.timing.kernel_source import Kernel, kernel_cpp, kernel_triton

# Vectorised exp, erf and tanh come with unsafe mathematics; infinities stay legal, as masks are made of them.
FLAGS = (
    "-O3",
    "-march=native",
    "-fopenmp",
    "-ffast-math",
    "-fno-finite-math-only",
    "-D__FAST_MATH__",
    "-fPIC",
)


class UnavailableError(Exception):
    """A strategy cannot be used here; the message says why."""


def compiler() -> str:
    """The C++ compiler; why there is none."""
    name = os.environ.get("CXX", "g++")
    if shutil.which(name) is None:
        raise UnavailableError(f"there is no C++ compiler {name!r}")
    return name


def openmp() -> str:
    """The OpenMP library that torch has loaded, so that its threads serve kernels, too; the system's otherwise."""
    found = sorted(Path(torch.__file__).parent.glob("lib/libgomp*"))
    return str(found[0]) if found else "-fopenmp"


@lru_cache(maxsize=256)
def library(source: str) -> ctypes.CDLL:
    """A source compiled and loaded; once for each source of this process."""
    folder = Path(tempfile.mkdtemp(prefix="grade-kernel-"))
    try:
        name = hashlib.sha256(source.encode()).hexdigest()[:16]
        (folder / f"{name}.cpp").write_text(source)
        # Linked without -ffast-math, which would set the processor to flush small numbers in the whole process.
        for command in (
            [compiler(), *FLAGS, "-c", f"{name}.cpp", "-o", f"{name}.o"],
            [compiler(), "-shared", f"{name}.o", "-o", f"{name}.so", openmp(), "-lmvec", "-lm"],
        ):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                reason = next(
                    (line for line in done.stderr.splitlines() if "error" in line), done.stderr[-200:]
                )
                raise UnavailableError(f"the C++ compiler refuses the kernel ({reason.strip()[:160]})")
        return ctypes.CDLL(str(folder / f"{name}.so"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def on_cpu(kernel: Kernel, templates: Sequence[torch.Tensor]) -> Callable[..., Any]:
    """A kernel as a function of tensors, which lie as they did when it was made; results like the templates."""
    function: Any = library(kernel_cpp(kernel)).run
    function.argtypes = [ctypes.c_void_p] * (len(kernel.inputs) + len(kernel.outputs))
    function.restype = None

    def run(*given: torch.Tensor) -> Any:
        results = [torch.empty_like(template) for template in templates]
        function(*(tensor.data_ptr() for tensor in given), *(tensor.data_ptr() for tensor in results))
        return tuple(results)

    return run


def on_gpu(kernel: Kernel, templates: Sequence[torch.Tensor]) -> Callable[..., Any]:
    """The same by Triton; the first run chooses the number of warps."""
    made = triton_module(kernel_triton(kernel))
    chosen: list[int] = []

    def launch(given: Sequence[torch.Tensor], warps: int) -> tuple[torch.Tensor, ...]:
        results = tuple(torch.empty_like(template) for template in templates)
        made.kernel[made.GRID](*given, *results, num_warps=warps)
        return results

    def run(*given: torch.Tensor) -> Any:
        if not chosen:
            chosen.append(quickest(lambda warps: launch(given, warps), warps_for(made.ELEMENTS)))
        return launch(given, chosen[0])

    return run


def warps_for(elements: int) -> list[int]:
    """Numbers of warps to try for a program of so many elements: 4 to 32 elements for each of 32 threads.

    >>> warps_for(1024), warps_for(65536)
    ([1, 2, 4, 8], [32])
    """
    return sorted({min(max(elements // (32 * each), 1), 32) for each in (4, 8, 16, 32)})


def quickest(launch: Callable[[int], Any], choices: Sequence[int]) -> int:
    """The choice with the shortest of a few runs by the GPU's clock."""
    if len(choices) == 1 or not torch.cuda.is_available():  # Triton's interpreter needs no choice
        return choices[0]
    seconds = {}
    for choice in choices:
        launch(choice)  # compiles
        events: list[Any] = [torch.cuda.Event(enable_timing=True) for _ in range(RUNS + 1)]  # type: ignore[no-untyped-call]  # torch's
        for event in events[:-1]:
            event.record()
            launch(choice)
        events[-1].record()
        torch.cuda.synchronize()
        seconds[choice] = min(a.elapsed_time(b) for a, b in itertools.pairwise(events))
    return min(choices, key=lambda choice: seconds[choice])


RUNS = 5  # of each choice


@lru_cache(maxsize=256)
def triton_module(source: str) -> Any:
    """A source with a Triton kernel, imported from a file, as Triton reads the text of its kernels."""
    import importlib.util

    if importlib.util.find_spec("triton") is None:
        raise UnavailableError("triton is not installed")
    folder = Path(tempfile.mkdtemp(prefix="grade-kernel-"))
    file = folder / f"kernel_{hashlib.sha256(source.encode()).hexdigest()[:16]}.py"
    file.write_text(source)
    made = types.ModuleType(file.stem)
    made.__file__ = str(file)
    exec(compile(source, str(file), "exec"), made.__dict__)  # written by kernel_source
    return made

"""The processors and the memory available to this process."""

import os
import sys
from pathlib import Path

from grade.errors import InputError

MOST_THREADS = 64  # on a machine with fewer cores


def available_threads() -> int:
    """Number of processor cores that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def thread_count(threads: int | None) -> int:
    """The number of threads to use: by default all available ones.

    >>> thread_count(3)
    3
    """
    if threads is None:
        return available_threads()
    if not 1 <= threads <= 1024:
        raise InputError(
            f"The number of threads is {threads}; give 1 to 1024, or leave it out to use all cores."
        )
    # Results are those of any number, and a system may refuse hundreds of threads.
    return min(threads, max(MOST_THREADS, available_threads()))


def available_memory() -> int:
    """Bytes that can be allocated without swapping, in this container where there is one."""
    bounds = [os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        report = dict(line.split(":", 1) for line in lines if ":" in line)
        bounds = [int(report["MemAvailable"].split()[0]) * 1024]
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text())  # the word "max" where there is no limit
        bounds.append(limit - int((group / "memory.current").read_text()))
    except (OSError, KeyError, ValueError):
        pass  # another system, or no limit: the first bound stands
    return max(min(bounds), 0)


def resident_memory(peak: bool = False) -> int:
    """Bytes of main memory that this process takes, mapped files included; with ``peak`` the most that it ever took."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        name = "VmHWM:" if peak else "VmRSS:"
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
    except (OSError, StopIteration, ValueError):  # another system, which knows the peak only
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024

import os

import pytest

from grade import InputError
from grade.machine import available_memory, available_threads, thread_count


def test_threads_are_those_the_process_may_use() -> None:
    assert thread_count(None) == available_threads() == len(os.sched_getaffinity(0))
    assert thread_count(64) == 64
    assert thread_count(1024) == max(64, available_threads())  # a system may refuse more
    for threads in (0, 1025):
        with pytest.raises(InputError, match=f"The number of threads is {threads}; give 1 to 1024"):
            thread_count(threads)


def test_memory_is_less_than_the_machine_has() -> None:
    assert 0 < available_memory() < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

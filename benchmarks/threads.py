"""How much of a search runs on one thread only.

Run: python benchmarks/threads.py --set FOLDER [-k 8] [--beam 1000] [--memory 4G] [--rankings occurrences ...]

FOLDER is a graph set that experiments/scale/generate.py made. The native core starts threads of its own for whatever is
parallel, while the thread that calls it waits. So the processor time of the calling thread is the serial part, however
busy the machine is. A search on one thread takes its processor time; one on two threads at least the serial part and
half of the rest. The ratio is what two threads gain where nothing else runs on the machine.
"""

import argparse
import tempfile
import time
from pathlib import Path

from common import machine, write_results
from grade.graphs.storage import load_graph_set
from grade.machine import resident_memory
from grade.mine import mine


def measured(folder: Path, k: int, beam: int, memory: str, ranking: str, threads: int) -> tuple[float, float]:
    """(processor seconds of the calling thread, of all threads) of one search."""
    with tempfile.TemporaryDirectory() as place:
        serial, total = time.thread_time(), time.process_time()
        mine(
            load_graph_set(folder),
            k,
            Path(place) / "run",
            all=True,
            rank_by=ranking,
            beam=beam,
            memory=memory,
            top=5,
            seconds_per_pattern=2.0,
            threads=threads,
        )
        return time.thread_time() - serial, time.process_time() - total


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", type=Path, required=True, help="folder of a graph set")
    parser.add_argument("-k", type=int, default=8)
    parser.add_argument("--beam", type=int, default=1000)
    parser.add_argument("--memory", default="4G")
    parser.add_argument("--rankings", nargs="+", default=["occurrences"])
    given = parser.parse_args()
    where, rows = machine(), []
    for ranking in given.rankings:
        shared = given.set, given.k, given.beam, given.memory, ranking
        _, one = measured(*shared, 1)
        serial, two = measured(*shared, 2)
        rows.append(
            {
                "ranking": ranking,
                "one thread: processor s": round(one, 1),
                "two threads: processor s": round(two, 1),
                "of it on the calling thread": round(serial, 1),
                "serial share": f"{serial / two:.1%}",
                "two threads at most, times one": f"{one / (serial + (two - serial) / 2):.2f}",
                "peak MB": resident_memory(peak=True) >> 20,
            }
        )
        print(rows[-1], flush=True)
    graphs = load_graph_set(given.set)
    notes = [
        f"{graphs.nodes:,} nodes, search to {given.k} nodes, beam {given.beam}, `--memory {given.memory}`,"
        " the best 5 patterns counted; opening the set and writing the run included."
    ]
    write_results("threads", "The serial part of a search", rows, notes, where)


if __name__ == "__main__":
    main()

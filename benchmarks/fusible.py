"""Fusible patterns of `zoo`: all of them while they can be listed, bounded lists where wide fan-in explodes.

Run: python benchmarks/fusible.py [-k K]
"""

import argparse
import time
from typing import Any

from common import machine, write_results
from grade.search import Constraints, beam_search
from grade.search.beam import Bounds
from grade.search.ranking import ranking
from grade.search.supports import Supports
from grade.sources import load

MEMORY = 4 * 2**30


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", type=int, default=12)
    largest = parser.parse_args().k
    where = machine()
    zoo = load("zoo")
    table: list[dict[str, Any]] = []
    for name, wishes in (("in-degree at most 2", {"max_in_degree": 2}), ("any fan-in", {})):
        begin = time.process_time()
        levels = beam_search(
            zoo,
            largest,
            beam=1000,
            score=ranking("occurrences", zoo, 1000, supports=Supports(zoo, fusible=True, threads=2)),
            constraints=Constraints(fusible=True, **wishes),
            bounds=Bounds.from_memory(MEMORY, largest, 1000),
            threads=2,
        )
        for level in levels:
            table.append(
                {
                    "inputs": name,
                    "k": level.size,
                    "occurrences made": f"{level.instances:,}",
                    "patterns": f"{level.candidates:,}",
                    "every pattern listed": "yes" if level.whole else "no",
                    "exact counts": f"{100 * level.lists.exact.mean():.1f} %",
                    "occurrences of the 50th": f"{level.scores[:50][-1]:,.0f}",
                    "processor seconds, in all": round(time.process_time() - begin, 1),
                }
            )
            print(table[-1], flush=True)
    notes = [
        f"Memory budget {MEMORY // 2**30} GiB; ranked by occurrences. With any fan-in, the subsets of the inputs of"
        " wide concatenations (up to 90) pass the budget from some size on: then patterns with few inputs at every node"
        " are listed in full, and the others come from bounded lists. Exact counts are of the patterns that are kept.",
    ]
    write_results("fusible", "Fusible patterns of zoo", table, notes, where)


if __name__ == "__main__":
    main()

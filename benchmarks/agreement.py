"""Whether `grade.mine` returns the patterns that it must: every ranking, constraint and size against plain Python.

Run: python benchmarks/agreement.py [--seeds N]
"""

import argparse
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

from common import machine, write_results

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.search.agreement import CONSTRAINTS, RANKINGS, random_case

TOPS = (1, 3, 10)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=4, help="random sets of each size")
    seeds = parser.parse_args().seeds
    where = machine()
    table: list[dict[str, Any]] = []
    for k in (3, 4, 5, 6):
        cases = differences = patterns = 0
        begin = time.process_time()
        for seed in range(seeds):
            case = random_case(1000 + seed, k)
            patterns += len(case.patterns[False])
            for (wishes, holds), rank_by, top in product(CONSTRAINTS, RANKINGS, TOPS):
                difference = case.difference(rank_by, wishes, holds, top)
                cases += 1
                differences += difference is not None
                if difference is not None:
                    print(k, seed, wishes, rank_by, top, difference, flush=True)
        table.append(
            {
                "k": k,
                "sets": seeds,
                "patterns": patterns,
                "cases": cases,
                "differences": differences,
                "processor seconds": round(time.process_time() - begin),
            }
        )
        print(table[-1], flush=True)
    notes = [
        "A case is one call of `grade.mine(..., all=True)` with complete lists: it must return the patterns with the"
        " most support, and no wrong number among occurrences, graphs, disjoint, coverage and mni.",
        f"{len(CONSTRAINTS)} sets of constraints x {len(RANKINGS)} rankings x top {', '.join(map(str, TOPS))}; sets"
        " with cycles, self-loops, two edge types and graph outputs; the other miner is `tests/search/brute_force.py`.",
    ]
    write_results(
        "agreement", "The patterns that must come back, against a miner in plain Python", table, notes, where
    )


if __name__ == "__main__":
    main()

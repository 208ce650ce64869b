"""A whole run that an estimator guides, on two cores without a GPU: seconds, and how good its answer is.

Run: python benchmarks/guided.py [--quick]

zoo-mini, k = 6, 3,000 samples of each size, a beam of 200. Found is the share of the 50 most frequent patterns (all of
equal count at the border) among the first 50, by the exact census.
"""

import argparse
import time
from typing import Any

import numpy as np

from common import machine, write_results
from grade import mine
from grade.graphs import PatternTable
from grade.sampling.census import take_census
from grade.sources import load

SET, K, FIRST = "zoo-mini", 6, 50


def row(rank_by: str, **changes: Any) -> dict[str, Any]:
    """One run, of which nothing is kept."""
    census = take_census(load(SET), K)
    begin, processor = time.perf_counter(), time.process_time()
    found = mine(
        SET,
        K,
        rank_by=rank_by,
        samples=3000,
        beam=200,
        top=FIRST,
        all=True,
        threads=2,
        **changes,
    )
    seconds, processor = time.perf_counter() - begin, time.process_time() - processor
    keys = [pattern.key for pattern in found.patterns[:FIRST]]
    known = census.patterns
    table = PatternTable.from_keys(keys, known.node_vocabulary, known.edge_vocabulary)
    named = census.counts[known.find(table)]
    return {
        "rank by": rank_by,
        "estimator": "",
        "preset": "",
        "seconds": f"{seconds:.0f}",
        "processor seconds": f"{processor:.0f}",
        "found": f"{float((named >= np.sort(census.counts)[-FIRST]).mean()):.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="without networks, to see that it runs")
    quick = parser.parse_args().quick
    where = machine()
    asked = [("occurrences", "-", "-"), ("estimator", "parts", "fast"), ("probability", "parts", "fast")]
    if not quick:
        kinds = [
            ("autoregressive", "fast"),
            ("autoregressive", "default"),
            ("disco", "fast"),
            ("disco", "default"),
        ]
        asked += [(rank_by, *kind) for kind in kinds for rank_by in ("estimator", "probability")]
    table = []
    for rank_by, estimator, preset in asked:
        changes = {} if estimator == "-" else {"estimator": estimator, "preset": preset}
        table.append({**row(rank_by, **changes), "estimator": estimator, "preset": preset})
        print(table[-1], flush=True)
    notes = [
        "occurrences and estimator count every candidate without bias; probability is the estimator alone."
    ]
    if not quick:
        write_results("guided", "Searches that estimators guide", table, notes, where)


if __name__ == "__main__":
    main()

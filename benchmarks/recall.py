"""How many of the true best 50 patterns of `zoo` the search finds with occurrence lists a tenth as long as usual.

The truth comes from the census. "Before": supports of candidates are those that their bounded lists show, and patterns
of three nodes are selected by their number of occurrences, whatever the ranking.

Run: python benchmarks/recall.py [-k 5 6]
"""

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import machine, write_results
from grade.graphs import GraphSet
from grade.sampling.census import take_census
from grade.search import Constraints, beam_search
from grade.search.beam import START, Bounds, Score
from grade.search.candidates import Counted
from grade.search.ranking import ranking, tie_break
from grade.search.supports import Supports
from grade.sources import load

TOP, BEAM, LIST_SIZE = 50, 1000, 200
RANKINGS = ("occurrences", "graphs", "disjoint")


def from_lists(graphs: GraphSet, rank_by: str) -> Score:
    """The scores before: what bounded lists show."""

    def packed(rows: list[list[int]]) -> int:
        used: set[int] = set()
        taken = 0
        for nodes in rows:
            if used.isdisjoint(nodes):
                used.update(nodes)
                taken += 1
        return taken

    def score(candidates: Counted) -> NDArray[np.float64]:
        lists = candidates.lists()
        if rank_by == "occurrences" or lists.patterns.size == START:
            return lists.counts
        if rank_by == "graphs":
            return lists.supports(graphs)["graphs"] + tie_break(lists.counts)
        taken = [packed(lists.occurrences[lists.rows(i)].tolist()) for i in range(len(lists))]
        return np.array(taken) + tie_break(lists.counts)

    return score


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", type=int, nargs="+", default=[5, 6])
    where = machine()
    zoo = load("zoo")
    supports = Supports(zoo, threads=2)
    table: list[dict[str, Any]] = []
    for k in parser.parse_args().k:
        census = take_census(zoo, k, threads=2)
        truth = {
            "occurrences": census.counts.astype(np.float64),
            "graphs": supports.graph_counts(census.patterns).astype(np.float64),
            "disjoint": supports.disjoint(census.patterns).astype(np.float64),
        }
        row_of = {key: row for row, key in enumerate(census.patterns.keys.tolist())}
        for rank_by in RANKINGS:
            fiftieth = np.sort(truth[rank_by])[-TOP]
            row: dict[str, Any] = {"k": k, "by": rank_by, "support of the 50th": int(fiftieth)}
            scores = {
                "before": from_lists(zoo, rank_by),
                "after": ranking(rank_by, zoo, BEAM, supports=supports),
            }
            for name, score in scores.items():
                begin = time.process_time()
                levels = beam_search(
                    zoo,
                    k,
                    beam=BEAM,
                    score=score,
                    constraints=Constraints(),
                    bounds=Bounds(capacity=10_000_000, list_size=LIST_SIZE),
                    seed=1,
                    threads=2,
                )
                best = list(levels)[-1].lists.patterns.keys[:TOP].tolist()
                found = sum(truth[rank_by][row_of[key]] >= fiftieth for key in best)
                row[f"{name}: of the best {TOP}"] = int(found)
                row[f"{name}: processor seconds"] = round(time.process_time() - begin)
            table.append(row)
            print(row, flush=True)
    notes = [
        f"zoo, beam {BEAM}, at most {LIST_SIZE} occurrences of a pattern (2,000 by default), 10 million made at once.",
        "Found: of the first 50 patterns of the search, those with at least the support of the true 50th.",
    ]
    write_results("recall", "The true best 50 patterns, from bounded lists", table, notes, where)


if __name__ == "__main__":
    main()

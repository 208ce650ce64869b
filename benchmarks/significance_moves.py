"""How long the null models take to move the edges of zoo, without counting anything.

Run: python benchmarks/significance_moves.py
"""

import time
from typing import Any

from common import machine, write_results
from grade import _core
from grade.graphs import GraphSet
from grade.significance import NullModel
from grade.sources import load


def moves(graphs: GraphSet, null: NullModel, title: str, sweeps: float = 10.0) -> dict[str, Any]:
    """One proposed move for each edge, without a census."""
    seconds = []
    for switches in (0.0, sweeps / 2):  # to the hub and on to the draw
        begin = time.process_time()
        _core.null_draw(graphs.core, *null.arguments, switches, 1, 0, 1, None)
        seconds.append(time.process_time() - begin)
    one = (seconds[1] - seconds[0]) / sweeps
    row = {
        "set": graphs.origin,
        "edges": f"{graphs.edges:,}",
        "null model": title,
        "a sweep (ms)": f"{1000 * one:.1f}",
        "proposed moves per second": f"{graphs.edges / one:.2g}",
    }
    print(row, flush=True)
    return row


def main() -> None:
    graphs, where = load("zoo"), machine()
    free = NullModel(allow_cycles=True)
    rows = [moves(graphs, free, "degrees, cycles allowed")]
    rows += [
        moves(graphs, NullModel(name=name), f"{name}, acyclic") for name in ("degrees", "types", "levels")
    ]
    notes = [
        "A sweep proposes one move for each edge of all graphs; no census. One thread, processor time.",
        "All graphs of the set are acyclic; only the first row lets them get cycles.",
    ]
    write_results("significance_moves", "Sweeps of the null models", rows, notes, where)


if __name__ == "__main__":
    main()

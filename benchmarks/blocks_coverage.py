"""What libraries of 10, 20, 50 and 100 entries cover: blocks, plain pair merging, the most frequent motifs.

Every library is chosen greedily by newly covered nodes, from the same set.

Run: python benchmarks/blocks_coverage.py [SET ...]     (zoo-mini and zoo when left out)
"""

import sys
import time
from collections import defaultdict
from typing import Any

import numpy as np

import grade
from common import machine, write_results
from grade import GraphSet
from grade.blocks.grammar import Wiring
from grade.verify import Verifier

SIZES = (10, 20, 50, 100)
MOTIF_SIZES = (4, 8, 16)
MOST_OCCURRENCES = 200_000  # of one motif


def pair_merging(graphs: GraphSet) -> list[np.ndarray]:
    """Byte-pair encoding on graphs and nothing else: the pair (unit, only consumer, places that read) that occurs most
    becomes a unit, until none occurs twice. Returns the occurrences of each rule, [n, nodes].
    """
    wiring = Wiring.of(graphs)
    reads: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for source, target, label in zip(wiring.sources, wiring.targets, wiring.labels, strict=True):
        reads[int(source)].append((int(target), int(label)))
    unit = list(range(graphs.nodes))
    members = {node: [node] for node in unit}
    root = {node: node for node in unit}
    label: dict[int, Any] = {node: int(t) for node, t in enumerate(wiring.types)}
    place = [0] * graphs.nodes
    rules: dict[Any, list[list[int]]] = defaultdict(list)
    while True:
        kinds: dict[Any, list[tuple[int, int]]] = defaultdict(list)
        for u, top in root.items():
            consumers = {unit[target] for target, _ in reads[top]}
            if len(consumers) == 1 and not wiring.closed[top]:
                v = consumers.pop()
                where = tuple(sorted((place[target], edge) for target, edge in reads[top]))
                kinds[label[u], label[v], where].append((u, v))
        if not kinds:
            break
        best = max(kinds, key=lambda kind: (len(kinds[kind]), repr(kind)))
        if len(kinds[best]) < 2:
            break
        new, done = len(rules) + len(wiring.type_names), set()
        for u, v in kinds[best]:
            if u in done or v in done:
                continue
            done |= {u, v}
            for node in members[u]:
                unit[node], place[node] = v, place[node] + len(members[v])
            members[v] += members.pop(u)
            del root[u]
            label[v] = new
            rules[new].append(list(members[v]))
    return [np.array(rows) for rows in rules.values() if len(rows) > 1]


def motifs(graphs: GraphSet, k: int) -> list[np.ndarray]:
    """The occurrences of the 500 motifs of k nodes that a compiler can fuse and that cover most nodes."""
    found = grade.mine(graphs, k=k, top=500, rank_by="coverage", fusible=True)
    verifier = Verifier(graphs, fusible=True)
    return [verifier.occurrences(pattern, MOST_OCCURRENCES, 20.0) for pattern in found.patterns]


def coverage(graphs: GraphSet, entries: list[np.ndarray]) -> list[int]:
    """Nodes covered by the best 1, 2, ... entries."""
    covered = np.zeros(graphs.nodes, np.bool_)
    nodes = [np.unique(rows) for rows in entries if len(rows)]
    total = []
    while nodes and len(total) < SIZES[-1]:
        gains = [int((~covered[each]).sum()) for each in nodes]
        best = int(np.argmax(gains))
        if not gains[best]:
            break
        covered[nodes.pop(best)] = True
        total.append(int(covered.sum()))
    return total


def main() -> None:
    where, rows, notes = machine(), [], []
    grade.blocks("zoo-mini")
    for name in sys.argv[1:] or ["zoo-mini", "zoo"]:
        graphs = grade.sources.load(name)
        notes.append(f"{name}: {graphs.nodes:,} nodes in {len(graphs)} graphs.")
        rows += rows_of(name, graphs)
    write_results(
        "blocks_coverage",
        "Coverage of libraries: blocks, pair merging, motifs",
        rows,
        [
            *notes,
            "Coverage of the 10, 20, 50, 100 entries that cover most, chosen greedily.",
            "Motifs: the 500 of each size that a compiler can fuse and that the search ranks first by covered nodes; of"
            f" each at most {MOST_OCCURRENCES:,} occurrences are looked at.",
            "Pair merging: plain Python, no repetitions, no unification of equal regions, no choice of rules.",
        ],
        where,
    )


def rows_of(name: str, graphs: GraphSet) -> list[dict[str, Any]]:
    """All ways on one set."""
    ways: dict[str, Any] = {
        "blocks": lambda: [found.occurrences(block) for found in [grade.blocks(graphs)] for block in found],
        "pair merging": lambda: pair_merging(graphs),
        **{f"motifs of {k} nodes": lambda k=k: motifs(graphs, k) for k in MOTIF_SIZES},
    }
    rows: list[dict[str, Any]] = []
    together: list[np.ndarray] = []
    for way, work in ways.items():
        begin = time.process_time()
        entries = work()
        seconds = time.process_time() - begin
        if way.startswith("motifs"):
            together += entries
        rows.append({"set": name, **row(graphs, way, entries, seconds)})
        print(rows[-1], flush=True)
    return [*rows, {"set": name, **row(graphs, "motifs of all these sizes", together, None)}]


def row(graphs: GraphSet, way: str, entries: list[np.ndarray], seconds: float | None) -> dict[str, Any]:
    covered = coverage(graphs, entries)
    shares = {
        f"best {size}": f"{100 * covered[min(size, len(covered)) - 1] / graphs.nodes:.1f} %"
        if covered
        else ""
        for size in SIZES
    }
    largest = max((entry.shape[1] for entry in entries if len(entry)), default=0)
    spent = "" if seconds is None else f"{seconds:.1f}"
    return {"library of": way, "entries": len(entries), "largest": largest, **shares, "processor s": spent}


if __name__ == "__main__":
    main()

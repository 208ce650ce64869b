"""The grammar of blocks on zoo, zoo-large and large generated sets: how much shorter, processor seconds, peak memory.

Run: python benchmarks/blocks.py [NODES ...]     (3 million and 10 million when left out)

Rows of other sizes that are in the results stay there; each row names the commit that it was measured with.

A generated set is as many copies of zoo as it takes, in which every twentieth node has got a random other type: what
repeats in it is long and broken in many places, as in a crawl of models that are variants of each other.
"""

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from common import RESULTS, machine, write_results
from grade.blocks.grammar import Wiring, make_grammar
from grade.blocks.growth import grown_regions
from grade.blocks.places import find_places
from grade.blocks.rules import body_lengths, rules_worth_keeping
from grade.graphs import GraphSet
from grade.graphs.strings import StringTable
from grade.sources import load

CHANGED = 0.05  # of the nodes


def generated(nodes: int) -> GraphSet:
    """Copies of zoo with random changes, put together without sorting anything."""
    zoo = load("zoo")
    copies = -(-nodes // zoo.nodes)
    rng = np.random.default_rng(0)
    types = np.tile(zoo.node_types, copies)
    changed = np.flatnonzero(rng.random(len(types)) < CHANGED)
    types[changed] = rng.integers(0, len(zoo.node_vocabulary), len(changed))
    shift = np.repeat(np.arange(copies) * zoo.nodes, zoo.edges).astype(np.uint32)

    def offsets(one: np.ndarray, step: int) -> np.ndarray:
        rows = one[:-1][None, :] + (np.arange(copies) * step)[:, None]
        return np.append(rows.ravel(), copies * step).astype(np.int64)

    return GraphSet(
        node_offsets=offsets(zoo.node_offsets, zoo.nodes),
        node_types=types,
        out_offsets=offsets(zoo.out_offsets, zoo.edges),
        out_targets=np.tile(zoo.out_targets, copies) + shift,
        out_types=np.tile(zoo.out_types, copies),
        in_offsets=offsets(zoo.in_offsets, zoo.edges),
        in_sources=np.tile(zoo.in_sources, copies) + shift,
        in_types=np.tile(zoo.in_types, copies),
        node_vocabulary=zoo.node_vocabulary,
        edge_vocabulary=zoo.edge_vocabulary,
        graph_names=StringTable.from_strings(f"{i}" for i in range(copies * len(zoo))),
        origin="generated",
    )


def one(name: str, min_count: int) -> None:
    """One grammar in a process of its own, so that its peak memory is its own."""
    graphs = generated(int(name)) if name.isdigit() else load(name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin, merging = time.process_time(), time.process_time()
    grammar = make_grammar(Wiring.of(graphs), min_count)
    merging = time.process_time() - merging
    kept = rules_worth_keeping(grammar)
    lengths = body_lengths(grammar, kept)
    lengths[kept | (grammar.copies > 0)] = 1
    units = int(lengths[grammar.labels].sum())
    places = find_places(grammar, kept)
    seconds = time.process_time() - begin
    growing = time.process_time()
    symbols = np.flatnonzero(kept & (np.diff(places.offsets) > 0)).tolist()
    larger = grown_regions(grammar, places, [(str(symbol), symbol) for symbol in symbols], None)
    growing = time.process_time() - growing
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row = {
        "set": "generated" if name.isdigit() else name,
        "nodes": f"{graphs.nodes:,}",
        "graphs": f"{len(graphs):,}",
        "min count": min_count,
        "units": f"{units:,}",
        "times fewer": f"{graphs.nodes / units:.1f}",
        "rules": f"{int(kept.sum()):,}",
        "largest block": f"{int(grammar.sizes[kept].max(initial=0)):,}",
        "merging s": f"{merging:.2f}",
        "all s": f"{seconds:.2f}",
        "larger regions": f"{len(larger):,}",
        "growing s": f"{growing:.2f}",
        "peak MB": f"{peak / 1024:,.0f}",
        "of it the set MB": f"{before / 1024:,.0f}",
    }
    print(json.dumps(row))


def key(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["set"], row["nodes"], row["min count"]


def kept_rows() -> dict[tuple[str, str, int], dict[str, Any]]:
    """The rows of the last results."""
    path = RESULTS / "blocks.json"
    if not path.exists():
        return {}
    last = json.loads(path.read_text())
    return {key(row): {"commit": last["machine"]["commit"], **row} for row in last["rows"]}


def main() -> None:
    where = machine()
    rows = kept_rows()
    sizes = sys.argv[1:] or ["3000000", "10000000"]
    for name, min_count in [("zoo", 5), ("zoo", 2), ("zoo-large", 5), *((size, 5) for size in sizes)]:
        command = [sys.executable, __file__, "--one", name, str(min_count)]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        row = {**json.loads(made.stdout), "commit": where["commit"]}
        rows[key(row)] = row
        print(row, flush=True)
    write_results(
        "blocks",
        "The grammar of blocks: real sets, and growth with the size of a set",
        sorted(rows.values(), key=lambda row: int(row["nodes"].replace(",", ""))),
        [
            "Seconds of one processor; merging includes the search for runs and the exact comparison of blocks, all the"
            " choice of rules and the list of occurrences.",
            "Larger regions repeat as often as a block inside them, and no merge reached them.",
            f"Generated sets are copies of zoo in which {CHANGED:.0%} of the nodes have random other types.",
        ],
        where,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], int(sys.argv[3]))
    else:
        main()

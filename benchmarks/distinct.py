"""How much of a set the first 20 motifs cover: the distinct choice beside two plain rankings of the same candidates.

Run: python benchmarks/distinct.py [NAME=SET[@RUN] ...]      (about two minutes of processor time for zoo)

The candidates are the patterns of 3 to 10 nodes that one search kept (`grade mine SET`; a RUN that is there is not made
again); the distinct choice may extend them. ``tiled`` counts the nodes of occurrences that share none, packed
pattern by pattern; ``any`` the nodes of all occurrences, which flatters rankings that show one idea in many windows.
``bound`` is what no choice of as many candidates tiles more than: twice the plain ranking is out of reach where that is
above half of it. ``overlap`` is the largest share of the nodes of one motif, in any of its occurrences, that are
another's as well; ``ideas`` are motifs of which no two cover mostly the same nodes.

The real files of the results are the ONNX files in the wheels of rapidocr 3.10, silero_vad 6.2 and magika 1.0
(`pip download --no-deps`, unpacked) and onnx's light models, in one folder; folded, a set that `grade graphs build
--fold` made of them. Writes
benchmarks/results/distinct.json and .md; sets that a call does not name keep the rows that they have there.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from onnx.backend.test import __file__ as backend_test

from grade.graphs import GraphSet, PatternTable
from grade.mine import mine
from grade.runs import RunFolder
from grade.search import Level
from grade.sources import load
from grade.verify.distinct import MOST_VARIANT, Selector, overlap

SHOWN = 20
OUT = Path(__file__).parent / "results"
HEAD = """# What the first 20 motifs cover

`python benchmarks/distinct.py SET ...`: patterns of 3 to 10 nodes that one search by coverage kept, in three
rankings. Tiled: nodes of occurrences that share none, packed pattern by pattern. Bound: no choice of 20 candidates
tiles more, by whatever packing. Any: nodes in any occurrence. Overlap: the largest share of one motif's nodes that
are another's. Ideas: motifs of which no two cover mostly the same nodes. The set of real files is described in
benchmarks/distinct.py.

| set | nodes | ranking | tiled | beside by disjoint | bound | any | overlap | ideas | sizes |
|---|---|---|---|---|---|---|---|---|---|
"""
Row = tuple[str, float, float | None, float, float, int, str]
LIGHT = str(Path(backend_test).parent / "data" / "light" / "*.onnx")


def rankings(selector: Selector, levels: Sequence[Level]) -> tuple[dict[str, tuple[list[int], int]], float]:
    """The first motifs of each ranking, as numbers of candidates, and the nodes that they tile; an upper bound."""
    tables: list[PatternTable] = [level.lists.patterns for level in levels]
    graphs, sizes = selector.graphs, np.concatenate([np.full(len(table), table.size) for table in tables])
    nothing = np.zeros(graphs.nodes, np.uint8)
    disjoint = selector.gains(nothing) // sizes
    occurrences = np.concatenate([level.lists.counts for level in levels])
    found = selector.choose(SHOWN, [], lambda table: np.full(len(table), table.size <= tables[-1].size))
    chosen = [choice.candidate for choice in found.choices]
    plain = {
        "by disjoint": np.argsort(-disjoint, kind="stable")[:SHOWN].tolist(),
        "by occurrences": np.argsort(-occurrences, kind="stable")[:SHOWN].tolist(),
    }
    tiled = {name: (first, int(selector.taken(first).sum())) for name, first in plain.items()}
    return {"distinct": (chosen, int(found.covered)), **tiled}, found.bound


def measure(graphs: GraphSet, run: Path) -> list[Row]:
    """(ranking, share tiled, bound of it, share in any occurrence, largest overlap, ideas, sizes) of each ranking."""
    levels = RunFolder.open(run).load_levels(graphs)
    selector = Selector(graphs, [level.lists.patterns for level in levels], threads=2)
    rows: list[Row] = []
    found, bound = rankings(selector, levels)
    for name, (candidates, tiled) in found.items():
        union, masks, ideas = np.zeros(graphs.nodes, bool), [], 0
        for candidate in candidates:
            mask = selector.mask(candidate)
            if all(overlap(mask, other) <= MOST_VARIANT for other in masks):
                ideas += 1
                masks.append(mask)
            union |= mask
        sizes = sorted({len(selector.pattern(candidate)[0]) for candidate in candidates})
        pairs = combinations([selector.mask(candidate) for candidate in candidates], 2)
        shared = max(overlap(one, other) for one, other in pairs)
        shares = (tiled / graphs.nodes, bound / graphs.nodes, float(union.mean()))
        rows.append((name, *shares, shared, ideas, f"{sizes[0]}-{sizes[-1]}"))
    return rows


def lines_of(name: str, nodes: int, rows: Sequence[Row]) -> list[str]:
    """The rows of one set as lines of the table."""
    plain = next(row[1] for row in rows if row[0] == "by disjoint")
    lines = []
    for ranking, tiled, bound, union, shared, ideas, sizes in rows:
        shares = ["-" if share is None else f"{100 * share:.1f} %" for share in (tiled, bound, union)]
        cells = [name, f"{nodes:,}", ranking, shares[0], f"{tiled / plain:.2f}", *shares[1:]]
        lines.append("| " + " | ".join([*cells, f"{100 * shared:.0f} %", str(ideas), sizes]) + " |")
    return lines


def main(sets: list[str]) -> None:
    store = OUT / "distinct.json"
    with tempfile.TemporaryDirectory() as folder:
        for number, spec in enumerate(sets):
            name, _, place = spec.rpartition("=")
            place, run = place.partition("@")[::2]
            graphs = load(place)
            kept = Path(run) if run else Path(folder) / str(number)
            if not run:
                mine(graphs, out=kept)
            found = {"nodes": graphs.nodes, "rows": measure(graphs, kept)}
            print(*lines_of(name or place, **found), sep="\n", flush=True)
            results = json.loads(store.read_text()) if store.exists() else {}
            results[name or place] = found
            store.write_text(json.dumps(results, indent=1) + "\n")
            lines = [line for known, rows in results.items() for line in lines_of(known, **rows)]
            (OUT / "distinct.md").write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:] or ["zoo", f"onnx light models={LIGHT}"])

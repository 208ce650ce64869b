"""How much of a set the first 20 motifs cover: the distinct choice beside two plain rankings of the same candidates.

Run: python benchmarks/distinct.py [NAME=SET[@RUN] ...]      (about two minutes of processor time for zoo)

The candidates are the patterns of 3 to 10 nodes that one search kept (`grade mine SET`; a RUN that is there is not made
again); the distinct choice may extend them. ``tiled`` counts the nodes of occurrences that share none, packed
pattern by pattern; ``any`` the nodes of all occurrences, which flatters rankings that show one idea in many windows.
``overlap`` is the largest share of the nodes of one motif, in any of its occurrences, that are another's as well;
``ideas`` are motifs of which no two cover mostly the same nodes.

The second set of the results is one of real files: the ONNX files in the wheels of rapidocr 3.10, silero_vad 6.2 and
magika 1.0 (`pip download --no-deps`, unpacked) and onnx's light models, in one folder. Writes
benchmarks/results/distinct.md.
"""

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
OUT = Path(__file__).parent / "results" / "distinct.md"
LIGHT = str(Path(backend_test).parent / "data" / "light" / "*.onnx")


def rankings(selector: Selector, levels: Sequence[Level]) -> dict[str, tuple[list[int], int]]:
    """The first motifs of each ranking, as numbers of candidates, and the nodes that they tile."""
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
    return {"distinct": (chosen, found.covered), **tiled}


def measure(graphs: GraphSet, run: Path) -> list[tuple[str, float, float, float, int, str]]:
    """(ranking, share tiled, share in any occurrence, largest overlap, ideas, sizes) of each ranking."""
    levels = RunFolder.open(run).load_levels(graphs)
    selector = Selector(graphs, [level.lists.patterns for level in levels], threads=2)
    rows = []
    for name, (candidates, tiled) in rankings(selector, levels).items():
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
        rows.append((name, tiled / graphs.nodes, union.mean(), shared, ideas, f"{sizes[0]}-{sizes[-1]}"))
    return rows


def main(sets: list[str]) -> None:
    lines = [
        "# What the first 20 motifs cover",
        "",
        "`python benchmarks/distinct.py SET ...`: patterns of 3 to 10 nodes that one search by coverage kept, in three",
        "rankings. Tiled: nodes of occurrences that share none, packed pattern by pattern. Any: nodes in any",
        "occurrence. Overlap: the largest share of one motif's nodes that are another's. Ideas: motifs of which no two",
        "cover mostly the same nodes. The set of real files is described in benchmarks/distinct.py.",
        "",
        "| set | nodes | ranking | tiled | beside by disjoint | any | overlap | ideas | sizes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for number, spec in enumerate(sets):
            name, _, place = spec.rpartition("=")
            place, run = place.partition("@")[::2]
            graphs = load(place)
            kept = Path(run) if run else Path(folder) / str(number)
            if not run:
                mine(graphs, out=kept)
            rows = measure(graphs, kept)
            plain = next(row[1] for row in rows if row[0] == "by disjoint")
            for ranking, tiled, union, shared, ideas, sizes in rows:
                row = (
                    name or place,
                    f"{graphs.nodes:,}",
                    ranking,
                    f"{100 * tiled:.1f} %",
                    f"{tiled / plain:.2f}",
                    f"{100 * union:.1f} %",
                    f"{100 * shared:.0f} %",
                )
                lines.append("| " + " | ".join([*row, str(ideas), sizes]) + " |")
                print(lines[-1], flush=True)
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:] or ["zoo", f"onnx light models={LIGHT}"])

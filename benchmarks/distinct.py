"""How much of a set the first 20 motifs cover: the distinct choice beside two plain rankings of the same candidates.

Run: python benchmarks/distinct.py [NAME=SET[@RUN] ...]      (about two minutes of processor time for zoo)

The candidates are the patterns of 3 to 10 nodes that one search kept (`grade mine SET`; a RUN that is there is not made
again). ``tiled`` counts the nodes of occurrences that share none, in the order of the ranking; ``any`` the nodes of
all occurrences, which flatters rankings that show one idea in many windows. ``ideas`` are motifs of which no two cover
mostly the same nodes. Writes benchmarks/results/distinct.md.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from onnx.backend.test import __file__ as backend_test

from grade.graphs import GraphSet, PatternTable
from grade.mine import mine
from grade.runs import RunFolder
from grade.sources import load
from grade.verify.distinct import MOST_VARIANT, Selector, overlap

SHOWN = 20
OUT = Path(__file__).parent / "results" / "distinct.md"
LIGHT = str(Path(backend_test).parent / "data" / "light" / "*.onnx")


def rankings(graphs: GraphSet, run: Path) -> dict[str, list[int]]:
    """The first motifs of each ranking, as numbers of candidates."""
    levels = RunFolder.open(run).load_levels(graphs)
    tables: list[PatternTable] = [level.lists.patterns for level in levels]
    selector = Selector(graphs, tables, threads=2)
    sizes = np.concatenate([np.full(len(table), table.size) for table in tables])
    nothing = np.zeros(graphs.nodes, np.uint8)
    disjoint = selector.gains(nothing) // sizes
    occurrences = np.concatenate([level.lists.counts for level in levels])
    chosen = [choice.candidate for choice in selector.choose(SHOWN, fold=[]).choices]
    plain = {
        "by disjoint": np.argsort(-disjoint, kind="stable")[:SHOWN].tolist(),
        "by occurrences": np.argsort(-occurrences, kind="stable")[:SHOWN].tolist(),
    }
    return {"distinct": chosen, **plain}


def measure(graphs: GraphSet, run: Path) -> list[tuple[str, float, float, int, str]]:
    """(ranking, share tiled, share in any occurrence, ideas, sizes) of each ranking."""
    selector = Selector(graphs, [level.lists.patterns for level in RunFolder.open(run).load_levels(graphs)])
    rows = []
    for name, candidates in rankings(graphs, run).items():
        taken = np.zeros(graphs.nodes, np.uint8)
        union, masks, ideas = np.zeros(graphs.nodes, bool), [], 0
        for candidate in candidates:
            types, edges = selector.pattern(candidate)
            taken[selector.matcher.nodes_of(types, edges, taken, True, 10**9, None)] = 1
            mask = selector.mask(candidate)
            if all(overlap(mask, other) <= MOST_VARIANT for other in masks):
                ideas += 1
                masks.append(mask)
            union |= mask
        sizes = sorted({len(selector.pattern(candidate)[0]) for candidate in candidates})
        rows.append((name, taken.mean(), union.mean(), ideas, f"{sizes[0]}-{sizes[-1]}"))
    return rows


def main(sets: list[str]) -> None:
    lines = [
        "# What the first 20 motifs cover",
        "",
        "`python benchmarks/distinct.py SET ...`: patterns of 3 to 10 nodes that one search by coverage kept, in three",
        "rankings. Tiled: nodes of occurrences that share none, in the order of the ranking. Any: nodes in any",
        "occurrence. Ideas: motifs of which no two cover mostly the same nodes.",
        "",
        "| set | nodes | ranking | tiled | any | ideas | sizes |",
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for number, spec in enumerate(sets):
            name, _, place = spec.rpartition("=")
            place, run = place.partition("@")[::2]
            graphs = load(place)
            kept = Path(run) if run else Path(folder) / str(number)
            if not run:
                mine(graphs, out=kept)
            for ranking, tiled, union, ideas, sizes in measure(graphs, kept):
                row = (
                    name or place,
                    f"{graphs.nodes:,}",
                    ranking,
                    f"{100 * tiled:.1f} %",
                    f"{100 * union:.1f} %",
                )
                lines.append("| " + " | ".join([*row, str(ideas), sizes]) + " |")
                print(lines[-1], flush=True)
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:] or ["zoo", f"onnx light models={LIGHT}"])

"""A second domain: what recurs in gate-level circuits, and whether the blocks that engineers know are found.

    pip install --no-deps circuitgraph lark
    python experiments/circuits/run.py                 # minutes on one core; --netlists PATH for other circuits

Three questions: are known cells found as often as they are known to occur; does `grade blocks` find them without being
told; which patterns are more frequent than in random circuits of the same gates and degrees.
"""

import argparse
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import grade
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.sources import load

HERE = Path(__file__).parent
SWITCHES = 10.0  # for each connection, between two random circuits


@dataclass(frozen=True)
class Cell:
    """A known part of a known circuit."""

    name: str
    pattern: str
    circuit: str
    expected: int
    reason: str


XOR = "nand#1 -> nand#2; nand#1 -> nand#3; nand#2 -> nand#4; nand#3 -> nand#4"
# xy = NOR(x, y); XNOR(x, y) = NOR(NOR(x, xy), NOR(y, xy)); the sum is two of these, the carry reads both first gates.
FULL_ADDER = (
    "nor#1 -> nor#2; nor#1 -> nor#3; nor#2 -> nor#4; nor#3 -> nor#4; nor#4 -> nor#5; nor#4 -> nor#6; nor#5 -> nor#6;"
    " nor#5 -> nor#7; nor#6 -> nor#8; nor#7 -> nor#8; nor#1 -> nor#9; nor#5 -> nor#9"
)
MULTIPLEXER = "not -> and#1 -> or; and#2 -> or"
# Two multiplexers of NANDs with one key: both lines go on, or change places.
CROSSING = "not -> nand#1 -> nand#5; not -> nand#2 -> nand#6; nand#3 -> nand#5; nand#4 -> nand#6"
KEYS = re.compile(r"\bkey_\d+")
INSTANCE = re.compile(r"^\s*(fflopd|ff)\s+\w+\s*\(", re.MULTILINE)
CELLS = (
    Cell("XOR of four NANDs", XOR, "c1355", 104, "c499 is the same circuit with 104 XOR gates"),
    Cell(
        "full adder of nine NORs",
        FULL_ADDER,
        "c6288",
        224,
        "a multiplier of 240 adder cells, 16 of them half adders (Hansen, Yalcin and Hayes, 1999)",
    ),
    Cell("2-to-1 multiplexer", MULTIPLEXER, "mux_2", 1, "it is one"),
    Cell("2-to-1 multiplexer", MULTIPLEXER, "switch", 2, "a crossing of two lines by two multiplexers"),
)


def cells_of(folder: Path) -> list[Cell]:
    """Cells whose number a netlist says itself: key inputs of switching networks, instances of flip-flops.

    The netlists are flat but for their flip-flops, which are instances of a module in the same file (or of one that
    is not there). A banyan network has three keys for each crossing: one selects, two invert.
    """
    found = []
    for inputs in (8, 16, 32, 64, 128, 256):
        keys = len(set(KEYS.findall((folder / f"banyan_{inputs}.v").read_text())))
        found.append(
            Cell(
                "crossing of two multiplexers",
                CROSSING,
                f"banyan_{inputs}",
                keys // 3,
                f"{keys} key inputs, 3 each",
            )
        )
    for name in ("s27", "s13207", "s38417", "s38584"):
        (kind,) = set(instances := INSTANCE.findall((folder / f"{name}.v").read_text()))
        found.append(
            Cell("flip-flop", kind, name, len(instances), f"instances of the module {kind} in the netlist")
        )
    return found


def circuit(graphs: GraphSet, name: str) -> GraphSet:
    """One netlist by the name of its file."""
    found = [number for number, path in enumerate(graphs.graph_names) if Path(path).stem == name]
    if len(found) != 1:
        raise InputError(f"{graphs.origin} has {len(found)} circuits named {name}.")
    return graphs.subset(found)


def cells_part(graphs: GraphSet, netlists: Path, _draws: int) -> list[str]:
    lines = [
        "## Known cells",
        "",
        "Induced occurrences by exact counting. The last column is what `grade blocks CIRCUIT` finds without being"
        " told: blocks of the same number of gates and how often each occurs.",
        "",
        "| cell | gates | circuit | known | found | reason | blocks of this size |",
        "|---|---|---|---|---|---|---|",
    ]
    for cell in [*CELLS, *cells_of(netlists)]:
        one = circuit(graphs, cell.circuit)
        counted = grade.count(one, cell.pattern)
        size, found = counted.patterns[0].size, int(counted[0].occurrences)
        blocks = grade.blocks(one, min_count=2).blocks if size > 1 else ()  # flip-flops are in cycles
        same = [block.count for block in blocks if block.nodes == size]
        lines.append(
            f"| {cell.name} | {size} | {cell.circuit} | {cell.expected:,} | {found:,} | {cell.reason} |"
            f" {', '.join(f'{count:,}' for count in same) or '-'} |"
        )
    return lines


def blocks_part(graphs: GraphSet, _netlists: Path, _draws: int) -> list[str]:
    found = grade.blocks(graphs)
    units = sum(model.units for model in found.models)
    lines = [
        "## Blocks of all circuits",
        "",
        f"Of {len(found.graphs)} circuits (blocks are regions of acyclic graphs, and the others have feedback):"
        f" {found.nodes:,} gates become {units:,} units. The ten blocks that save most:",
        "",
        "| block | gates | occurrences | circuits | gates covered |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {block.name} | {block.nodes} | {block.count:,} | {block.graphs} | {block.coverage:,} |"
        for block in found.blocks[:10]
    ]
    return lines


def patterns_part(graphs: GraphSet, _netlists: Path, draws: int) -> list[str]:
    stems = [Path(path).stem for path in graphs.graph_names]
    iscas = graphs.subset([n for n, stem in enumerate(stems) if stem[0] == "c" and stem[1:].isdigit()])
    lines: list[str] = []
    for k in (3, 4):
        scored = grade.significance(iscas, k, "types", draws=draws, switches=SWITCHES)
        scores = scored.scores
        lines += [
            "",
            f"## Patterns of {k} gates in the {len(iscas)} ISCAS-85 circuits",
            "",
            f"Against {draws} random circuits with the same gates, the same degrees and the same number of"
            f" connections between every two kinds of gates ({SWITCHES:g} proposed switches for each connection); the"
            f" ten patterns with the largest z-scores of {int(scores.tested.sum())} tested. p is"
            f" two-sided and at least {2 / (draws + 1):.3f} with so few draws.",
            "",
            "| pattern | occurrences | mean of the random ones | z | p |",
            "|---|---|---|---|---|",
        ]
        z = np.where(scores.tested & scores.over, np.nan_to_num(scores.z, nan=-1.0, posinf=-1.0), -1.0)
        lines += [
            f"| {scored.patterns[row]} | {scores.observed[row]:,.0f} | {scores.mean[row]:,.1f} |"
            f" {scores.z[row]:,.0f} | {scores.p[row]:.3f} |"
            for row in np.argsort(-z, kind="stable")[:10].tolist()
        ]
    return lines[1:]


PARTS = {"cells": cells_part, "blocks": blocks_part, "patterns": patterns_part}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--netlists", help="folder of netlists with those of circuitgraph; its own when left out"
    )
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the results go")
    parser.add_argument("--only", choices=PARTS, help="make this part again and keep the others")
    parser.add_argument("--draws", type=int, default=100, help="random circuits to compare with")
    arguments = parser.parse_args()
    spec = arguments.netlists
    if spec is None:
        package = importlib.util.find_spec("circuitgraph")
        if package is None or package.origin is None:
            parser.error("circuitgraph is not installed; install it, or give --netlists")
        spec = str(Path(package.origin).parent / "netlists")
    graphs = load(f"circuits:{spec}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, make in PARTS.items():
        if arguments.only in (None, name):
            lines = make(graphs, Path(spec), arguments.draws)
            (arguments.out / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    head = [
        "# Circuits",
        "",
        "Made by `python experiments/circuits/run.py`, from the netlists of circuitgraph.",
        "",
        f"{len(graphs)} circuits, {graphs.nodes:,} gates, {graphs.edges:,} connections;"
        f" {len(graphs.node_vocabulary)} kinds of gates and cells.",
        "",
    ]
    parts = [(arguments.out / f"{name}.md").read_text(encoding="utf-8") for name in PARTS]
    text = "\n".join(head) + "\n" + "\n".join(parts)
    (arguments.out / "README.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

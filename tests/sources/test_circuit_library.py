"""The netlists that the package circuitgraph brings, against what that package reads in them."""

import re
from pathlib import Path

import pytest

import grade
from grade.sources import load
from grade.sources.circuits import read_netlists

circuitgraph = pytest.importorskip(
    "circuitgraph", reason="circuitgraph is not installed (pip install circuitgraph)"
)
NETLISTS = Path(circuitgraph.__file__).parent / "netlists"
LIBRARY = [
    "c17",
    "c17_gates",
    "mux_4",
    "c432",
    "c499g",
    "c880",
    "c1355",
    "c6288",
    "banyan_8",
    "adder",
    "ctrl",
    "b17_C",
]


@pytest.mark.parametrize("name", LIBRARY)
def test_circuits_of_the_library_are_those_that_it_reads_itself(name: str) -> None:
    (path,) = [path for path in NETLISTS.iterdir() if path.stem == name]
    own = circuitgraph.from_file(str(path)).graph
    for node in [node for node, kind in own.nodes(data="type") if kind in ("input", "0", "1")]:
        own.remove_node(node)
    graphs = next(read_netlists(str(path)))
    kinds = sorted(graphs.node_vocabulary[kind] for kind in graphs.node_types)
    text = path.read_text()
    renamed = len(
        re.findall(r"^\s*assign\s+\S+\s*=\s*[^~&|^;]+;", text, re.MULTILINE)
    )  # a buf of its own there
    theirs = sorted(kind for _, kind in own.nodes(data="type"))
    assert len(theirs) == len(kinds) + renamed
    if not renamed:
        assert kinds == theirs
        assert graphs.edges == own.number_of_edges()


@pytest.mark.slow
def test_all_circuits_of_the_library() -> None:
    graphs = load(f"circuits:{NETLISTS}")
    assert len(graphs) == len([path for path in NETLISTS.iterdir() if path.suffix in (".v", ".bench")])
    gates = 0
    for path in NETLISTS.iterdir():
        text = re.sub(r"//.*", "", path.read_text())
        if path.suffix == ".bench":
            gates += text.count("=")
        elif path.suffix == ".v":
            gates += len(re.findall(r"^\s*(?:not|x?n?and|x?n?or|buf|fflopd|ff)\s+[^;]*;", text, re.MULTILINE))
            gates += len(re.findall(r"[~|&^]", "".join(re.findall(r"assign[^;]*;", text))))
    assert graphs.nodes == gates


XOR = "nand#1 -> nand#2; nand#1 -> nand#3; nand#2 -> nand#4; nand#3 -> nand#4"
FULL_ADDER = (
    "nor#1 -> nor#2; nor#1 -> nor#3; nor#2 -> nor#4; nor#3 -> nor#4; nor#4 -> nor#5; nor#4 -> nor#6; nor#5 -> nor#6;"
    " nor#5 -> nor#7; nor#6 -> nor#8; nor#7 -> nor#8; nor#1 -> nor#9; nor#5 -> nor#9"
)


def test_cells_that_engineers_know_are_found_as_often_as_they_are_known_to_occur() -> None:
    # c1355 is c499 with each XOR gate written as four NANDs.
    with_gates = load(NETLISTS / "c499.v")
    gates = [with_gates.node_vocabulary[kind] for kind in with_gates.node_types].count("xor")
    assert gates == 104
    assert grade.count(load(NETLISTS / "c1355.v"), XOR)[0].occurrences == gates
    # c6288 multiplies 16 by 16 bits with 240 adder cells, all but 16 of them full adders.
    assert grade.count(load(NETLISTS / "c6288.v"), FULL_ADDER)[0].occurrences == 240 - 16
    assert grade.count(load(NETLISTS / "switch.v"), "not -> and#1 -> or; and#2 -> or")[0].occurrences == 2


def test_the_blocks_of_a_circuit_are_its_cells() -> None:
    blocks = grade.blocks(load(NETLISTS / "c1355.v")).blocks
    assert [(block.nodes, block.count) for block in blocks if block.nodes == 4] == [(4, 104)]

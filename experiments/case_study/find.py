"""Find, rather than be given: motifs under the paper's constraints, and those that fusing would gain most on.

    python experiments/case_study/find.py zoo                     # results/zoo.json
    python experiments/case_study/find.py collection FOLDER       # results/collection.json and cutouts/

zoo: the search for patterns that contain a convolution, with degrees of at most 2, on the set `zoo`; whether the
paper's cases A, B and C, or their kin, are in the set and among the motifs. collection: on ONNX files with shapes
(collect.py), the ten fusible motifs and the ten blocks with the largest expected saving, each counted where the ones
before it leave room, so that no node is saved twice. One occurrence of each is cut out, without its weights.
"""

import argparse
import itertools
import json
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

import grade
from grade.costs import Savings
from grade.export.occurrences import Occurrences
from grade.export.shapes import sizes_from_files
from grade.graphs import GraphSet
from grade.graphs.patterns import MAX_SIZE
from grade.timing.cases import from_model

CPU = torch.device("cpu")

HERE = Path(__file__).parent
SETTINGS = tomllib.loads((HERE / "settings.toml").read_text())

# The paper's cases, with {n} for the norm and {a} for the activation behind each convolution.
CASES = {
    "A": ("chain", [("", 1), (1, 2), (2, 3), (3, 4), (4, 5)]),
    "B": ("branch", [("", 1), (1, 2), (2, 3), (2, 4), ("cat34", 5)]),
    "C": ("skip", [("relu", 1), (1, 2), (2, 3), ("cat31", 4), (4, 5)]),
}
KIN = {  # norm and activation behind each convolution
    "as printed": ("", "Relu"),
    "with norms": ("BatchNormalization", "Relu"),
    "any activation": ("", "*"),
    "norms, any activation": ("BatchNormalization", "*"),
}


def case_text(name: str, norm: str, activation: str) -> str:
    """A case of the paper as the text of a pattern.

    >>> case_text("A", "", "Relu")[:40]
    'Conv#1 -> Relu#1; Relu#1 -> Conv#2; Conv'
    """
    edges: list[str] = []

    def end(number: Any) -> str:
        return f"{activation}#{number}"

    for before, number in CASES[name][1]:
        inner = [f"Conv#{number}"] + ([f"{norm}#{number}"] if norm else []) + [end(number)]
        if isinstance(before, str) and before.startswith("cat"):
            edges += [f"{end(each)} -> Concat#1" for each in before[3:]]
            edges.append(f"Concat#1 -> {inner[0]}")
        elif before == "relu":
            edges.append(f"{end(9)} -> {inner[0]}")
        elif before:
            edges.append(f"{end(before)} -> {inner[0]}")
        edges += [f"{one} -> {other}" for one, other in itertools.pairwise(inner)]
    return "; ".join(edges)


def zoo(arguments: argparse.Namespace) -> None:
    settings = SETTINGS["search"]
    begin = time.perf_counter()
    found = grade.mine(
        settings["set"],
        k=settings["sizes"],
        contains=["Conv"],
        max_in_degree=2,
        max_out_degree=2,
        rank_by=settings["rank_by"],
        top=settings["top"],
        all=True,
    )
    seconds = time.perf_counter() - begin
    places = {str(motif.pattern): motif for motif in found.motifs}
    convolutional = [m for m in found.motifs if {"Conv", "Relu"} <= set(m.pattern.type_names)]
    rows = []
    for name in CASES:
        for kin, (norm, activation) in KIN.items():
            text = case_text(name, norm, activation)
            if (size := len(set(text.replace(";", " -> ").replace(" ", "").split("->")))) > MAX_SIZE:
                rows.append({"case": name, "kin": kin, "pattern": text, "nodes": size})
                continue
            counted = grade.count(settings["set"], text, seconds_per_pattern=settings["seconds"])
            support = counted.supports[0] if hasattr(counted, "supports") else counted[0].support
            motif = places.get(str(counted.patterns[0])) if "*" not in text else None
            rows.append(
                {
                    "case": name,
                    "kin": kin,
                    "pattern": text,
                    "nodes": size,
                    **support.numbers(),
                    "rank": None if motif is None else motif.id,
                }
            )
            print(rows[-1], flush=True)
    data = {
        "set": settings["set"],
        "seconds": round(seconds, 1),
        "settings": settings,
        "cases": rows,
        "motifs": [
            {"rank": m.id, "pattern": m.text, "size": m.size, **m.support.numbers()}
            for m in [*found.motifs[: settings["shown"]], *convolutional[: settings["shown"]]]
        ],
    }
    write(arguments.out / "zoo.json", data)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Something to fuse, and its occurrences that share no node."""

    text: str
    rows: NDArray[np.int64]  # [n, k] global node ids
    saved: NDArray[np.float64]  # [n] bytes
    pattern: Any = None


def chosen(
    candidates: list[Candidate], nodes: int, count: int
) -> Iterator[tuple[Candidate, NDArray[np.bool_]]]:
    """The best candidates one after the other, and which of their occurrences are clear of those before."""
    taken = np.zeros(nodes, bool)
    bounds = [float(c.saved.sum()) for c in candidates]
    for _ in range(count):
        while True:  # savings only fall, so that a bound is enough to pass over most of them
            best = int(np.argmax(bounds))
            free = ~taken[candidates[best].rows].any(axis=1)
            bounds[best] = float(candidates[best].saved[free].sum())
            if bounds[best] >= max(bounds):
                break
        if bounds[best] <= 0:
            return
        yield candidates[best], free
        taken[candidates[best].rows[free]] = True
        bounds[best] = 0.0


def motif_candidates(folder: str, graphs: GraphSet, savings: Savings) -> list[Candidate]:
    settings = SETTINGS["saving"]
    found = grade.mine(
        folder, k=settings["sizes"], fusible=True, rank_by="saving", top=settings["top"], all=True
    )
    made = []
    for motif in found.motifs:
        rows = savings.packed(motif.pattern).astype(np.int64)
        made.append(Candidate(motif.text, rows, savings.of_rows(rows), motif.pattern))
    return made


def block_candidates(graphs: GraphSet, savings: Savings) -> list[Candidate]:
    settings = SETTINGS["saving"]
    found = grade.blocks(graphs, min_count=settings["min_count"])
    made = []
    for block in found.blocks:
        if settings["least_block"] <= block.nodes <= settings["most_block"]:
            rows = np.sort(found.occurrences(block).astype(np.int64), axis=1)
            parts = " ".join(str(found.text(unit)) for unit in found.inside(block.symbol))
            made.append(Candidate(f"{block.name}: {parts}", rows, savings.of_rows(rows)))
    return made


def collection(arguments: argparse.Namespace) -> None:
    pattern = str(arguments.folder / "*.onnx")
    graphs = grade.load(pattern)
    savings = Savings(graphs, sizes_from_files(graphs)[0], fusible=True)
    data: dict[str, Any] = {
        "graphs": len(graphs),
        "nodes": graphs.nodes,
        "names": [Path(name).stem for name in graphs.graph_names],
        "sizes": savings.sizes.basis,
        "settings": SETTINGS["saving"],
    }
    (HERE / "cutouts").mkdir(exist_ok=True)
    for old in (HERE / "cutouts").glob("*.onnx"):
        old.unlink()
    for part, candidates in (
        ("pattern", motif_candidates(pattern, graphs, savings)),
        ("block", block_candidates(graphs, savings)),
    ):
        data[f"{part}s"] = rows = []
        for candidate, free in chosen(candidates, graphs.nodes, SETTINGS["saving"]["count"]):
            name = f"{part}-{len(rows) + 1:02}"
            rows.append(
                {
                    "name": name,
                    "text": candidate.text,
                    "nodes": candidate.rows.shape[1],
                    "occurrences": len(candidate.rows),
                    "free": int(free.sum()),
                    "graphs": len(np.unique(graphs.graphs_of(candidate.rows[free][:, 0]))),
                    "saving": float(candidate.saved.sum()),
                    "free_saving": float(candidate.saved[free].sum()),
                    **cut_out(name, candidate, free, graphs),
                }
            )
            print(rows[-1], flush=True)
    write(arguments.out / "collection.json", data)


def cut_out(name: str, candidate: Candidate, free: NDArray[np.bool_], graphs: GraphSet) -> dict[str, Any]:
    """Write the occurrence of middling saving that can be timed; why there is none otherwise."""
    rows, saved = candidate.rows[free], candidate.saved[free]
    order = np.argsort(np.abs(saved - np.median(saved)), kind="stable")
    reason = ""
    for number in order[: SETTINGS["saving"]["tries"]].tolist():
        places = Occurrences.of_rows(graphs, rows[number : number + 1], name)
        graph = Path(graphs.graph_names[graphs.graph_of(int(rows[number][0]))]).stem
        try:
            cutout = places.cut(0)
            held = cutout.model.SerializeToString()
            from_model(name, cutout.model, set(cutout.weights), 1, CPU, "")  # it runs
        except grade.InputError as error:
            reason = str(error)
            continue
        model = onnx.ModelProto.FromString(held)
        del model.metadata_props[:]
        model.doc_string = model.graph.doc_string = ""
        for key, value in (("weights", "\n".join(sorted(cutout.weights))), ("graph", graph)):
            model.metadata_props.add(key=key, value=value)
        onnx.save(model, HERE / "cutouts" / f"{name}.onnx")
        return {"cut": graph, "cut_saving": float(saved[number])}
    return {"cut": None, "reason": reason}


def write(path: Path, data: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parts = parser.add_subparsers(required=True)
    one = parts.add_parser("zoo")
    one.set_defaults(run=zoo)
    other = parts.add_parser("collection")
    other.add_argument("folder", type=Path)
    other.set_defaults(run=collection)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()

"""What is damaged: one small file or folder of every kind that GraDE reads, made by its own commands."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np

from grade.sources import load
from tests.onnx_models import LIGHT, branching, save
from tests.sources.test_younger import instance

TINY = ("layers=1", "width=16", "edge_width=16", "heads=2", "members=1", "steps=10", "latent=8")
MINING = ("set", "-k", "4", "--top", "3", "--beam", "20", "--list-size", "50")
FIT = ("sample", "--preset", "fast", *(word for setting in TINY for word in ("--set", setting)))

FILES = ("graphs.jsonl", "graph.graphml", "graph.edges", "branching.onnx", "light.onnx", "arrays.npz")
FILES += ("younger.pkl", "patterns.txt", "library.txt", "census.npz", "census.parquet")
FOLDERS = ("set", "sample", "model-frequency", "model-autoregressive", "model-disco", "run")


def make_seeds(folder: Path, run: Callable[..., object]) -> None:
    """Fill a folder; ``run`` runs a command in it."""
    rng = np.random.default_rng(1)
    lines = []
    for number in range(5):
        types = rng.choice(["Conv", "Relu", "Add", "MatMul"], 12).tolist()
        edges = [[int(rng.integers(target)), target] for target in range(1, 12)]
        edges += [[0, 5, "skip"], [2, 9, "skip"]]
        edges = [list(e) for e in {tuple(e[:2]): tuple(e) for e in edges}.values()]
        nodes = [{"type": t, "name": f"layer{i}"} for i, t in enumerate(types)]
        lines.append(json.dumps({"name": f"model-{number}", "nodes": nodes, "edges": edges}))
    (folder / "graphs.jsonl").write_text("\n".join(lines) + "\n")
    graph = networkx.DiGraph()
    graph.add_nodes_from((i, {"type": "Conv" if i % 2 else "Relu"}) for i in range(8))
    graph.add_edges_from((i, i + 1) for i in range(7))
    networkx.write_graphml(graph, folder / "graph.graphml")
    (folder / "graph.edges").write_text("".join(f"a{i} a{i + 1}\n" for i in range(8)))
    save(branching(), folder / "branching.onnx")
    (folder / "light.onnx").write_bytes(min(LIGHT, key=lambda file: file.stat().st_size).read_bytes())
    (folder / "younger.pkl").write_bytes(pickle.dumps(instance()))

    run("graphs", "build", "graphs.jsonl", "set")
    run("graphs", "build", "graph.graphml", "other-set")
    graphs = load(folder / "set")
    np.savez(
        folder / "arrays.npz",
        node_counts=graphs.node_counts,
        node_types=graphs.node_types,
        edge_counts=graphs.edge_counts,
        edges=np.concatenate([graphs.edge_list(g) for g in range(len(graphs))]),
        node_vocabulary=np.array(graphs.node_vocabulary),
    )
    (folder / "patterns.txt").write_text(
        "Conv -> Relu -> Add -> MatMul\n0.0.0.0/0>1.1>2.2>3\nAdd -> Relu#1 -> Relu#2 -> Conv\n"
    )
    (folder / "library.txt").write_text(
        "# fusions\nconv-relu: Conv -> Relu\nany-add: Conv* -> * -> Add\nhub: Add -> Relu#1; Add -> Relu#2\n"
    )
    for suffix in ("npz", "parquet"):
        run("census", "set", "-k", "4", "--out", f"census.{suffix}")
    run("sample", "set", "-k", "4", "--count", "40", "--out", "sample")
    run("fit", "sample", "--estimator", "frequency", "--out", "model-frequency")
    for estimator in ("autoregressive", "disco"):
        run("fit", *FIT, "--estimator", estimator, "--out", f"model-{estimator}")
    run("mine", *MINING, "--out", "run")


def commands_on(name: str) -> list[tuple[str, ...]]:
    """The commands that read a file or folder of the seeds, in forms that end in a moment."""
    if name == "set":
        return [
            ("graphs", "info", "set"),
            ("graphs", "diff", "set", "other-set", "-k", "3"),
            ("graphs", "diff", "other-set", "set"),
            ("graphs", "build", "set", "built"),
            ("census", "set", "-k", "3"),
            ("sample", "set", "-k", "3", "--count", "20", "--out", "drawn"),
            ("verify", "patterns.txt", "set"),
            ("verify", "census.npz", "set", "--top", "2"),
            ("mine", *MINING, "--out", "mined"),
            ("mine", *MINING, "--complete", "--min-graphs", "2", "--out", "complete"),
            ("significance", "set", "-k", "3", "--draws", "3"),
            ("significance", "set", "-k", "3", "--null", "degrees", "--draws", "2", "--out", "scores.csv"),
            ("features", "set", "-k", "3", "--out", "features.npz"),
            ("features", "set", "-k", "3", "--per", "node", "--out", "orbits.npz"),
            ("blocks", "set", "--min-count", "2", "--out", "found"),
            ("match", "library.txt", "set", "--remaining", "2"),
        ]
    if name == "sample":
        return [
            ("fit", "sample", "--estimator", "frequency", "--out", "fitted"),
            ("score", "model-frequency", "sample", "--out", "scores.csv"),
        ]
    if name.startswith("model"):
        return [
            ("score", name, "census.npz", "--out", "scores.csv"),
            ("score", name, "patterns.txt", "--out", "scores.npz"),
            ("evaluate", name, "census.npz"),
        ]
    if name == "run":
        return [
            ("runs", "show", "run"),
            ("report", "run"),
            ("export", "run", "--pattern", "1", "--to", "dot", "--out", "motif.dot"),
            ("export", "run", "--pattern", "2", "--to", "pytorch", "--pattern-only", "--out", "motif.py"),
            ("occurrences", "run", "--pattern", "1", "--to", "jsonl", "--out", "found.jsonl"),
            ("mine", *MINING, "--out", "run"),
        ]
    if name.startswith("census"):
        return [
            ("evaluate", "model-frequency", name),
            ("score", "model-frequency", name, "--out", "scores.csv"),
            ("verify", name, "set", "--top", "2"),
        ]
    if name == "patterns.txt":
        return [
            ("verify", name, "set"),
            ("score", "model-frequency", name, "--out", "scores.csv"),
        ]
    if name == "library.txt":
        return [
            ("match", name, "set", "--remaining", "0"),
            ("match", name, "set", "--non-induced", "--remaining", "2"),
        ]
    outlined = [
        ("outline", name, "--out", "outlined.onnx"),
        ("outline", name, "--to", "pytorch", "--out", "outlined.py"),
        ("blocks", name, "--min-count", "2"),
    ]
    return [
        *(outlined if name.endswith(".onnx") else ()),
        ("graphs", "info", name),
        ("graphs", "info", name),
        ("census", name, "-k", "2"),
        ("graphs", "build", name, "built", "--strict"),
    ]

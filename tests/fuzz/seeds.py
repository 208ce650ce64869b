"""What is damaged: one small file or folder of every kind that GraDE reads, made by its own commands."""

import json
import lzma
import pickle
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from unittest import mock

import networkx
import numpy as np
import onnx
from onnx import helper, numpy_helper

from grade.estimators import fit_to_folder, parse_changes, preset_for
from grade.estimators.reports import TrainingReport
from grade.estimators.training import loop
from grade.graphs.sample import load_sample
from grade.settings import FitSettings
from grade.sources import load
from grade.sources.npz_files import write_npz
from tests.onnx_models import LIGHT, branching, save
from tests.sources.test_circuits import BENCH
from tests.sources.test_younger import instance

SMALL = ("layers=1", "width=16", "heads=2", "members=1", "steps=10")
TINY = {"autoregressive": SMALL, "disco": (*SMALL, "edge_width=16")}  # settings of networks
MINING = ("set", "-k", "4", "--top", "3", "--beam", "20", "--list-size", "50")
LAYERS = ("layers.onnx", "-k", "3", "--top", "3", "--all", "--rank-by", "occurrences")
COSTS = (*MINING, "--rank-by", "saving", "--out", "mined", "--costs")
SPENT = ("--strategies", "eager", "--rounds", "2", "--threads", "1")  # of grade time, without a compiler

FILES = ("graphs.jsonl", "graph.graphml", "graph.edges", "branching.onnx", "light.onnx", "arrays.npz")
FILES += ("younger.pkl", "patterns.txt", "library.txt", "census.npz", "census.parquet", "layers.onnx")
FILES += (
    "costs.json",
    "costs.csv",
    "circuit.v",
    "circuit.bench",
    "circuits.zip",
    "packed.npz.xz",
    "full.npz",
)
FOLDERS = ("set", "sample", "model-frequency", "model-autoregressive", "model-disco", "run")
FOLDERS += ("tested-run", "layers-run", "found-blocks", "half.fitting")
HALF = tuple("members=2" if setting == "members=1" else setting for setting in SMALL)
HALF += ("evidence=false",)
VERILOG = """// an adder, and a module of two
module half(input a, b, output s, c); xor x1(s, a, b); and a1(c, a, b); endmodule
module top(input [1:0] a, b, output [1:0] s, output c);
  wire t, u; half h0(.a(a[0]), .b(b[0]), .s(s[0]), .c(t));
  half h1(a[1], b[1], u, c); assign s[1] = (u & ~t) | (~u & t); dff r(.d(u), .q());
endmodule
"""
PATTERNS = (
    "Conv -> Relu -> Add",
    "Conv#1 -> Add; Conv#2 -> Add",
    "Conv* -> * -> Add",
    '"Mat Mul" -skip-> Add#1',
)
PATTERNS += ("0.0.0.0/0>1.1>2.2>3", "conv-relu: Conv -> Relu", "? -> Relu#1 -> Relu#2 -> Conv")


def make_seeds(folder: Path, run: Callable[..., object]) -> None:
    """Fill a folder; ``run`` runs a command in it."""
    write_files(folder)
    run("graphs", "build", "graphs.jsonl", "set")
    run("graphs", "build", "graph.graphml", "other-set")
    for suffix in ("npz", "parquet"):
        run("census", "set", "-k", "4", "--out", f"census.{suffix}")
    run("sample", "set", "-k", "4", "--count", "40", "--out", "sample")
    run("fit", "sample", "--estimator", "frequency", "--out", "model-frequency")
    for estimator in TINY:
        estimate = ("--estimator", estimator, "--preset", "fast", *settings_of(estimator))
        run("fit", "sample", *estimate, "--out", f"model-{estimator}")
    half_a_fit(folder)
    run("mine", *MINING, "--out", "run")
    run("mine", *MINING, "--out", "tested-run")
    for null in ("types", "degrees"):
        run("significance", "tested-run", "-k", "4", "--draws", "5", "--null", null)
    run("time", "tested-run", "--pattern", "1", "--pattern-only", "--shape", "1x2x4x4", *SPENT)
    run("mine", *LAYERS, "--out", "layers-run")
    run("time", "layers-run", "--pattern", "1", *SPENT)
    run("blocks", "layers.onnx", "--out", "found-blocks")
    run("time", "found-blocks", "--pattern", "1", *SPENT)


def write_files(folder: Path) -> None:
    """The files that people bring."""
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

    onnx.save(layers(), folder / "layers.onnx")
    (folder / "circuit.v").write_text(VERILOG)
    (folder / "circuit.bench").write_text(BENCH)
    with zipfile.ZipFile(folder / "circuits.zip", "w") as archive:
        for name in ("circuit.v", "circuit.bench"):
            archive.write(folder / name, f"deep/{name}")

    graphs = load(folder / "graphs.jsonl")
    np.savez(
        folder / "arrays.npz",
        node_offsets=graphs.node_offsets,
        node_types=graphs.node_types,
        edge_offsets=np.concatenate([[0], np.cumsum(graphs.edge_counts)]),
        edges=np.concatenate([graphs.edge_list(g) for g in range(len(graphs))])[:, :2],
        op_names=np.array(graphs.node_vocabulary),
        names=np.array(list(graphs.graph_names)),
    )
    write_npz(load(folder / "layers.onnx"), folder / "full.npz", names_as_bytes=True)
    (folder / "packed.npz.xz").write_bytes(lzma.compress((folder / "full.npz").read_bytes()))
    rows = [{"pattern": kind, "apart": 0.002} for kind in ("Conv", "Relu", "Add", "MatMul")]
    rows.append({"pattern": "Conv -> Relu", "apart": 0.004, "fused": 0.0021})
    (folder / "costs.json").write_text(json.dumps({"unit": "seconds", "bandwidth": 1.5e10, "costs": rows}))
    (folder / "costs.csv").write_text(
        "pattern,apart_bytes,fused_bytes\nConv,200,\nRelu,100,\nConv -> Relu,300,210\nAdd,7,\nMatMul,9,\n"
    )
    (folder / "patterns.txt").write_text(
        "Conv -> Relu -> Add -> MatMul\n0.0.0.0/0>1.1>2.2>3\nAdd -> Relu#1 -> Relu#2 -> Conv\n"
    )
    (folder / "library.txt").write_text(
        "# fusions\nconv-relu: Conv -> Relu\nany-add: Conv* -> * -> Add\nhub: Add -> Relu#1; Add -> Relu#2\n"
    )


def half_a_fit(folder: Path) -> None:
    """What a fit leaves that is killed in its second training."""

    def die(report: TrainingReport) -> None:
        if report.phase == "member-1":
            raise KeyboardInterrupt

    changes = parse_changes("autoregressive", list(HALF))
    defaults = FitSettings(samples=[folder / "sample"], out=folder / "half")
    sample = load_sample(folder / "sample")
    with mock.patch.object(loop, "CHECKPOINT_SECONDS", 0.0), suppress(KeyboardInterrupt):
        chosen = preset_for(
            [sample], "autoregressive", "fast", seed=defaults.seed, device=defaults.device, **changes
        )
        fit_to_folder([sample], chosen, defaults.out, die)
    left = {path.name for path in (folder / "half.fitting").iterdir()}
    assert {"fit.txt", "member-0.npz", "member-1.checkpoint.npz"} <= left, left


def settings_of(estimator: str, settings: Sequence[str] = ()) -> list[str]:
    """The arguments that make a network small, or that change these settings of it."""
    return [word for setting in settings or TINY[estimator] for word in ("--set", setting)]


def layers() -> onnx.ModelProto:
    """Three times the same block, with weights."""
    nodes, weights, value = [], [], "x"
    for block in range(3):
        weights.append(numpy_helper.from_array(np.full((2, 2, 1, 1), 0.5, np.float32), f"w{block}"))
        conv, relu, added = (f"{kind}{block}" for kind in ("conv", "relu", "add"))
        nodes.append(helper.make_node("Conv", [value, f"w{block}"], [conv], name=conv))
        nodes.append(helper.make_node("Relu", [conv], [relu], name=relu))
        nodes.append(helper.make_node("Add", [relu, value], [added], name=added))
        value = added
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2, 4, 4]) for name in ("x", value)
    ]
    graph = helper.make_graph(nodes, "layers", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


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
            ("significance", "set", "-k", "3", "--null", "degrees", "--draws", "2", "--out", "scores.npz"),
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
    if name == "half.fitting":
        estimate = ("--estimator", "autoregressive", "--preset", "fast", *settings_of("autoregressive", HALF))
        return [("fit", "sample", *estimate, "--out", "half")]
    if name.startswith("model"):
        return [
            ("score", name, "census.npz", "--out", "scores.csv"),
            ("score", name, "patterns.txt", "--out", "scores.npz"),
            ("evaluate", name, "census.npz"),
        ]
    if name == "tested-run":
        return [
            ("runs", "show", name),
            ("report", name),
            ("report", name, "run", "--out", "compared.html"),
            ("significance", name, "-k", "3", "--draws", "3"),
            ("time", name, "--pattern", "1", "--pattern-only", "--shape", "1x2x4x4", *SPENT),
        ]
    if name == "layers-run":
        return [
            ("report", name),
            ("export", name, "--pattern", "1", "--to", "onnx", "--values", "--out", "motif.onnx"),
            ("export", name, "--pattern", "1", "--to", "pytorch", "--values", "--out", "motif.py"),
            ("export", name, "--pattern", "2", "--to", "svg", "--out", "motif.svg"),
            ("occurrences", name, "--pattern", "1", "--to", "onnx", "--limit", "2", "--out", "cut-out"),
            ("occurrences", name, "--pattern", "1", "--to", "csv", "--out", "found.csv"),
            ("time", name, "--pattern", "1", *SPENT),
            ("mine", *LAYERS, "--out", name),
        ]
    if name == "found-blocks":
        return [
            ("blocks", "layers.onnx", "--blocks", name),
            ("blocks", "set", "--blocks", name),
            ("outline", "layers.onnx", "--blocks", name, "--out", "outlined.onnx"),
            ("time", name, "--pattern", "1", *SPENT),
            ("blocks", "layers.onnx", "--out", name),
        ]
    if name.startswith("costs"):
        return [("mine", *COSTS, name)]
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
    if name == "circuits.zip":
        name = f"circuits:{name}"
    if name == "younger.pkl":
        name = f"younger:{name}"
    if name == "packed.npz.xz":
        name = f"zoo-large:{name}"
    commands: list[tuple[str, ...]] = [
        ("graphs", "info", name),
        ("graphs", "info", name),
        ("census", name, "-k", "2"),
        ("graphs", "build", name, "built", "--strict"),
    ]
    if name.endswith(".onnx"):
        commands += [
            ("outline", name, "--out", "outlined.onnx"),
            ("outline", name, "--to", "pytorch", "--out", "outlined.py"),
            ("blocks", name, "--min-count", "2"),
        ]
    if name == "layers.onnx":  # the model that runs were mined in
        commands += [
            ("report", "layers-run"),
            ("export", "layers-run", "--pattern", "1", "--to", "onnx", "--values", "--out", "motif.onnx"),
            ("occurrences", "layers-run", "--pattern", "1", "--to", "onnx", "--out", "cut-out"),
            ("time", "layers-run", "--pattern", "1", *SPENT),
            ("time", "found-blocks", "--pattern", "1", *SPENT),
            ("verify", name, "set"),
        ]
    return commands


def commands_with(pattern: str) -> list[tuple[str, ...]]:
    """The commands that take a pattern as text."""
    return [
        ("verify", pattern, "set"),
        ("verify", pattern, "set", "--non-induced"),
        ("score", "model-frequency", pattern, "--out", "scores.csv"),
        ("mine", *MINING, "--start-from", pattern, "--out", "mined"),
    ]
